/**
 * The worker threads of a SQLite source. Each runs one statement at a time; they are started on
 * demand and end when idle.
 */

import { Thread } from "../thread/rpc.ts";
import { SqlError, type SqlResult } from "./source.ts";
import type { Bound, SqlitePlace } from "./sqlite-file.ts";
import type { ReaderEvents, SqliteFileReader } from "./sqlite-worker.ts";

/** Most threads of a source: several, so that a short statement rarely waits for long ones. */
const MAX_THREADS = 4;
/** Most threads that are still busy with statements whose callers gave up. */
const MAX_ABANDONED = 4;
const IDLE_MS = 30_000;

interface Job {
  readonly statement: string;
  readonly parameters: readonly Bound[];
  readonly resolve: (result: SqlResult) => void;
  readonly reject: (reason: unknown) => void;
  /** Rows received before the result. */
  readonly rows: (readonly unknown[])[];
}

/** A thread with its current job. */
interface ReadingThread {
  readonly reader: Thread<SqliteFileReader, SqlitePlace, ReaderEvents>;
  job: Job | undefined;
  idle: ReturnType<typeof setTimeout> | undefined;
}

/**
 * Runs statements off the event loop. SQLite cannot be interrupted from another thread here: when a
 * caller gives up, its thread is abandoned (it ends with its statement) and replaced.
 */
export class SqliteThreads {
  private readonly threads = new Set<ReadingThread>();
  private readonly waiting: Job[] = [];
  private abandoned = 0;
  private closed = false;
  private retired = false;

  constructor(private readonly place: SqlitePlace) {}

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

  /** Lets accepted statements finish, then ends the threads. */
  retire(): void {
    this.retired = true;
    for (const thread of this.threads) if (!thread.job) this.end(thread);
  }

  /** Ends the threads; unfinished statements are rejected. */
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
      void this.read(thread, job);
    }
  }

  private idleThread(): ReadingThread | undefined {
    for (const thread of this.threads) if (!thread.job) return thread;
    if (this.threads.size >= MAX_THREADS || this.abandoned >= MAX_ABANDONED) return undefined;
    const thread: ReadingThread = {
      reader: new Thread({
        entry: "sql/sqlite-worker.ts",
        settings: this.place,
        listeners: {
          rows: (rows) => {
            for (const row of rows) thread.job?.rows.push(row);
          },
        },
        revive: ({ message, fields }) => new SqlError(message, fields.offset as number | undefined),
        ended: (reason) => new SqlError(`the thread that reads the file failed: ${reason}`),
      }),
      job: undefined,
      idle: undefined,
    };
    this.threads.add(thread);
    return thread;
  }

  /** Runs a job on a thread, and then assigns the next one. */
  private async read(thread: ReadingThread, job: Job): Promise<void> {
    try {
      const { columns, rows } = await thread.reader.call("read", [job.statement, job.parameters]);
      job.resolve({ columns, rows: job.rows.length === 0 ? rows : job.rows.concat(rows) });
    } catch (error) {
      job.reject(error);
    }
    if (thread.job !== job) return;
    thread.job = undefined;
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
      thread.job = undefined;
      this.threads.delete(thread);
      this.abandoned++;
      void thread.reader.terminate().then(() => {
        this.abandoned--;
        this.assign();
      });
    }
    this.assign();
  }

  private end(thread: ReadingThread): void {
    clearTimeout(thread.idle);
    this.threads.delete(thread);
    if (thread.job) void thread.reader.terminate();
    else thread.reader.close().catch(() => undefined);
  }
}
