/**
 * Charts: those that every server has, and those that a request describes with the names of
 * metrics, functions and labels in capitals behind a prefix. Both are expressions with names.
 */

import { didYouMean } from "../closest.ts";
import { parseDuration } from "../duration.ts";
import {
  functionsOf,
  isRollup,
  type LabelFilter,
  METRIC_FUNCTIONS,
  type MetricExpression,
  type MetricFunction,
  type MetricOperator,
  type MetricTerm,
  parseMetricExpression,
  printMetricExpression,
  unitOf,
} from "./expression.ts";
import { METRICS, type MetricDefinition, type MetricName } from "./metric.ts";

/** An expression of a chart, with its name in the legend. */
export interface NamedExpression {
  readonly name: string;
  readonly expression: MetricExpression;
}

/** A chart that every server has. */
export interface BuiltInChart {
  /** Board and name, such as `queries.latency`. */
  readonly id: string;
  readonly board: string;
  readonly name: string;
  /** Texts of expressions by their name in the legend. */
  readonly series: Readonly<Record<string, string>>;
}

const LATENCIES = ["p50", "p95", "p99"] as const;
const percentilesOf = (metric: string) => Object.fromEntries(LATENCIES.map((fn) => [fn, `${fn}:${metric}`]));

/** The charts that every server has, by board. */
export const BUILT_IN_CHARTS: readonly BuiltInChart[] = Object.entries<Readonly<Record<string, readonly [string, BuiltInChart["series"]]>>>(
  {
    queries: {
      count: ["Queries by name", { queries: "sum:query.count by {query_name}" }],
      latency: ["Latency of queries", percentilesOf("query.latency")],
      errors: ["Share of queries with errors", { errors: "sum:query.errors / sum:query.count" }],
    },
    resolvers: {
      count: ["Calls of resolvers", { calls: "sum:resolver.count by {resolver}" }],
      latency: ["Latency of resolvers", { p95: "p95:resolver.latency by {resolver}" }],
      errors: ["Failed calls of resolvers", { errors: "sum:resolver.errors by {resolver}" }],
    },
    features: {
      requests: ["Values that queries asked for", { values: "sum:feature.request_count by {feature}" }],
      hits: ["Share of values that the online store served", { hits: "sum:feature.hit / sum:feature.request_count" }],
      nulls: ["Share of values that were null", { nulls: "sum:feature.null by {feature} / sum:feature.request_count by {feature}" }],
      age: ["Age of values that the online store served", percentilesOf("feature.age")],
    },
    stores: {
      latency: ["Latency of stores", { p95: "p95:store.latency by {store}" }],
      bytes: ["Bytes that stores hold", { bytes: "sum:store.bytes by {store}" }],
    },
    workers: {
      count: ["Python workers by state", { workers: "sum:worker.count by {state}" }],
      cpu: ["CPU time of Python workers", { cpu: "sum:worker.cpu by {deployment}" }],
      memory: ["Memory of Python workers", { memory: "sum:worker.memory by {deployment}" }],
    },
    server: {
      requests: ["Requests", { requests: "sum:http.count by {status}" }],
      latency: ["Latency of requests", percentilesOf("http.latency")],
      cpu: ["CPU time of the server", { cpu: "sum:process.cpu by {node}" }],
      memory: ["Memory of the server", { memory: "sum:process.memory by {node}" }],
    },
  },
).flatMap(([board, charts]) => Object.entries(charts).map(([id, [name, series]]) => ({ id: `${board}.${id}`, board, name, series })));

/** The expressions of a chart that every server has. */
export function builtInExpressions({ series }: BuiltInChart): NamedExpression[] {
  return Object.entries(series).map(([name, text]) => ({ name, expression: parseMetricExpression(text) }));
}

const PREFIXES = {
  metric: "METRIC_KIND_",
  function: "WINDOW_FUNCTION_KIND_",
  filter: "FILTER_KIND_",
  comparator: "COMPARATOR_KIND_",
  group: "GROUP_BY_KIND_",
  formula: "FORMULA_KIND_",
} as const;

const inCapitals = (name: string): string => name.replaceAll(".", "_").toUpperCase();

/** The name of a metric in charts: `METRIC_KIND_QUERY_LATENCY`. */
export function chartMetric(metric: MetricName): string {
  return PREFIXES.metric + inCapitals(metric);
}

/** The name of a function in charts: `WINDOW_FUNCTION_KIND_PERCENTILE_99`. */
export function chartFunction(fn: MetricFunction): string {
  return PREFIXES.function + (fn === "avg" ? "MEAN" : fn.replace(/^p(?=\d)/, "PERCENTILE_").toUpperCase());
}

/** The names of a label in charts, as filter and as group. */
export function chartLabel(label: string): { readonly filter: string; readonly group: string } {
  return { filter: PREFIXES.filter + inCapitals(label), group: PREFIXES.group + inCapitals(label) };
}

const METRICS_BY_NAME = new Map((Object.keys(METRICS) as MetricName[]).map((metric) => [chartMetric(metric), metric]));
/** Counters named `count` are known as `REQUEST_COUNT` too. */
const METRIC_SYNONYMS = new Map(
  [...METRICS_BY_NAME]
    .filter(([, metric]) => metric.endsWith(".count") && METRICS[metric].kind === "counter")
    .map(([name, metric]) => [name.replace(/COUNT$/, "REQUEST_COUNT"), metric]),
);
const FUNCTIONS_BY_NAME = new Map(METRIC_FUNCTIONS.map((fn) => [chartFunction(fn), fn]));
const IS_NEGATED = new Map(
  Object.entries({ EQ: false, ONE_OF: false, NEQ: true }).map(([name, negated]) => [PREFIXES.comparator + name, negated]),
);
const OPERATORS = new Map<string, MetricOperator>(
  Object.entries({ SUM: "+", DIFFERENCE: "-", PRODUCT: "*", RATIO: "/" } as const).map(([name, one]) => [PREFIXES.formula + name, one]),
);

/** Names of comparators in charts. */
export const CHART_COMPARATORS: readonly string[] = [...IS_NEGATED.keys()];
/** Names of formulas in charts. */
export const CHART_FORMULAS: readonly string[] = [...OPERATORS.keys()];

/** A chart as a request describes it; the contract says what its members mean. */
export interface ChartConfig {
  readonly name: string;
  readonly windowPeriod: string;
  readonly series: readonly {
    readonly metric: string;
    readonly filters: readonly { readonly kind: string; readonly comparator: string; readonly value: readonly string[] }[];
    readonly name: string;
    readonly windowFunction: string;
    readonly groupBy: readonly string[];
  }[];
  readonly formulas: readonly { readonly name: string; readonly kind: string; readonly operands: readonly string[] }[];
}

/** Most series of a chart, most formulas, and most names in a list of one. */
const MAX_SERIES = 20;
const MAX_NAMES = 20;

/** The error of a chart that cannot be evaluated; the message begins with the place in it. */
export class ChartError extends Error {
  override readonly name = "ChartError";
  constructor(
    place: string,
    problem: string,
    /** The next step; empty = none. */
    readonly hint = "",
  ) {
    super(`metricConfig.${place} ${problem}`);
  }
}

/** The expressions of a chart, series first, then formulas. Throws ChartError. */
export function chartExpressions({ formulas, series, windowPeriod }: ChartConfig): NamedExpression[] {
  if (series.length === 0) throw new ChartError("series", "is empty: a chart shows at least one");
  if (series.length > MAX_SERIES) throw new ChartError("series", `has more than ${MAX_SERIES} entries`);
  if (formulas.length > MAX_SERIES) throw new ChartError("formulas", `has more than ${MAX_SERIES} entries`);
  const rollupMs = windowPeriod === "" ? undefined : parseDuration(windowPeriod);
  if (windowPeriod !== "" && !(rollupMs !== undefined && isRollup(rollupMs)))
    throw new ChartError(
      "windowPeriod",
      `is no possible period: '${windowPeriod}'`,
      "Write `300s` or `5m`: 10s to 366d, in multiples of 10s.",
    );
  const named = series.map((one, at): NamedExpression => {
    const expression = termOf(one, `series[${at}]`, rollupMs);
    return { name: one.name || printMetricExpression({ ...expression, rollupMs: undefined }), expression };
  });
  const calculated = formulas.map((one, at): NamedExpression => {
    const expression = formulaOf(one, `formulas[${at}]`, named);
    return { name: one.name || one.operands.join(` ${OPERATORS.get(one.kind)} `), expression };
  });
  return [...named, ...calculated];
}

function termOf(given: ChartConfig["series"][number], place: string, rollupMs: number | undefined): MetricTerm {
  const metric = METRIC_SYNONYMS.get(given.metric) ?? find(METRICS_BY_NAME, given.metric, `${place}.metric`, "metric");
  const fn = find(FUNCTIONS_BY_NAME, given.windowFunction, `${place}.windowFunction`, "function");
  const definition = METRICS[metric] as MetricDefinition;
  const able = functionsOf(definition);
  if (!able.includes(fn)) {
    const hint = `It takes ${able.map(chartFunction).join(", ")}.`;
    throw new ChartError(
      `${place}.windowFunction`,
      `does not go with ${given.metric}, a ${definition.kind}: ${given.windowFunction}`,
      hint,
    );
  }
  const labelsBy = (kind: "filter" | "group") => new Map(definition.labels.map((label) => [chartLabel(label)[kind], label]));
  if (given.filters.length > MAX_NAMES) throw new ChartError(`${place}.filters`, `has more than ${MAX_NAMES} entries`);
  const filters = given.filters.map(({ comparator, kind, value }, at): LabelFilter => {
    const where = `${place}.filters[${at}]`;
    if (value.length === 0) throw new ChartError(`${where}.value`, "is empty: it lists values of the label");
    if (value.length > MAX_NAMES) throw new ChartError(`${where}.value`, `has more than ${MAX_NAMES} entries`);
    return {
      label: find(labelsBy("filter"), kind, `${where}.kind`, "label of the metric"),
      patterns: value,
      isNegated: find(IS_NEGATED, comparator, `${where}.comparator`, "comparator"),
    };
  });
  const by = given.groupBy.map((name, at) => find(labelsBy("group"), name, `${place}.groupBy[${at}]`, "label of the metric"));
  if (new Set(by).size < by.length) throw new ChartError(`${place}.groupBy`, "has a label twice");
  return { kind: "term", fn, metric, filters, by, rollupMs };
}

function formulaOf(
  { kind, operands }: ChartConfig["formulas"][number],
  place: string,
  series: readonly NamedExpression[],
): MetricExpression {
  const operator = find(OPERATORS, kind, `${place}.kind`, "formula");
  const isOfTwo = operator === "-" || operator === "/";
  if (operands.length < 2 || operands.length > (isOfTwo ? 2 : MAX_NAMES))
    throw new ChartError(`${place}.operands`, isOfTwo ? "does not name two series" : `does not name 2 to ${MAX_NAMES} series`);
  const byName = new Map(series.map(({ expression, name }) => [name, expression]));
  const [first, ...rest] = operands.map((name, at) => find(byName, name, `${place}.operands[${at}]`, "series of the chart"));
  return rest.reduce((left, right): MetricExpression => {
    const operation = { kind: "operation", operator, left, right } as const;
    checkOperation(operation, `${place}.operands`);
    return operation;
  }, first as MetricExpression);
}

/** Throws when the operands of a formula do not go together: as for an expression that says so. */
function checkOperation(operation: MetricExpression, place: string): void {
  if (unitOf(operation) === undefined) throw new ChartError(place, "have units that do not go together");
  try {
    parseMetricExpression(printMetricExpression(operation));
  } catch (error) {
    throw new ChartError(place, `do not go together: ${error instanceof Error ? error.message : ""}`);
  }
}

function find<T>(names: ReadonlyMap<string, T>, given: string, place: string, noun: string): T {
  const found = names.get(given);
  if (found !== undefined) return found;
  const problem = given === "" ? `is missing: a ${noun}` : `is no ${noun}: '${given}'`;
  throw new ChartError(place, problem, didYouMean(given, names.keys()) || `There is: ${[...names.keys()].join(", ")}.`);
}
