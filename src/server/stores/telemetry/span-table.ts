/** The table of spans in the telemetry file. */

import type { Database } from "bun:sqlite";
import type { SpanFilter, SpanRecord } from "./store.ts";

/** Most spans of one read. */
const MAX_READ = 10_000;

type Row = Omit<SpanRecord, "attributes"> & { readonly attributes: string };

/** The table. Every method throws what SQLite does. */
export class SpanTable {
  constructor(private readonly db: Database) {}

  write(spans: readonly SpanRecord[]): void {
    const insert = this.db.query(
      `insert into span (trace_id, span_id, parent_span_id, kind, name, started_at, duration_ms, error, attributes, query_id, environment_id, deployment_id)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    for (const span of spans)
      insert.run(
        span.traceId,
        span.spanId,
        span.parentSpanId,
        span.kind,
        span.name,
        span.startedAt,
        span.durationMs,
        span.error,
        JSON.stringify(span.attributes),
        span.queryId,
        span.environmentId,
        span.deploymentId,
      );
  }

  /** Spans, ordered by start. */
  read(filter: SpanFilter): SpanRecord[] {
    const [column, id] = "traceId" in filter ? ["trace_id", filter.traceId] : ["query_id", filter.queryId];
    return this.db
      .query<Row, [string, number]>(
        `select trace_id as traceId, span_id as spanId, parent_span_id as parentSpanId, kind, name, started_at as startedAt, duration_ms as durationMs, error,
           attributes, query_id as queryId, environment_id as environmentId, deployment_id as deploymentId
         from span where ${column} = ? order by started_at, seq limit ?`,
      )
      .all(id, MAX_READ)
      .map((row) => ({ ...row, attributes: JSON.parse(row.attributes) as Record<string, string> }));
  }
}
