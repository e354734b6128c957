/**
 * Group commit for the offline store, off the path of queries: values taken within 10 ms share a
 * commit. Guarantees:
 *
 * - A query's answer guarantees no offline storage. A process that is killed loses uncommitted
 *   values: those of about the last 10 ms, and the backlog of a slow disk.
 * - `flush` is the acknowledgement: when it resolves, everything taken before the call is on the
 *   disk and survives a power cut.
 * - `close` writes the pending values.
 *
 * Memory is bounded: when more values are pending than the bound allows, `take` waits for the
 * writer. A tenth of the room is reserved for small takes, so that a bulk query that fills the rest
 * does not delay other queries. When the store fails to write (a full disk, a damaged file), or a
 * take has waited for a second, its values are dropped and counted. A failed commit is retried each
 * second. While writing is suspended, values are gathered up to the bound; those beyond it, and
 * those that are pending when the queue is closed, are dropped and counted.
 */

import type { FeatureValue } from "../../domain/value.ts";
import type { Log } from "../log.ts";
import type { FeatureVersion, Observations, OfflineStore } from "../stores/offline/store.ts";
import type { FreshColumn } from "./sink.ts";

const GATHER_MS = 10;
/**
 * Values per commit: copying them to the writing thread takes about a millisecond of the serving
 * thread.
 */
const VALUES_PER_COMMIT = 4_096;
/**
 * Number of pending values above which commits are larger, and their size: the fixed cost of a
 * commit is paid less often while the writer is behind.
 */
const BACKLOG = 32_768;
const VALUES_PER_LARGE_COMMIT = 8_192;
const DEFAULT_MAX_PENDING = 200_000;
const MAX_WAIT_MS = 1_000;
/** Most values of a small take; larger ones come from bulk queries. */
const SMALL_TAKE = 256;
const RETRY_MS = 1_000;
const SUSPENDED = "persistence is suspended";

/** Options of the queue. */
export interface OfflineQueueOptions {
  readonly store: Pick<OfflineStore, "append">;
  readonly log: Log;
  /** Number of pending values at which `take` waits; default 200,000. */
  readonly maxPending?: number;
}

interface Gathered extends Observations {
  readonly keys: string[];
  readonly values: FeatureValue[];
  readonly observedAt: number[];
}

/** Observations of one commit. */
interface Batch {
  readonly number: number;
  readonly appends: Gathered[];
  /** The append to which a feature's next values are added, by deployment and feature id. */
  readonly open: Map<string, Map<number, Gathered>>;
  values: number;
}

interface Flush {
  /** Number of the last batch that it covers. */
  readonly through: number;
  resolve(): void;
  reject(reason: unknown): void;
}

/** The queue. */
export class OfflineQueue {
  readonly #options: OfflineQueueOptions;
  readonly #maxPending: number;
  /**
   * Pending batches, the oldest first; new values go to the last one. The first may be being
   * written.
   */
  readonly #batches: Batch[] = [];
  #flushes: Flush[] = [];
  /** Resolvers of takes that wait for the next commit to end. */
  #waiting: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = 0;
  #pending = 0;
  #dropped = 0;
  #sending = false;
  #failing = false;
  #suspended = false;
  /** Values dropped since the last line of the log about that, while writing is suspended. */
  #unsaid = 0;
  /** Takes that were dropped since writing was suspended. */
  #dropsOfSuspension = 0;

  constructor(options: OfflineQueueOptions) {
    this.#options = options;
    this.#maxPending = options.maxPending ?? DEFAULT_MAX_PENDING;
  }

  /** Number of values dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Number of values that wait to be written. */
  get pending(): number {
    return this.#pending;
  }

  /** Queues values; see `ValueSink.take`. Columns of features without a version are ignored. */
  take(deploymentId: string, versions: ReadonlyMap<number, FeatureVersion>, columns: readonly FreshColumn[]): boolean | Promise<boolean> {
    const bound = this.#boundOf(columns);
    if (this.#pending >= bound) return this.#takeLater(deploymentId, versions, columns, bound);
    this.#gather(deploymentId, versions, columns);
    return true;
  }

  /** Writes nothing until `resume`. */
  suspend(): void {
    this.#suspended = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#failFlushes(new Error(SUSPENDED));
    this.#wake();
  }

  /** Writes again what is pending. */
  resume(): void {
    if (!this.#suspended) return;
    this.#suspended = false;
    this.#sayDropped();
    this.#dropsOfSuspension = 0;
    this.#send();
  }

  /** Logs what a suspension dropped and nobody was told of. */
  #sayDropped(): void {
    if (this.#unsaid > 0) this.#options.log.error("values were not kept in the offline store", { values: this.#unsaid, reason: SUSPENDED });
    this.#unsaid = 0;
  }

  /**
   * Writes the pending values without a pause. Resolves when everything taken before is on the
   * disk; rejects as soon as a part of it was refused, or could not be written, which may still be
   * written later.
   */
  flush(): Promise<void> {
    if (this.#batches.length === 0) return Promise.resolve();
    if (this.#suspended) return Promise.reject(new Error(SUSPENDED));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#flushes.push({ through: this.#last, resolve, reject });
    this.#hurry();
    return promise;
  }

  /** Writes the pending values; those that cannot be written are lost, and logged. */
  async close(): Promise<void> {
    this.#sayDropped();
    while (this.#suspended && this.#sending) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      while (this.#batches.length > 0) await this.flush();
    } catch {
      clearTimeout(this.#timer);
      this.#drop(this.#pending, this.#suspended ? SUSPENDED : "the server stopped before they could be written");
      this.#batches.length = 0;
      this.#pending = 0;
    }
  }

  #boundOf(columns: readonly FreshColumn[]): number {
    const values = columns.reduce((sum, { keys }) => sum + keys.length, 0);
    return values <= SMALL_TAKE ? this.#maxPending : this.#maxPending - Math.floor(this.#maxPending / 10);
  }

  async #takeLater(
    deploymentId: string,
    versions: ReadonlyMap<number, FeatureVersion>,
    columns: readonly FreshColumn[],
    bound: number,
  ): Promise<boolean> {
    const deadline = performance.now() + MAX_WAIT_MS;
    while (this.#pending >= bound) {
      const left = deadline - performance.now();
      if (this.#failing || this.#suspended || left <= 0) {
        const values = columns.reduce((sum, { featureId, keys }) => sum + (versions.has(featureId) ? keys.length : 0), 0);
        if (this.#suspended) this.#dropQuietly(values);
        else this.#drop(values, "too many wait to be written");
        return false;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, left);
      this.#waiting.push(resolve);
      await promise;
      clearTimeout(timer);
    }
    this.#gather(deploymentId, versions, columns);
    return true;
  }

  #gather(deploymentId: string, versions: ReadonlyMap<number, FeatureVersion>, columns: readonly FreshColumn[]): void {
    for (const column of columns) {
      const version = versions.get(column.featureId);
      if (!version) continue;
      const batch = this.#gathering();
      const append = appendOf(batch, deploymentId, version, column.resolver);
      const { keys, values, observedAt } = column;
      for (let row = 0; row < keys.length; row++) {
        append.keys.push(keys[row] as string);
        append.values.push(values[row] as FeatureValue);
        append.observedAt.push(observedAt[row] as number);
      }
      batch.values += keys.length;
      this.#pending += keys.length;
    }
    if (this.#suspended) return;
    if (this.#batches.length > 1) this.#hurry();
    else if (this.#batches.length === 1) this.#timer ??= setTimeout(() => this.#send(), GATHER_MS);
  }

  /** The batch for new values: one that is neither full nor being written. */
  #gathering(): Batch {
    const last = this.#batches.at(-1);
    const most = this.#pending > BACKLOG ? VALUES_PER_LARGE_COMMIT : VALUES_PER_COMMIT;
    if (last && last.values < most && !(this.#sending && this.#batches.length === 1)) return last;
    const batch: Batch = { number: ++this.#last, appends: [], open: new Map(), values: 0 };
    this.#batches.push(batch);
    return batch;
  }

  /**
   * Sends now, unless a commit is running (the next one follows) or the last one failed and no
   * flush waits.
   */
  #hurry(): void {
    if (this.#sending || (this.#failing && this.#flushes.length === 0)) return;
    clearTimeout(this.#timer);
    this.#send();
  }

  #send(): void {
    this.#timer = undefined;
    const [batch] = this.#batches;
    if (!batch || this.#sending || this.#suspended) return;
    this.#sending = true;
    this.#options.store.append(batch.appends).then(
      (refusals) => {
        this.#sending = false;
        this.#batches.shift();
        this.#pending -= batch.values;
        this.#failing = false;
        let refused = 0;
        for (const { index } of refusals) refused += batch.appends[index]?.keys.length ?? 0;
        const [first] = refusals;
        if (first) {
          this.#drop(refused, first.reason);
          this.#failFlushes(new Error(first.reason));
        }
        this.#settle(batch.number);
        if (this.#batches.length > 1 || this.#flushes.length > 0) this.#send();
        else if (this.#batches.length === 1 && !this.#suspended) this.#timer ??= setTimeout(() => this.#send(), GATHER_MS);
      },
      (error: unknown) => {
        this.#sending = false;
        if (!this.#failing)
          this.#options.log.error("values could not be written to the offline store", { values: batch.values, error: String(error) });
        this.#failing = true;
        this.#failFlushes(error);
        this.#wake();
        if (!this.#suspended) this.#timer = setTimeout(() => this.#send(), RETRY_MS);
      },
    );
  }

  #settle(through: number): void {
    const done = this.#flushes.filter((flush) => flush.through <= through);
    if (done.length > 0) this.#flushes = this.#flushes.filter((flush) => flush.through > through);
    for (const { resolve } of done) resolve();
    this.#wake();
  }

  /** Rejects all pending flushes: each of them covers the oldest batch. */
  #failFlushes(reason: unknown): void {
    const flushes = this.#flushes;
    this.#flushes = [];
    for (const { reject } of flushes) reject(reason);
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }

  /**
   * Drops and counts values; the first of a suspension are logged at once, the others at its end.
   */
  #dropQuietly(values: number): void {
    if (this.#dropsOfSuspension++ === 0) this.#drop(values, SUSPENDED);
    else {
      this.#dropped += values;
      this.#unsaid += values;
    }
  }

  #drop(values: number, reason: string): void {
    if (values === 0) return;
    this.#dropped += values;
    this.#options.log.error("values were not kept in the offline store", { values, reason });
  }
}

function appendOf(batch: Batch, deploymentId: string, version: FeatureVersion, resolver: string): Gathered {
  let features = batch.open.get(deploymentId);
  if (!features) {
    features = new Map();
    batch.open.set(deploymentId, features);
  }
  const known = features.get(version.featureId);
  if (known?.resolver === resolver) return known;
  const append: Gathered = { version, deploymentId, resolver, op: "query", keys: [], values: [], observedAt: [] };
  features.set(version.featureId, append);
  batch.appends.push(append);
  return append;
}
