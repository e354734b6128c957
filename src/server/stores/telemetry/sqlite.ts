/**
 * The telemetry store in one SQLite file that a worker thread owns: records are collected on this
 * thread and sent to it in batches; reads go to it too.
 */

import type { Clock } from "../../../context/clock.ts";
import { Gathering } from "../../thread/gathering.ts";
import { Thread } from "../../thread/rpc.ts";
import type { ForgottenStep, TelemetryBatch, TelemetryDatabase, TelemetryFile } from "./database.ts";
import { QueryGatherer } from "./query-batch.ts";
import type { Body, ErrorRecord, PlanRecord, SpanRecord, TelemetryLimits, TelemetryStore } from "./store.ts";
import type { TelemetryEvents } from "./telemetry-worker.ts";

/** Options with which the store is opened. */
export interface TelemetryOptions
  extends Pick<TelemetryFile, "path" | "programVersion">,
    Partial<Pick<TelemetryFile, "ttlMs" | "maxBytes" | "maxStageBytes" | "spanTtlMs" | "maxSpanBytes">> {
  readonly clock: Clock;
  /**
   * Records that may wait to be written, on either thread; default 20,000. The bound for failed
   * queries and errors is four times as high.
   */
  readonly maxPending?: number;
  /** Approximate bytes of records that may wait; default 64 MiB. */
  readonly maxPendingBytes?: number;
  /**
   * Called when a damaged file was set aside and replaced by an empty one: the damage, and its new
   * path.
   */
  readonly onRenewal?: (reason: string, kept: string) => void;
  /** Called for the first of consecutive failed writes, so that a full disk is noticed. */
  readonly onError?: (error: unknown) => void;
  /**
   * Called with the number of records dropped since the start, at most once a second while it
   * grows.
   */
  readonly onDrop?: (dropped: number) => void;
}

const WEEK_MS = 7 * 86_400_000;
const FORTNIGHT_MS = 2 * WEEK_MS;
const MEBIBYTE = 1024 * 1024;
/** Time that a record waits for others, and the most records and bytes of a batch. */
const GATHER_MS = 200;
const RECORDS_PER_BATCH = 1_024;
const BYTES_PER_BATCH = 2 * MEBIBYTE;
/** Factor by which the bounds are higher for failed queries and errors. */
const ERROR_ROOM = 4;

/** Makes the store. The thread is started and the file opened with the first record or read. */
export function createSqliteTelemetryStore(options: TelemetryOptions): TelemetryStore {
  const { clock, maxPending = 20_000, maxPendingBytes = 64 * MEBIBYTE } = options;
  const { path, programVersion, ttlMs = FORTNIGHT_MS, maxBytes = 2048 * MEBIBYTE, maxStageBytes = 1024 * MEBIBYTE } = options;
  const { spanTtlMs = WEEK_MS, maxSpanBytes = 1024 * MEBIBYTE } = options;
  const file: TelemetryFile = { path, programVersion, ttlMs, maxBytes, maxStageBytes, spanTtlMs, maxSpanBytes };
  const thread = new Thread<TelemetryDatabase, TelemetryFile, TelemetryEvents>({
    entry: "stores/telemetry/telemetry-worker.ts",
    settings: file,
    listeners: {
      renewed(reason, kept) {
        options.onRenewal?.(reason, kept);
        if (limited !== undefined) void thread.call("limit", [limited, clock.now()]).catch((error: unknown) => options.onError?.(error));
      },
    },
    ended: (reason) => new Error(`the telemetry thread ended: ${reason}`),
  });
  /** The bounds that were set, for a file that is begun anew. */
  let limited: TelemetryLimits | undefined;
  const queries = new QueryGatherer();
  let spans: SpanRecord[] = [];
  let plans: PlanRecord[] = [];
  let errors: ErrorRecord[] = [];
  let droppedSpans = 0;
  const gathering = new Gathering<TelemetryBatch>({
    ...{ maxPending, maxPendingBytes, urgentRoom: ERROR_ROOM },
    ...{ gatherMs: GATHER_MS, batchRecords: RECORDS_PER_BATCH, batchBytes: BYTES_PER_BATCH },
    ...{ onError: options.onError, onDrop: options.onDrop },
    take() {
      const batch = { queries: queries.size > 0 ? queries.take() : undefined, spans, plans, errors, now: clock.now() };
      [spans, plans, errors] = [[], [], []];
      return batch;
    },
    async write(batch) {
      try {
        await thread.call("write", [batch], batch.queries && [batch.queries.queries.numbers.buffer]);
      } finally {
        if (batch.queries) queries.release(batch.queries);
      }
    },
    onLost: (batch) => {
      droppedSpans += batch.spans.length;
    },
  });
  const { send } = gathering;

  return {
    recordQuery(entry) {
      const bytes = sizeOf(entry.request) + sizeOf(entry.response) + entry.origins.length;
      if (gathering.admit(1, bytes, entry.errorCount > 0)) queries.add(entry);
    },
    recordSpans(given) {
      const bytes = given.reduce((sum, { name, attributes }) => sum + SPAN_BYTES + name.length + sizeOfAttributes(attributes), 0);
      if (gathering.admit(given.length, bytes, false)) for (const span of given) spans.push(span);
      else droppedSpans += given.length;
    },
    recordPlan(plan) {
      if (gathering.admit(1, plan.plan.length, false)) plans.push(plan);
    },
    recordErrors(given) {
      const bytes = given.reduce(
        (sum, { message, exception }) => sum + SPAN_BYTES + message.length + (exception?.stacktrace.length ?? 0),
        0,
      );
      if (gathering.admit(given.length, bytes, true)) errors.push(...given);
    },
    hasRoom: () => gathering.hasRoom(false),
    query(queryId) {
      void send();
      return thread.call("query", [queryId]);
    },
    queries(filter) {
      void send();
      return thread.call("queries", [filter]);
    },
    searchQueries(filter, limit, beforeSeq) {
      void send();
      return thread.call("searchQueries", [filter, limit, beforeSeq]);
    },
    searchErrors(filter, limit, beforeSeq) {
      void send();
      return thread.call("searchErrors", [filter, limit, beforeSeq]);
    },
    groupErrors(filter, limit, offset) {
      void send();
      return thread.call("groupErrors", [filter, limit, offset]);
    },
    plan(environmentId, hash) {
      void send();
      return thread.call("plan", [environmentId, hash]);
    },
    metaQueries(filter, limit, after) {
      void send();
      return thread.call("metaQueries", [filter, limit, after]);
    },
    metaQuery(environmentId, id) {
      void send();
      return thread.call("metaQuery", [environmentId, id]);
    },
    traces(filter, limit, after) {
      void send();
      return thread.call("traces", [filter, limit, after]);
    },
    trace(environmentId, traceId) {
      void send();
      return thread.call("trace", [environmentId, traceId]);
    },
    traceIdOf(environmentId, operationId) {
      void send();
      return thread.call("traceIdOf", [environmentId, operationId]);
    },
    searchSpans(filter, limit, beforeSeq) {
      void send();
      return thread.call("searchSpans", [filter, limit, beforeSeq]);
    },
    spansById(environmentId, spanId) {
      void send();
      return thread.call("spansById", [environmentId, spanId]);
    },
    spans(filter) {
      void send();
      return thread.call("spans", [filter]);
    },
    keepStages: (stages) => thread.call("keepStages", [stages]),
    stages: (queryId) => thread.call("stages", [queryId, clock.now()]),
    expiredStages: () => thread.call("expiredStages", [clock.now()]),
    forgetStages: (queryIds) => thread.call("forgetStages", [queryIds]),
    async forgetEnvironment(environmentId) {
      await send();
      await thread.call("forgetEnvironment", [environmentId]);
    },
    async forgetKeys(keys, signal, before) {
      await send();
      let queries = 0;
      for (let after: number | undefined = -1; after !== undefined && !signal?.aborted; ) {
        let step: ForgottenStep = await thread.call("forgetKeys", [keys, after, true]);
        if (step.queries.length > 0) {
          await before?.(step.queries);
          step = await thread.call("forgetKeys", [keys, after, false]);
        }
        queries += step.queries.length;
        after = step.next;
      }
      for (let after: number | undefined = 0; after !== undefined && !signal?.aborted; )
        after = await thread.call("forgetErrors", [keys, after]);
      return queries;
    },
    dropped: () => gathering.dropped,
    droppedSpans: () => droppedSpans,
    async figures() {
      const file = await thread.call("figures", []);
      return { ...file, pendingRecords: gathering.pendingRecords, pendingBytes: gathering.pendingBytes };
    },
    limit(limits) {
      limited = limits;
      return thread.call("limit", [limits, clock.now()]);
    },
    migrate: () => thread.call("migrate", []),
    probe: () => thread.call("probe", []),
    flush: send,
    async close() {
      await send();
      await thread.close().catch((error: unknown) => options.onError?.(error));
      gathering.notice();
    },
  };
}

/** Estimated bytes of a span or an error beside its texts. */
const SPAN_BYTES = 200;

function sizeOfAttributes(attributes: SpanRecord["attributes"]): number {
  return Object.entries(attributes).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

function sizeOf(body: Body | undefined): number {
  return body?.length ?? 0;
}
