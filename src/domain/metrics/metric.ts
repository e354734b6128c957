/**
 * The metrics that a server records: names, kinds, units and labels. Names follow the platform's
 * own words; labels are bounded, and beyond `MAX_SERIES` of a metric further ones are counted as
 * `OTHER_LABEL`.
 */

/**
 * How the records of a series make a bucket. `counter`: increments are summed. `gauge`: samples of
 * what is now. `histogram`: values, of which percentiles are asked.
 */
export type MetricKind = "counter" | "gauge" | "histogram";

/** Unit of a metric's values; `one` = a number of things, `ratio` = 0 to 1. */
export type MetricUnit = "one" | "seconds" | "bytes" | "ratio";

/** A metric. */
export interface MetricDefinition {
  readonly kind: MetricKind;
  readonly unit: MetricUnit;
  /** Names of its labels, in the order in which they are shown. */
  readonly labels: readonly string[];
  /** A noun phrase that begins with a capital. */
  readonly summary: string;
}

/** Most series of one metric in one environment; others are counted under `OTHER_LABEL`. */
export const MAX_SERIES = 2_000;
/** Value of every label of the series that takes what is beyond the bound. */
export const OTHER_LABEL = "other";
/** The environment of metrics that are about the server and not about one environment. */
export const SERVER_SCOPE = "";

const QUERY_LABELS = ["query_name", "deployment", "branch"] as const;
const RESOLVER_LABELS = ["resolver", "deployment", "branch", "operation"] as const;
const FEATURE_LABELS = ["feature", "branch"] as const;
const CONTAINER_LABELS = ["container", "kind", "group"] as const;
const APP_LABELS = ["name", "service", "unit", "attributes"] as const;

/**
 * Metrics by name. `operation` of resolvers is `online`, `offline`, `run`, `sink` or `function`, of
 * which `resolver` is the name; `deployment` is an id, or its tag where it has one. Metrics of
 * applications are told apart by the label `name`; their attributes are one label, as `a=1,b=2`.
 * `container` is a name, its `kind` is `container` or `sandbox`, and `group` is the name of a
 * scaling group.
 */
export const METRICS = {
  "query.count": { kind: "counter", unit: "one", labels: QUERY_LABELS, summary: "Queries" },
  "query.errors": {
    kind: "counter",
    unit: "one",
    labels: [...QUERY_LABELS, "code"],
    summary: "Queries with errors, by the first one's code",
  },
  "query.latency": { kind: "histogram", unit: "seconds", labels: QUERY_LABELS, summary: "Time in which queries were answered" },
  "resolver.count": { kind: "counter", unit: "one", labels: RESOLVER_LABELS, summary: "Calls of resolvers" },
  "resolver.errors": { kind: "counter", unit: "one", labels: [...RESOLVER_LABELS, "code"], summary: "Calls of resolvers that failed" },
  "resolver.latency": { kind: "histogram", unit: "seconds", labels: RESOLVER_LABELS, summary: "Time of resolvers' calls" },
  "resolver.rows": { kind: "counter", unit: "one", labels: RESOLVER_LABELS, summary: "Rows that resolvers returned" },
  "feature.request_count": { kind: "counter", unit: "one", labels: FEATURE_LABELS, summary: "Values that queries asked for" },
  "feature.hit": { kind: "counter", unit: "one", labels: FEATURE_LABELS, summary: "Values that the online store served" },
  "feature.null": { kind: "counter", unit: "one", labels: FEATURE_LABELS, summary: "Values that were null" },
  "feature.errors": { kind: "counter", unit: "one", labels: FEATURE_LABELS, summary: "Values that failed" },
  "feature.validation_failures": {
    kind: "counter",
    unit: "one",
    labels: FEATURE_LABELS,
    summary: "Values that broke a validation that is not strict",
  },
  "feature.age": { kind: "histogram", unit: "seconds", labels: FEATURE_LABELS, summary: "Age of values that the online store served" },
  "feature.drift": { kind: "gauge", unit: "one", labels: ["feature"], summary: "Population stability index against the week before" },
  "model.requests": {
    kind: "counter",
    unit: "one",
    labels: ["resolver", "model", "operation", "branch"],
    summary: "Requests that features make to models",
  },
  "model.errors": {
    kind: "counter",
    unit: "one",
    labels: ["resolver", "model", "operation", "branch"],
    summary: "Requests to models that failed, those that were made again among them",
  },
  "model.tokens": {
    kind: "counter",
    unit: "one",
    labels: ["resolver", "model", "operation", "branch", "kind"],
    summary: "Tokens that models were given (kind input) and answered with (kind output)",
  },
  "store.latency": { kind: "histogram", unit: "seconds", labels: ["store", "operation"], summary: "Time of the stores' calls" },
  "store.bytes": { kind: "gauge", unit: "bytes", labels: ["store"], summary: "Bytes that stores hold" },
  "worker.count": { kind: "gauge", unit: "one", labels: ["deployment", "state"], summary: "Python workers, by state" },
  "worker.cpu": { kind: "counter", unit: "seconds", labels: ["deployment"], summary: "CPU time of Python workers" },
  "worker.memory": { kind: "gauge", unit: "bytes", labels: ["deployment"], summary: "Resident memory of Python workers" },
  "container.cpu": { kind: "gauge", unit: "one", labels: CONTAINER_LABELS, summary: "Processors that containers and sandboxes use" },
  "container.memory": { kind: "gauge", unit: "bytes", labels: CONTAINER_LABELS, summary: "Memory of containers and sandboxes" },
  "scaling_group.replicas": {
    kind: "gauge",
    unit: "one",
    labels: ["group", "state"],
    summary: "Replicas of scaling groups: those that answer (state ready), and those that there should be (state wanted)",
  },
  "source.count": { kind: "counter", unit: "one", labels: ["source"], summary: "Statements sent to SQL sources" },
  "source.errors": { kind: "counter", unit: "one", labels: ["source"], summary: "Statements that failed" },
  "source.latency": { kind: "histogram", unit: "seconds", labels: ["source"], summary: "Time of statements" },
  "stream.messages": { kind: "counter", unit: "one", labels: ["stream"], summary: "Messages that streams read" },
  "stream.dead_letters": { kind: "counter", unit: "one", labels: ["stream"], summary: "Messages that streams put aside" },
  "stream.late": { kind: "counter", unit: "one", labels: ["stream"], summary: "Messages that were too late for kept windows" },
  "stream.lag": { kind: "gauge", unit: "one", labels: ["stream"], summary: "Messages that streams have not read yet" },
  "stream.latency": {
    kind: "histogram",
    unit: "seconds",
    labels: ["stream"],
    summary: "Time from a message to its stored row, of the oldest of each step",
  },
  "aggregate.windows": {
    kind: "counter",
    unit: "one",
    labels: [...FEATURE_LABELS, "source"],
    summary: "Kept windows that were computed: of tiles alone, of rows alone, or of both",
  },
  "aggregate.tiles": { kind: "counter", unit: "one", labels: FEATURE_LABELS, summary: "Tiles that kept windows were made of" },
  "aggregate.rows": { kind: "counter", unit: "one", labels: FEATURE_LABELS, summary: "Rows that kept windows were made of, beside tiles" },
  "aggregate.backfills": {
    kind: "counter",
    unit: "one",
    labels: ["feature", "state"],
    summary: "Backfills of kept aggregates that ended, by state",
  },
  "aggregate.backfill_rows": { kind: "counter", unit: "one", labels: ["feature"], summary: "Rows that backfills made tiles of" },
  "aggregate.lag": {
    kind: "gauge",
    unit: "seconds",
    labels: ["feature"],
    summary: "Time since the end of what backfills filled of a kept aggregate, by its first feature",
  },
  "sink.rows": { kind: "counter", unit: "one", labels: ["sink", "deployment", "branch"], summary: "Rows that sinks took" },
  "sink.dropped": {
    kind: "counter",
    unit: "one",
    labels: ["sink", "deployment", "branch", "reason"],
    summary: "Rows of sinks that were dropped",
  },
  "job.count": { kind: "counter", unit: "one", labels: ["kind", "state"], summary: "Jobs that ended, by state" },
  "job.latency": { kind: "histogram", unit: "seconds", labels: ["kind"], summary: "Time of jobs' attempts" },
  "job.waiting": { kind: "gauge", unit: "one", labels: ["kind"], summary: "Jobs that wait" },
  "evaluation.runs": { kind: "counter", unit: "one", labels: ["evaluation", "state"], summary: "Runs of evaluations that ended, by state" },
  "evaluation.rows": { kind: "counter", unit: "one", labels: ["evaluation"], summary: "Rows that were evaluated" },
  "evaluation.errors": {
    kind: "counter",
    unit: "one",
    labels: ["evaluation"],
    summary: "Evaluated rows for which the function or a scorer failed",
  },
  "evaluation.score": { kind: "gauge", unit: "one", labels: ["evaluation", "scorer"], summary: "Average score of a run, by scorer" },
  "http.count": { kind: "counter", unit: "one", labels: ["endpoint", "status"], summary: "Requests" },
  "http.latency": { kind: "histogram", unit: "seconds", labels: ["endpoint"], summary: "Time in which requests were answered" },
  "gateway.count": {
    kind: "counter",
    unit: "one",
    labels: ["kind", "name", "status"],
    summary: "Requests to containers and scaling groups, by their name",
  },
  "gateway.latency": {
    kind: "histogram",
    unit: "seconds",
    labels: ["kind", "name"],
    summary: "Time in which containers and scaling groups answered requests",
  },
  "process.cpu": { kind: "counter", unit: "seconds", labels: ["node"], summary: "CPU time of the server" },
  "process.memory": { kind: "gauge", unit: "bytes", labels: ["node"], summary: "Resident memory of the server" },
  "app.counter": { kind: "counter", unit: "one", labels: APP_LABELS, summary: "What applications count" },
  "app.gauge": { kind: "gauge", unit: "one", labels: APP_LABELS, summary: "What applications measure" },
  "app.histogram": { kind: "histogram", unit: "one", labels: APP_LABELS, summary: "Values of which applications tell the distribution" },
  "telemetry.dropped": { kind: "counter", unit: "one", labels: ["signal"], summary: "Records that were dropped" },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

/** Name of a metric. */
export type MetricName = keyof typeof METRICS;

/** Names of the metrics of a kind. */
export type MetricsOf<Kind extends MetricKind> = {
  [Name in MetricName]: (typeof METRICS)[Name]["kind"] extends Kind ? Name : never;
}[MetricName];

/** Whether a text is the name of a metric. */
export function isMetricName(name: string): name is MetricName {
  return Object.hasOwn(METRICS, name);
}

/** Labels of a metric with their values; those without a value are empty. */
export type LabelsOf<Name extends MetricName> = Readonly<Record<(typeof METRICS)[Name]["labels"][number], string>>;

/** The definition of a metric, with the types that all have. */
export function metricNamed(name: MetricName): MetricDefinition {
  return METRICS[name];
}

/** Whether a metric is about the server, for all environments: its series are of `SERVER_SCOPE`. */
export function isOfServer(name: MetricName): boolean {
  return /^(?:http|process|store|telemetry)\./.test(name);
}

/** Whether a metric is of applications, which sent it: its unit is a label of each series. */
export function isOfApplications(name: string): boolean {
  return name.startsWith("app.");
}
