/** The worker threads of a SQLite source. Each runs one statement at a time; they start when needed and end when idle. */

import { workerEntry } from "../thread/worker-entry.ts";
import { SqlError, type SqlResult } from "./source.ts";
import type { Bound } from "./sqlite-file.ts";
import type { ThreadAnswer, ThreadRequest } from "./sqlite-worker.ts";

/** More than there are cores, so that a short statement seldom waits behind long ones. */
const MAX_THREADS = 4;
/** Threads that may still be busy with statements nobody waits for. */
const MAX_ABANDONED = 4;
const IDLE_MS = 30_000;

interface Job {
  readonly statement: string;
  readonly parameters: readonly Bound[];
  readonly resolve: (result: SqlResult) => void;
  readonly reject: (reason: unknown) => void;
  columns: readonly string[];
  readonly rows: (readonly unknown[])[];
}

interface Thread {
  readonly worker: Worker;
  job: Job | undefined;
  idle: ReturnType<typeof setTimeout> | undefined;
}

/**
 * Runs statements away from the event loop. SQLite cannot be interrupted from another thread here: when a caller gives up, its thread is abandoned (it
 * ends when its statement does) and another takes its place.
 */
export class SqliteThreads {
  private readonly threads = new Set<Thread>();
  private readonly waiting: Job[] = [];
  private abandoned = 0;
  private closed = false;
  private retired = false;

  constructor(private readonly path: string) {}

  /** Runs a statement. Rejects with SqlError, or with the signal's reason when that comes first. */
  run(statement: string, parameters: readonly Bound[], signal?: AbortSignal): Promise<SqlResult> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.giveUp(job);
        job.reject(signal?.reason);
      };
      const job: Job = {
        statement,
        parameters,
        columns: [],
        rows: [],
        resolve: (result) => {
          signal?.removeEventListener("abort", onAbort);
          resolve(result);
        },
        reject: (reason) => {
          signal?.removeEventListener("abort", onAbort);
          reject(reason);
        },
      };
      signal?.addEventListener("abort", onAbort);
      this.waiting.push(job);
      this.assign();
    });
  }

  /** Lets what was asked run to its end, then ends the threads. */
  retire(): void {
    this.retired = true;
    for (const thread of this.threads) if (!thread.job) this.end(thread);
  }

  /** Ends the threads; what still runs is rejected. */
  close(): void {
    this.closed = true;
    for (const job of this.waiting.splice(0)) job.reject(new SqlError("the source was closed"));
    for (const thread of this.threads) {
      thread.job?.reject(new SqlError("the source was closed"));
      this.end(thread);
    }
  }

  private assign(): void {
    while (this.waiting.length > 0 && !this.closed) {
      const thread = this.idleThread();
      if (!thread) return;
      const job = this.waiting.shift() as Job;
      clearTimeout(thread.idle);
      thread.job = job;
      this.send(thread, { path: this.path, statement: job.statement, parameters: job.parameters });
    }
  }

  private idleThread(): Thread | undefined {
    for (const thread of this.threads) if (!thread.job) return thread;
    if (this.threads.size >= MAX_THREADS || this.abandoned >= MAX_ABANDONED) return undefined;
    const worker = new Worker(workerEntry("sql/sqlite-worker.ts"), { smol: true, ref: false });
    const thread: Thread = { worker, job: undefined, idle: undefined };
    worker.onmessage = ({ data }: MessageEvent<ThreadAnswer>) => this.receive(thread, data);
    worker.onerror = (event) => {
      event.preventDefault();
      const { job } = thread;
      this.end(thread);
      job?.reject(new SqlError(`the thread that reads the file failed: ${event.message}`));
      this.assign();
    };
    this.threads.add(thread);
    return thread;
  }

  private receive(thread: Thread, answer: ThreadAnswer): void {
    const { job } = thread;
    if (!job) return;
    if (answer.rows) for (const row of answer.rows) job.rows.push(row);
    if (answer.columns) job.columns = answer.columns;
    if (!answer.done && !answer.error) return;
    thread.job = undefined;
    if (answer.error) job.reject(new SqlError(answer.error.message, answer.error.offset));
    else job.resolve({ columns: job.columns, rows: job.rows });
    this.assign();
    if (thread.job) return;
    if (this.retired) this.end(thread);
    else {
      thread.idle = setTimeout(() => this.end(thread), IDLE_MS);
      thread.idle.unref();
    }
  }

  private giveUp(job: Job): void {
    const at = this.waiting.indexOf(job);
    if (at >= 0) this.waiting.splice(at, 1);
    for (const thread of this.threads) {
      if (thread.job !== job) continue;
      this.abandoned++;
      thread.worker.addEventListener("close", () => {
        this.abandoned--;
        this.assign();
      });
      this.threads.delete(thread);
      thread.worker.terminate();
    }
    this.assign();
  }

  private end(thread: Thread): void {
    clearTimeout(thread.idle);
    this.threads.delete(thread);
    if (thread.job) thread.worker.terminate();
    else this.send(thread, { close: true });
  }

  private send(thread: Thread, request: ThreadRequest): void {
    thread.worker.postMessage(request);
  }
}
