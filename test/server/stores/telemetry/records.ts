/** Records for tests of the telemetry store; what a test does not name is the same in all. */

import type { QueryLogEntry, SpanRecord, StageRecord } from "../../../../src/server/stores/telemetry/store.ts";

/** A query that was answered. */
export const query = (queryId: string, startedAt: number, more: Partial<QueryLogEntry> = {}): QueryLogEntry => ({
  queryId,
  environmentId: "env_1",
  deploymentId: "dpl_1",
  branch: "",
  startedAt,
  durationMs: 1.5,
  queryName: "n",
  correlationId: "c",
  errorCount: 0,
  encoding: "json",
  request: '{"inputs":{"user.id":1}}',
  response: '{"data":[{"field":"user.name","value":"é\\u0000"}]}',
  origins: "m.name\n",
  kind: "online",
  queryVersion: "",
  isNamed: false,
  planHash: "p1",
  rootNamespace: "user",
  primaryKey: "1",
  agentId: "clt_1",
  errorCodes: "",
  hitShare: 0.5,
  rows: 1,
  traceId: "",
  ...more,
});

/** A step of a traced query. */
export const span = (spanId: string, startedAt: number, more: Partial<SpanRecord> = {}): SpanRecord => ({
  traceId: "t1",
  spanId,
  parentSpanId: "",
  kind: "op",
  name: "m.f",
  startedAt,
  durationMs: 1.25,
  error: "",
  attributes: { "svc.rows.in": "1", "é\u0000": '"' },
  queryId: "q1",
  environmentId: "env_1",
  deploymentId: "dpl_1",
  ...more,
});

/** A stage of a query, with an object of 100 bytes. */
export const stage = (queryId: string, number: number, startedAt: number, more: Partial<StageRecord> = {}): StageRecord => ({
  queryId,
  stage: number,
  environmentId: "env_1",
  startedAt,
  kind: "python",
  provider: "m.f",
  path: "user",
  rows: 2,
  columns: ["user.a", "user.b"],
  omitted: "",
  sha256: `${queryId}-${number}`,
  size: 100,
  ...more,
});
