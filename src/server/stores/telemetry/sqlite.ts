/** The telemetry store in one SQLite file that a worker thread owns: records are gathered here and sent there in batches, and whoever reads asks it too. */

import type { Clock } from "../../../context/clock.ts";
import { workerEntry } from "../../thread/worker-entry.ts";
import type { TelemetryBatch, TelemetryDatabase, TelemetryFile } from "./database.ts";
import { QueryGatherer } from "./query-batch.ts";
import type { Body, LogEntry, SpanRecord, TelemetryStore } from "./store.ts";
import type { TelemetryAnswer, TelemetryMethod, TelemetryRequest } from "./telemetry-worker.ts";

/** How the store is opened. */
export interface TelemetryOptions
  extends Pick<TelemetryFile, "path" | "programVersion">,
    Partial<Pick<TelemetryFile, "ttlMs" | "maxBytes" | "maxStageBytes">> {
  readonly clock: Clock;
  /** Records that may wait to be written, on either thread; default 20,000. Failed queries and errors may be four times as many. */
  readonly maxPending?: number;
  /** Size of what may wait, about in bytes; default 64 MiB. */
  readonly maxPendingBytes?: number;
  /** Deletes an object with a stage's rows, whose query is too old to be kept. Without it stages are kept for ever. */
  readonly deleteObject?: (sha256: string) => Promise<void>;
  /** Told when a damaged file was set aside and begun anew: what was wrong with it, and where it is now. */
  readonly onRenewal?: (reason: string, kept: string) => void;
  /** Told about a write that fails, once until one does not, so that a full disk does not stay unseen. */
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
/** How often old stages are looked for while there are records to write. */
const EXPIRE_EVERY_MS = 60_000;

interface Call {
  resolve(result: unknown): void;
  reject(reason: unknown): void;
}

/** Makes the store. The thread is started and the file opened with the first record or question. */
export function createSqliteTelemetryStore(options: TelemetryOptions): TelemetryStore {
  const { clock, maxPending = 20_000, maxPendingBytes = 64 * MEBIBYTE } = options;
  const { path, programVersion, ttlMs = WEEK_MS, maxBytes = 512 * MEBIBYTE, maxStageBytes = 1024 * MEBIBYTE } = options;
  const file: TelemetryFile = { path, programVersion, ttlMs, maxBytes, maxStageBytes };
  const calls = new Map<number, Call>();
  /** What is not written yet, on either thread. */
  const pending = { records: 0, bytes: 0 };
  const queries = new QueryGatherer();
  let logs: LogEntry[] = [];
  let spans: SpanRecord[] = [];
  let gathered = 0;
  let gathering: ReturnType<typeof setTimeout> | undefined;
  let sending: ReturnType<typeof setImmediate> | undefined;
  let noticing: ReturnType<typeof setTimeout> | undefined;
  let written = Promise.resolve();
  let worker: Worker | undefined;
  let lastCall = 0;
  let dropped = 0;
  let expiredAt = 0;
  let isFailing = false;

  const start = (): Worker => {
    const made = new Worker(workerEntry("stores/telemetry/telemetry-worker.ts"), { smol: true, ref: false });
    made.onmessage = ({ data }: MessageEvent<TelemetryAnswer>) => {
      if ("renewed" in data) {
        options.onRenewal?.(data.renewed, data.kept);
        return;
      }
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

  const ask = <M extends TelemetryMethod>(method: M, argument: Parameters<TelemetryDatabase[M]>[0], given: ArrayBuffer[] = []) =>
    new Promise<ReturnType<TelemetryDatabase[M]>>((resolve, reject) => {
      worker ??= start();
      const request: TelemetryRequest = { id: ++lastCall, file, method, argument };
      calls.set(request.id, { resolve: resolve as (result: unknown) => void, reject });
      worker.postMessage(request, given);
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

  const write = async (batch: TelemetryBatch, records: number, bytes: number): Promise<void> => {
    try {
      await ask("write", batch, batch.queries && [batch.queries.bodies.buffer]);
      isFailing = false;
    } catch (error) {
      if (!isFailing) options.onError?.(error);
      isFailing = true;
      drop(records);
    }
    pending.records -= records;
    pending.bytes -= bytes;
    if (Math.abs(clock.now() - expiredAt) >= EXPIRE_EVERY_MS) await expireStages();
  };

  const waiting = (): number => queries.size + logs.length + spans.length;

  /** Sends what was gathered. Resolves when everything that was sent is written, or dropped: the thread answers in order. */
  const send = (): Promise<void> => {
    clearTimeout(gathering);
    clearImmediate(sending);
    gathering = undefined;
    sending = undefined;
    const records = waiting();
    if (records === 0) return written;
    written = write({ queries: queries.size > 0 ? queries.take() : undefined, logs, spans, now: clock.now() }, records, gathered);
    logs = [];
    spans = [];
    gathered = 0;
    return written;
  };

  /** Deletes the objects of stages that are too old or too many, then forgets them; what fails is tried again the next time. */
  const expireStages = async (): Promise<void> => {
    expiredAt = clock.now();
    const { deleteObject } = options;
    if (!deleteObject) return;
    try {
      const { objects, queryIds } = await ask("expiredStages", clock.now());
      for (const sha256 of objects) await deleteObject(sha256);
      if (queryIds.length > 0) await ask("forgetStages", queryIds);
    } catch (error) {
      options.onError?.(error);
    }
  };

  const hasRoom = (share: number): boolean => pending.records < maxPending * share && pending.bytes < maxPendingBytes * share;

  /** Makes room for records among those that wait; false when they are dropped. */
  const admit = (bytes: number, failed: boolean, records = 1): boolean => {
    if (!hasRoom(failed ? ERROR_ROOM : 1)) {
      drop(records);
      return false;
    }
    pending.records += records;
    pending.bytes += bytes;
    gathered += bytes;
    return true;
  };

  /** Sends a full batch once the answers that are being given are out, a smaller one after a while. */
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
    recordLog(entry) {
      if (!admit(entry.text.length, entry.level === "error")) return;
      logs.push(entry);
      gather();
    },
    recordSpans(given) {
      const bytes = given.reduce((sum, { name, attributes }) => sum + SPAN_BYTES + name.length + sizeOfFacts(attributes), 0);
      if (!admit(bytes, false, given.length)) return;
      for (const span of given) spans.push(span);
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
    spans(filter) {
      void send();
      return ask("spans", filter);
    },
    async keepStages(stages) {
      await ask("keepStages", stages);
      await expireStages();
    },
    stages: (queryId) => ask("stages", queryId),
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

/** What a span takes beside its name and facts, about. */
const SPAN_BYTES = 200;

function sizeOfFacts(facts: SpanRecord["attributes"]): number {
  return Object.entries(facts).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

function sizeOf(body: Body | undefined): number {
  return body?.length ?? 0;
}
