/** The tables of spans and traces in the telemetry file. */

import type { Database, SQLQueryBindings } from "bun:sqlite";
import { currentAttributes, SPAN_ATTRIBUTES, serviceOfSpan } from "../../../domain/span-attributes.ts";
import { newestFirst } from "../sqlite/newest-first.ts";
import type { NewestPage, SpanFilter, SpanRecord, SpanSearch, StoredSpan, TracePage, TracePlace, TraceSummary } from "./store.ts";

/** Most spans of one read. */
const MAX_READ = 10_000;
/** Traces that one step of a list looks at, and milliseconds after which a page ends. */
const STEP_TRACES = 1_000;
const PAGE_MS = 100;
/** Milliseconds by which spans may be written later than others of their start. */
const LATE_MS = 600_000;
/** Estimated bytes of a span beside its name and attributes. */
const SPAN_BYTES = 200;

const COLUMNS = `trace_id as traceId, span_id as spanId, parent_span_id as parentSpanId, kind, name, started_at as startedAt, duration_ms as durationMs,
  error, attributes, query_id as queryId, environment_id as environmentId, deployment_id as deploymentId`;
const TRACE = `trace_id as traceId, root_span as rootSpan, service, started_at as startedAt, ended_at as endedAt, span_count as spanCount,
  error_count as errorCount, query_id as queryId, query_name as queryName`;

type Row<R extends SpanRecord = SpanRecord> = Omit<R, "attributes"> & { readonly attributes: string };

/** The tables. Every method throws what SQLite does. */
export class SpanTable {
  /** About the bytes of all spans; undefined = they have to be counted anew. */
  #bytes: number | undefined;

  constructor(private readonly db: Database) {}

  /** Writes spans, and the traces that they belong to. */
  write(spans: readonly SpanRecord[]): void {
    const insert = this.db.query(
      `insert into span (trace_id, span_id, parent_span_id, kind, name, started_at, duration_ms, error, attributes, query_id, environment_id, deployment_id,
         service, size) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    let bytes = 0;
    for (const span of spans) {
      const attributes = JSON.stringify(span.attributes);
      const size = SPAN_BYTES + attributes.length + span.name.length;
      bytes += size;
      insert.run(
        ...([span.traceId, span.spanId, span.parentSpanId, span.kind, span.name, span.startedAt, span.durationMs, span.error] as const),
        ...([attributes, span.queryId, span.environmentId, span.deploymentId, serviceOfSpan(span.kind), size] as const),
      );
    }
    if (this.#bytes !== undefined) this.#bytes += bytes;
    this.#writeTraces(spans);
  }

  #writeTraces(spans: readonly SpanRecord[]): void {
    const upsert = this.db.query(
      `insert into trace (environment_id, trace_id, root_span, service, started_at, ended_at, span_count, error_count, query_id, query_name)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       on conflict (environment_id, trace_id) do update set
         root_span = iif(excluded.started_at < started_at, excluded.root_span, root_span),
         service = iif(excluded.started_at < started_at, excluded.service, service),
         query_id = iif(excluded.started_at < started_at, excluded.query_id, query_id),
         query_name = iif(excluded.started_at < started_at, excluded.query_name, query_name),
         started_at = min(started_at, excluded.started_at), ended_at = max(ended_at, excluded.ended_at),
         span_count = span_count + excluded.span_count, error_count = error_count + excluded.error_count`,
    );
    for (const of of Map.groupBy(spans, ({ environmentId, traceId }) => `${environmentId} ${traceId}`).values()) {
      const first = of.reduce((one, other) => (other.startedAt < one.startedAt ? other : one));
      upsert.run(
        ...([first.environmentId, first.traceId, first.name, serviceOfSpan(first.kind), first.startedAt] as const),
        ...([Math.max(...of.map(({ startedAt, durationMs }) => startedAt + durationMs)), of.length] as const),
        ...([of.filter(({ error }) => error !== "").length, first.queryId] as const),
        currentAttributes(first.attributes)[SPAN_ATTRIBUTES.queryName] ?? "",
      );
    }
  }

  /** Spans, ordered by start. */
  read(filter: SpanFilter): SpanRecord[] {
    const [column, id] = "traceId" in filter ? ["trace_id", filter.traceId] : ["query_id", filter.queryId];
    return this.db
      .query<Row, [string, number]>(`select ${COLUMNS} from span where ${column} = ? order by started_at, seq limit ?`)
      .all(id, MAX_READ)
      .map(spanOf);
  }

  /** Spans of an environment with an id. */
  byId(environmentId: string, spanId: string): SpanRecord[] {
    return this.db
      .query<Row, [string, string, number]>(`select ${COLUMNS} from span where span_id = ? and environment_id = ? order by seq limit ?`)
      .all(spanId, environmentId, MAX_READ)
      .map(spanOf);
  }

  /** A page of spans, newest first. */
  search(filter: SpanSearch, limit: number, beforeSeq?: number): NewestPage<StoredSpan> {
    const { from, before, environmentId } = filter;
    const named = conditionsOf(filter);
    const condition = {
      sql: ["environment_id = ?", ...named.map(({ sql }) => sql)].join(" and "),
      parameters: [environmentId, ...named.map(({ value }) => value)],
    };
    const { records, next } = newestFirst<Row<StoredSpan>>(
      this.db,
      { table: "span", columns: `seq, ${COLUMNS}`, time: "started_at", late: LATE_MS, from, before, condition },
      limit,
      beforeSeq,
    );
    return { records: records.map(spanOf), next };
  }

  /** A page of traces, the latest start first. */
  traces(filter: SpanSearch, limit: number, after?: TracePlace): TracePage {
    const { environmentId, from = Number.MIN_SAFE_INTEGER, before = Number.MAX_SAFE_INTEGER } = filter;
    const named = conditionsOf(filter);
    const step = this.db.query<TracePlace, SQLQueryBindings[]>(
      `select started_at as startedAt, trace_id as traceId from trace
       where environment_id = ? and started_at >= ? and (started_at, trace_id) < (?, ?) order by started_at desc, trace_id desc limit ?`,
    );
    const has =
      named.length === 0
        ? ""
        : `and exists (select 1 from span where span.trace_id = trace.trace_id and span.environment_id = trace.environment_id
             and ${named.map(({ sql }) => `span.${sql}`).join(" and ")})`;
    const found = this.db.query<TraceSummary, SQLQueryBindings[]>(
      `select ${TRACE} from trace where environment_id = ? and (started_at, trace_id) >= (?, ?) and (started_at, trace_id) < (?, ?) ${has}
       order by started_at desc, trace_id desc limit ?`,
    );
    const traces: TraceSummary[] = [];
    const until = performance.now() + PAGE_MS;
    let place: TracePlace = after ?? { startedAt: before, traceId: "" };
    for (;;) {
      const looked = step.all(environmentId, from, place.startedAt, place.traceId, STEP_TRACES);
      const last = looked.at(-1);
      if (!last) return { traces, next: undefined };
      const bounds = [last.startedAt, last.traceId, place.startedAt, place.traceId];
      traces.push(...found.all(environmentId, ...bounds, ...named.map(({ value }) => value), limit - traces.length));
      const newest = traces.at(-1);
      if (traces.length >= limit && newest) return { traces, next: { startedAt: newest.startedAt, traceId: newest.traceId } };
      if (looked.length < STEP_TRACES) return { traces, next: undefined };
      place = last;
      if (performance.now() > until) return { traces, next: place };
    }
  }

  /** A trace of an environment. */
  trace(environmentId: string, traceId: string): TraceSummary | undefined {
    return (
      this.db
        .query<TraceSummary, [string, string]>(`select ${TRACE} from trace where environment_id = ? and trace_id = ?`)
        .get(environmentId, traceId) ?? undefined
    );
  }

  /** The trace of an operation's first span. */
  traceIdOf(environmentId: string, operationId: string): string | undefined {
    return this.db
      .query<{ traceId: string }, [string, string]>(
        "select trace_id as traceId from span where query_id <> '' and query_id = ? and environment_id = ? order by started_at, seq limit 1",
      )
      .get(operationId, environmentId)?.traceId;
  }

  /** About the bytes of all spans. */
  bytes(): number {
    this.#bytes ??= this.db.query<{ bytes: number | null }, []>("select sum(size) as bytes from span").get()?.bytes ?? 0;
    return this.#bytes;
  }

  /** Removes spans that are too old, and the oldest while there are too many bytes of them. */
  prune(since: number, maxBytes: number): void {
    const first = "coalesce((select seq from span where started_at >= ?1 order by seq limit 1), (select max(seq) + 1 from span), 0)";
    let removed = this.db.query(`delete from span where seq < ${first}`).run(since).changes;
    if (removed > 0) this.#bytes = undefined;
    for (let round = 0; round < 20 && this.bytes() > maxBytes; round++) {
      removed += this.db.run("delete from span where seq <= (select min(seq) + (max(seq) - min(seq)) / 10 from span)").changes;
      this.#bytes = undefined;
    }
    if (removed > 0) this.#forgetEmpty();
  }

  /** Removes the spans of an environment. */
  forgetEnvironment(environmentId: string): void {
    for (const table of ["span", "trace"]) this.db.query(`delete from ${table} where environment_id = ?`).run(environmentId);
    this.#bytes = undefined;
  }

  /** Removes the spans of a query. */
  forgetQuery(queryId: string): void {
    const traces = this.db
      .query<{ environmentId: string; traceId: string }, [string]>(
        "select distinct environment_id as environmentId, trace_id as traceId from span where query_id = ?",
      )
      .all(queryId);
    if (traces.length === 0) return;
    this.db.query("delete from span where query_id = ?").run(queryId);
    this.#bytes = undefined;
    const forget = this.db.query("delete from trace where environment_id = ? and trace_id = ?");
    const left = this.db.query<Row, [string, string]>(`select ${COLUMNS} from span where environment_id = ? and trace_id = ?`);
    for (const { environmentId, traceId } of traces) {
      forget.run(environmentId, traceId);
      this.#writeTraces(left.all(environmentId, traceId).map(spanOf));
    }
  }

  /** Removes traces of which no span is left, those that began before all spans that are left. */
  #forgetEmpty(): void {
    this.db.run(
      `delete from trace where started_at <= coalesce((select started_at + ${LATE_MS} from span order by seq limit 1), 9e15)
         and not exists (select 1 from span where span.trace_id = trace.trace_id and span.environment_id = trace.environment_id)`,
    );
  }
}

/** What is asked of a span, as conditions of its columns. */
function conditionsOf({ service, name }: SpanSearch): { readonly sql: string; readonly value: string }[] {
  return [
    ...(service === "" ? [] : [{ sql: "service = ?", value: service }]),
    ...(name === "" ? [] : name.includes("*") ? [{ sql: "name glob ?", value: globOf(name) }] : [{ sql: "name = ?", value: name }]),
  ];
}

/** A name with `*` as a pattern in which nothing else is special. */
function globOf(name: string): string {
  return name.replace(/[?[]/g, "[$&]");
}

function spanOf<R extends SpanRecord>({ attributes, ...row }: Row<R>): R {
  return { ...row, attributes: currentAttributes(JSON.parse(attributes) as Record<string, string>) } as unknown as R;
}
