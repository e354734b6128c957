/**
 * The offline store in one SQLite file: WAL, synchronous=FULL. A thread writes, another reads, so that neither holds up queries nor each other. One process
 * owns the file (the server's lock on its data directory sees to that). Threads are started and the file is opened with the first call.
 */

import { workerEntry } from "../../thread/worker-entry.ts";
import type { OfflineAnswer, OfflineRequest, OfflineThreads } from "./offline-worker.ts";
import { type OfflineStore, OfflineStoreError } from "./store.ts";

/** How the store is opened. */
export interface SqliteOfflineOptions {
  /** Absolute path of `offline.db`. */
  readonly path: string;
  /** Version of the program, for the message about a newer schema. */
  readonly programVersion: string;
  /** Epoch milliseconds, for the time of storing. */
  readonly now: () => number;
  /** Told once, when the file is there and was written to or looked at. */
  readonly onOpen?: () => void;
}

type Half = keyof OfflineThreads;
type Methods<T> = { [M in keyof T]: T[M] extends (...args: never[]) => unknown ? M : never }[keyof T] & string;
type Arguments<F> = F extends (...args: infer A) => unknown ? A : never;
type Result<F> = F extends (...args: never[]) => infer R ? R : never;

/** Makes the store. Nothing is opened yet. */
export function createSqliteOfflineStore(options: SqliteOfflineOptions): OfflineStore {
  const writing = new OfflineThread("write", options);
  const reading = new OfflineThread("read", options);
  let opening: Promise<unknown> | undefined;
  /** The file exists, in the newest schema, once the writer has opened it. */
  const opened = (): Promise<unknown> => {
    if (opening) return opening;
    const attempt = writing.ask("open", []);
    opening = attempt;
    attempt.catch(() => {
      opening = undefined;
    });
    return attempt;
  };
  const write = <M extends Methods<OfflineThreads["write"]>>(method: M, ...args: Arguments<OfflineThreads["write"][M]>) =>
    writing.ask(method, args) as Promise<Result<OfflineThreads["write"][M]>>;
  const read = async <M extends Methods<OfflineThreads["read"]>>(method: M, ...args: Arguments<OfflineThreads["read"][M]>) => {
    await opened();
    return (await reading.ask(method, args)) as Result<OfflineThreads["read"][M]>;
  };
  return {
    append: (appends) => write("append", appends, options.now()),
    createVersion: (table) => write("createVersion", table),
    deleteKeys: (featureIds, keys) => write("deleteKeys", featureIds, keys),
    dropVersion: (featureId) => write("dropVersion", featureId),
    sampleAsOf: (spine, features, bounds) => read("sampleAsOf", spine, features, bounds),
    scanKeys: (environmentId, namespace, bounds, limit) => read("scanKeys", environmentId, namespace, bounds, limit),
    scanFeature: (featureId, scan) => read("scanFeature", featureId, scan),
    latestTuples: (featureIds, page) => read("latestTuples", featureIds, page),
    tableName: (featureId, historical) => read("tableName", featureId, historical),
    query: (statement, limits) => read("query", statement, limits),
    verify: () => read("verify"),
    async close() {
      await reading.close();
      await writing.close();
    },
  };
}

interface Call {
  resolve(result: unknown): void;
  reject(reason: unknown): void;
}

/** One of the threads, started with the first question. It keeps the process alive while it owes an answer. */
class OfflineThread {
  readonly #calls = new Map<number, Call>();
  #worker: Worker | undefined;
  #last = 0;
  #closed = false;
  #opened = false;

  constructor(
    readonly half: Half,
    readonly options: SqliteOfflineOptions,
  ) {}

  ask(method: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new OfflineStoreError("failed", "the offline store is closed");
      const { path, programVersion } = this.options;
      const request: OfflineRequest = { id: ++this.#last, half: this.half, path, programVersion, method, args };
      this.#calls.set(request.id, { resolve, reject });
      this.#worker ??= this.#start();
      keepAlive(this.#worker, true);
      this.#worker.postMessage(request);
    });
  }

  /** Ends the thread after what it was asked. */
  async close(): Promise<void> {
    if (this.#worker && !this.#closed) await this.ask("close", []).catch(() => undefined);
    this.#closed = true;
    this.#worker = undefined;
  }

  #start(): Worker {
    const worker = new Worker(workerEntry("stores/offline/offline-worker.ts"), { smol: true });
    worker.onmessage = ({ data }: MessageEvent<OfflineAnswer>) => {
      const call = this.#calls.get(data.id);
      this.#calls.delete(data.id);
      if (this.#calls.size === 0) keepAlive(worker, false);
      if (!("failed" in data) && !this.#opened) {
        this.#opened = true;
        if (this.half === "write") this.options.onOpen?.();
      }
      if ("failed" in data) call?.reject(new OfflineStoreError(data.failed.code, data.failed.message));
      else call?.resolve(data.result);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      if (this.#worker === worker) this.#worker = undefined;
      const reason = new OfflineStoreError("failed", `the offline store's thread ended: ${event.message}`);
      for (const call of this.#calls.values()) call.reject(reason);
      this.#calls.clear();
    };
    return worker;
  }
}

/** Whether the process stays for the thread's sake. */
function keepAlive(worker: Worker, held: boolean): void {
  const handle = worker as Worker & { ref(): void; unref(): void };
  if (held) handle.ref();
  else handle.unref();
}
