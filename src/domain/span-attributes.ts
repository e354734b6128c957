/**
 * Names of spans' attributes: those of OpenTelemetry's semantic conventions where there is one,
 * else names of ours with `svc.` before them.
 */

/** Attributes by what they hold. Counts are texts, durations milliseconds. */
export const SPAN_ATTRIBUTES = {
  /** Database system, such as `postgresql`. */
  dbSystem: "db.system.name",
  /** Statement; its parameters stay placeholders. */
  dbStatement: "db.query.text",
  dbRows: "db.response.returned_rows",
  /** Name of the source that a statement was sent to. */
  source: "svc.source",
  /** Function of the project that was called. */
  function: "code.function.name",
  /** Name of the error's code, or of its class. */
  errorType: "error.type",
  queryName: "svc.query.name",
  queryHash: "svc.query.hash",
  correlationId: "svc.correlation_id",
  encoding: "svc.encoding",
  /** Number of errors of an answer. */
  errors: "svc.errors",
  resolver: "svc.resolver",
  /** Kind of a plan's step. */
  step: "svc.step",
  path: "svc.path",
  rowsIn: "svc.rows.in",
  rowsOut: "svc.rows.out",
  rowsFailed: "svc.rows.failed",
  values: "svc.values",
  relations: "svc.relations",
  /** Number of values that the online store had. */
  cacheHits: "svc.cache.hit",
  /** Whether the plan was made before. */
  planRemembered: "svc.plan.remembered",
  pythonMs: "svc.python.duration_ms",
  stages: "svc.stages",
  spansLeftOut: "svc.spans_left_out",
  /** Id of the webhook that an event was delivered to, and the event's type. */
  webhook: "svc.webhook.id",
  event: "svc.webhook.event",
  httpMethod: "http.request.method",
  httpStatus: "http.response.status_code",
  /** Host that a request was sent to. */
  host: "server.address",
} as const;

/** An attribute's name. */
export type SpanAttribute = (typeof SPAN_ATTRIBUTES)[keyof typeof SPAN_ATTRIBUTES];

/** Names of versions that had names of their own; undefined = it said nothing new. */
const FORMER: Readonly<Record<string, SpanAttribute | undefined>> = {
  statement: "db.query.text",
  source: "svc.source",
  resolver: "svc.resolver",
  provider: undefined,
  op: "svc.step",
  path: "svc.path",
  rows_in: "svc.rows.in",
  rows_out: "svc.rows.out",
  failed: "svc.rows.failed",
  values: "svc.values",
  relations: "svc.relations",
  cached: "svc.cache.hit",
  remembered: "svc.plan.remembered",
  python_ms: "svc.python.duration_ms",
  stages: "svc.stages",
  spans_left_out: "svc.spans_left_out",
  plan: "svc.query.hash",
  errors: "svc.errors",
  encoding: "svc.encoding",
  query_name: "svc.query.name",
  correlation_id: "svc.correlation_id",
};

/** Attributes under today's names. */
export function currentAttributes(attributes: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (!Object.keys(attributes).some((name) => Object.hasOwn(FORMER, name))) return attributes;
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => {
      if (!Object.hasOwn(FORMER, name)) return [[name, value]];
      const current = FORMER[name];
      return current === undefined ? [] : [[current, value]];
    }),
  );
}

/** The service that did a span's work: the platform itself, or Python code of the project. */
export function serviceOfSpan(kind: string): string {
  return kind === "worker" ? "svc-python" : "svc";
}
