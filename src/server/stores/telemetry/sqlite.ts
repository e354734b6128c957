/** The telemetry store in one SQLite file that a worker thread owns: records are gathered here and sent there in batches, and whoever reads asks it too. */

import type { Clock } from "../../../context/clock.ts";
import { workerEntry } from "../../worker-entry.ts";
import type { TelemetryBatch, TelemetryDatabase, TelemetryFile } from "./database.ts";
import type { Body, LogEntry, QueryLogEntry, TelemetryStore } from "./store.ts";
import type { TelemetryAnswer, TelemetryMethod, TelemetryRequest } from "./telemetry-worker.ts";

/** How the store is opened. */
export interface TelemetryOptions
  extends Pick<TelemetryFile, "path" | "programVersion">,
    Partial<Pick<TelemetryFile, "ttlMs" | "maxBytes">> {
  readonly clock: Clock;
  /** Records that may wait to be written, on either thread; default 20,000. Failed queries and errors may be four times as many. */
  readonly maxPending?: number;
  /** Size of what may wait, about in bytes; default 64 MiB. */
  readonly maxPendingBytes?: number;
  /** Told about each failing write, so that a full disk does not stay unseen. */
  readonly onError?: (error: unknown) => void;
  /** Told how many records were dropped since the start, at most once a second while the number grows. */
  readonly onDrop?: (dropped: number) => void;
}

const WEEK_MS = 7 * 86_400_000;
const MEBIBYTE = 1024 * 1024;
/** Time that a record waits for others, and how many and how large they then are at most. */
const GATHER_MS = 50;
const RECORDS_PER_BATCH = 64;
const BYTES_PER_BATCH = MEBIBYTE / 2;
/** How much more room there is for what failed. */
const ERROR_ROOM = 4;
const NOTICE_MS = 1_000;

interface Call {
  resolve(result: unknown): void;
  reject(reason: unknown): void;
}

/** Makes the store. The thread is started and the file opened with the first record or question. */
export function createSqliteTelemetryStore(options: TelemetryOptions): TelemetryStore {
  const { clock, maxPending = 20_000, maxPendingBytes = 64 * MEBIBYTE } = options;
  const { path, programVersion, ttlMs = WEEK_MS, maxBytes = 512 * MEBIBYTE } = options;
  const file: TelemetryFile = { path, programVersion, ttlMs, maxBytes };
  const calls = new Map<number, Call>();
  /** What is not written yet, on either thread. */
  const pending = { records: 0, bytes: 0 };
  let queries: QueryLogEntry[] = [];
  let logs: LogEntry[] = [];
  let gathered = 0;
  let gathering: ReturnType<typeof setTimeout> | undefined;
  let noticing: ReturnType<typeof setTimeout> | undefined;
  let written = Promise.resolve();
  let worker: Worker | undefined;
  let lastCall = 0;
  let dropped = 0;

  const start = (): Worker => {
    const made = new Worker(workerEntry("stores/telemetry/telemetry-worker.ts"), { smol: true, ref: false });
    made.onmessage = ({ data }: MessageEvent<TelemetryAnswer>) => {
      const call = calls.get(data.id);
      calls.delete(data.id);
      if ("failed" in data) call?.reject(new Error(data.failed));
      else call?.resolve(data.result);
    };
    made.onerror = (event) => {
      event.preventDefault();
      worker = undefined;
      for (const call of calls.values()) call.reject(new Error(`the telemetry thread ended: ${event.message}`));
      calls.clear();
    };
    return made;
  };

  const ask = <M extends TelemetryMethod>(method: M, argument: Parameters<TelemetryDatabase[M]>[0]) =>
    new Promise<ReturnType<TelemetryDatabase[M]>>((resolve, reject) => {
      worker ??= start();
      const request: TelemetryRequest = { id: ++lastCall, file, method, argument };
      calls.set(request.id, { resolve: resolve as (result: unknown) => void, reject });
      worker.postMessage(request);
    });

  const drop = (records: number): void => {
    dropped += records;
    noticing ??= setTimeout(notice, NOTICE_MS);
  };
  const notice = (): void => {
    if (noticing === undefined) return;
    clearTimeout(noticing);
    noticing = undefined;
    options.onDrop?.(dropped);
  };

  const write = async (batch: TelemetryBatch, bytes: number): Promise<void> => {
    const records = batch.queries.length + batch.logs.length;
    try {
      await ask("write", batch);
    } catch (error) {
      options.onError?.(error);
      drop(records);
    }
    pending.records -= records;
    pending.bytes -= bytes;
  };

  /** Sends what was gathered. Resolves when everything that was sent is written, or dropped: the thread answers in order. */
  const send = (): Promise<void> => {
    clearTimeout(gathering);
    gathering = undefined;
    if (queries.length + logs.length === 0) return written;
    written = write({ queries, logs, now: clock.now() }, gathered);
    queries = [];
    logs = [];
    gathered = 0;
    return written;
  };

  const hasRoom = (share: number): boolean => pending.records < maxPending * share && pending.bytes < maxPendingBytes * share;

  /** Makes room for a record among those that wait; false when it is dropped. */
  const admit = (bytes: number, failed: boolean): boolean => {
    if (!hasRoom(failed ? ERROR_ROOM : 1)) {
      drop(1);
      return false;
    }
    pending.records++;
    pending.bytes += bytes;
    gathered += bytes;
    return true;
  };
  const gather = (): void => {
    if (queries.length + logs.length >= RECORDS_PER_BATCH || gathered >= BYTES_PER_BATCH) void send();
    else gathering ??= setTimeout(send, GATHER_MS);
  };

  return {
    recordQuery(entry) {
      if (!admit(sizeOf(entry.request) + sizeOf(entry.response) + entry.origins.length, entry.errorCount > 0)) return;
      queries.push(entry);
      gather();
    },
    recordLog(entry) {
      if (!admit(entry.text.length, entry.level === "error")) return;
      logs.push(entry);
      gather();
    },
    hasRoom: () => hasRoom(1),
    query(queryId) {
      void send();
      return ask("query", queryId);
    },
    queries(filter) {
      void send();
      return ask("queries", filter);
    },
    logs(filter) {
      void send();
      return ask("logs", filter);
    },
    dropped: () => dropped,
    probe: () => ask("probe", clock.now()),
    flush: send,
    async close() {
      await send();
      if (worker) await ask("close", undefined).catch((error: unknown) => options.onError?.(error));
      worker?.terminate();
      worker = undefined;
      notice();
    },
  };
}

function sizeOf(body: Body | undefined): number {
  return body?.length ?? 0;
}
