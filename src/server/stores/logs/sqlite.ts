/**
 * The log store in one SQLite file that a worker thread owns: records are collected on this thread
 * and sent to it in batches; reads go to it too.
 */

import type { Clock } from "../../../context/clock.ts";
import { Gathering } from "../../thread/gathering.ts";
import { Thread } from "../../thread/rpc.ts";
import { cut } from "./bounds.ts";
import type { LogStep, LogsDatabase, LogsFile } from "./database.ts";
import { LogGatherer } from "./log-batch.ts";
import type { LogsEvents } from "./logs-worker.ts";
import type { LogCount, LogKind, LogLimits, LogStore } from "./store.ts";

/** Options with which the store is opened. */
export interface LogsOptions
  extends Pick<LogsFile, "path" | "programVersion">,
    Partial<Pick<LogsFile, "ttlMs" | "maxBytes" | "carryFrom">> {
  readonly clock: Clock;
  /**
   * Records that may wait to be written, on either thread; default 20,000. The bound for errors is
   * four times as high.
   */
  readonly maxPending?: number;
  /** Approximate bytes of records that may wait; default 32 MiB. */
  readonly maxPendingBytes?: number;
  /** Called when a damaged file was set aside: the damage, and its new path. */
  readonly onRenewal?: (reason: string, kept: string) => void;
  /** Called for the first of consecutive failed writes. */
  readonly onError?: (error: unknown) => void;
  /** Called with the number of records dropped so far, at most once a second while it grows. */
  readonly onDrop?: (dropped: number) => void;
}

const FORTNIGHT_MS = 14 * 86_400_000;
const MEBIBYTE = 1024 * 1024;
/** Time that a record waits for others, and the most records and bytes of a batch. */
const GATHER_MS = 200;
const RECORDS_PER_BATCH = 2_048;
const BYTES_PER_BATCH = MEBIBYTE;
/** Estimated bytes of a record beside its message. */
const RECORD_BYTES = 300;
const ERROR_ROOM = 4;

/** Makes the store. The thread is started and the file opened with the first batch or read. */
export function createSqliteLogStore(options: LogsOptions): LogStore {
  const { clock, path, programVersion, maxPending = 20_000, maxPendingBytes = 32 * MEBIBYTE } = options;
  const { ttlMs = FORTNIGHT_MS, maxBytes = 1024 * MEBIBYTE, carryFrom } = options;
  const thread = new Thread<LogsDatabase, LogsFile, LogsEvents>({
    entry: "stores/logs/logs-worker.ts",
    settings: { path, programVersion, ttlMs, maxBytes, carryFrom },
    listeners: {
      renewed(reason, kept) {
        options.onRenewal?.(reason, kept);
        if (limited !== undefined) void thread.call("limit", [limited, clock.now()]).catch((error: unknown) => options.onError?.(error));
      },
      uncarried: (reason) => options.onError?.(new Error(`lines of an older version could not be carried over: ${reason}`)),
    },
    ended: (reason) => new Error(`the thread of the logs ended: ${reason}`),
  });
  /** The bounds that were set, for a file that is begun anew. */
  let limited: LogLimits | undefined;
  const listeners = new Set<(kinds: ReadonlySet<LogKind>) => void>();
  const batch = new LogGatherer();
  const gathering = new Gathering({
    ...{ maxPending, maxPendingBytes, urgentRoom: ERROR_ROOM },
    ...{ gatherMs: GATHER_MS, batchRecords: RECORDS_PER_BATCH, batchBytes: BYTES_PER_BATCH },
    ...{ onError: options.onError, onDrop: options.onDrop },
    take: () => batch.take(),
    async write({ packed, kinds }) {
      await thread.call("write", [packed, clock.now()], [packed.numbers.buffer]);
      for (const listener of listeners) listener(kinds);
    },
  });
  const { send } = gathering;

  return {
    record(record) {
      const message = cut(record.message);
      if (!gathering.admit(1, RECORD_BYTES + message.length, record.level === "error" || record.level === "fatal")) return;
      batch.add(message === record.message ? record : { ...record, message });
    },
    search(filter, limit, beforeSeq) {
      void send();
      return thread.call("search", [filter, limit, beforeSeq]);
    },
    after(filter, seq, limit) {
      void send();
      return thread.call("after", [filter, seq, limit]);
    },
    newest(kind) {
      void send();
      return thread.call("newest", [kind]);
    },
    async aggregate(filter, windowMs, signal) {
      void send();
      const counts = new Map<string, LogCount>();
      for (let next: number | undefined = Number.MAX_SAFE_INTEGER; next !== undefined; ) {
        signal?.throwIfAborted();
        const step: LogStep<LogCount[]> = await thread.call("count", [filter, windowMs, next]);
        for (const { start, level, count } of step.result) {
          const key = `${start} ${level}`;
          counts.set(key, { start, level, count: count + (counts.get(key)?.count ?? 0) });
        }
        next = step.next;
      }
      return [...counts.values()].sort((one, other) => one.start - other.start || (one.level < other.level ? -1 : 1));
    },
    onWritten(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async forgetEnvironment(environmentId) {
      await send();
      await thread.call("forgetEnvironment", [environmentId]);
    },
    async forgetOperations(operationIds) {
      await send();
      await thread.call("forgetOperations", [operationIds]);
    },
    async forgetKeys(what, signal) {
      await send();
      let lines = 0;
      for (let next: number | undefined = Number.MAX_SAFE_INTEGER; next !== undefined && !signal?.aborted; ) {
        const step: LogStep<number> = await thread.call("forgetKeys", [what, next]);
        lines += step.result;
        next = step.next;
      }
      return lines;
    },
    dropped: () => gathering.dropped,
    async figures() {
      const file = await thread.call("figures", []);
      return { ...file, pendingRecords: gathering.pendingRecords };
    },
    limit(limits) {
      limited = limits;
      return thread.call("limit", [limits, clock.now()]);
    },
    probe: () => thread.call("probe", [clock.now()]),
    flush: send,
    async close() {
      await send();
      await thread.close().catch((error: unknown) => options.onError?.(error));
      gathering.notice();
    },
  };
}
