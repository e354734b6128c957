/**
 * The telemetry store in one SQLite file that a worker thread owns: records are collected on this
 * thread and sent to it in batches; reads go to it too.
 */

import type { Clock } from "../../../context/clock.ts";
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
const GATHER_MS = 50;
const RECORDS_PER_BATCH = 256;
const BYTES_PER_BATCH = MEBIBYTE / 2;
/** Factor by which the bounds are higher for failed queries and errors. */
const ERROR_ROOM = 4;
const NOTICE_MS = 1_000;

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
  /** Records that are not written yet, on either thread. */
  const pending = { records: 0, bytes: 0 };
  const queries = new QueryGatherer();
  let spans: SpanRecord[] = [];
  let plans: PlanRecord[] = [];
  let errors: ErrorRecord[] = [];
  let gathered = 0;
  let gathering: ReturnType<typeof setTimeout> | undefined;
  let sending: ReturnType<typeof setImmediate> | undefined;
  let noticing: ReturnType<typeof setTimeout> | undefined;
  let written = Promise.resolve();
  let dropped = 0;
  let droppedSpans = 0;
  let isFailing = false;

  const drop = (records: number, spansAmong: number): void => {
    dropped += records;
    droppedSpans += spansAmong;
    noticing ??= setTimeout(notice, NOTICE_MS);
  };
  const notice = (): void => {
    if (noticing === undefined) return;
    clearTimeout(noticing);
    noticing = undefined;
    options.onDrop?.(dropped);
  };

  const write = async (batch: TelemetryBatch, records: number, bytes: number): Promise<void> => {
    try {
      await thread.call("write", [batch], batch.queries && [batch.queries.bodies.buffer, batch.queries.queries.numbers.buffer]);
      isFailing = false;
    } catch (error) {
      if (!isFailing) options.onError?.(error);
      isFailing = true;
      drop(records, batch.spans.length);
    }
    pending.records -= records;
    pending.bytes -= bytes;
  };

  const waiting = (): number => queries.size + spans.length + plans.length + errors.length;

  /**
   * Sends the collected records. Resolves when everything sent so far is written or dropped: the
   * thread answers in order.
   */
  const send = (): Promise<void> => {
    clearTimeout(gathering);
    clearImmediate(sending);
    gathering = undefined;
    sending = undefined;
    const records = waiting();
    if (records === 0) return written;
    written = write({ queries: queries.size > 0 ? queries.take() : undefined, spans, plans, errors, now: clock.now() }, records, gathered);
    spans = [];
    plans = [];
    errors = [];
    gathered = 0;
    return written;
  };

  const hasRoom = (share: number): boolean => pending.records < maxPending * share && pending.bytes < maxPendingBytes * share;

  /**
   * Admits a query, or spans, to those that wait; false when there is no room and they are dropped.
   */
  const admit = (bytes: number, failed: boolean, spansGiven?: number): boolean => {
    const records = spansGiven ?? 1;
    if (!hasRoom(failed ? ERROR_ROOM : 1)) {
      drop(records, spansGiven ?? 0);
      return false;
    }
    pending.records += records;
    pending.bytes += bytes;
    gathered += bytes;
    return true;
  };

  /**
   * Schedules the sending of a full batch after the current turn's answers, of a smaller one after
   * a while.
   */
  const gather = (): void => {
    const isFull = waiting() >= RECORDS_PER_BATCH || gathered >= BYTES_PER_BATCH;
    if (isFull) sending ??= setImmediate(send);
    else gathering ??= setTimeout(send, GATHER_MS);
  };

  return {
    recordQuery(entry) {
      if (!admit(sizeOf(entry.request) + sizeOf(entry.response) + entry.origins.length, entry.errorCount > 0)) return;
      queries.add(entry);
      gather();
    },
    recordSpans(given) {
      const bytes = given.reduce((sum, { name, attributes }) => sum + SPAN_BYTES + name.length + sizeOfAttributes(attributes), 0);
      if (!admit(bytes, false, given.length)) return;
      for (const span of given) spans.push(span);
      gather();
    },
    recordPlan(plan) {
      if (!admit(plan.plan.length, false)) return;
      plans.push(plan);
      gather();
    },
    recordErrors(given) {
      const bytes = given.reduce(
        (sum, { message, exception }) => sum + SPAN_BYTES + message.length + (exception?.stacktrace.length ?? 0),
        0,
      );
      if (!admit(bytes, true, given.length)) return;
      errors.push(...given);
      gather();
    },
    hasRoom: () => hasRoom(1),
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
    dropped: () => dropped,
    droppedSpans: () => droppedSpans,
    async figures() {
      const file = await thread.call("figures", []);
      return { ...file, pendingRecords: pending.records, pendingBytes: pending.bytes };
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
      notice();
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
