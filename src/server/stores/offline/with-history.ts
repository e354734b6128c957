/**
 * The offline store of a node: `offline.db` acknowledges writes, row by row, and `offline.duckdb`
 * beside it, which another process owns, keeps the history. Rows are moved there when many wait,
 * or when something is read, and forgotten here once they are on the disk there; so a read sees
 * every write that was acknowledged before it. While little is stored there is no history: then
 * reads are those of `offline.db`, and no process is started. Where the engine of the history
 * cannot run, it stays so.
 */

import { existsSync, statSync } from "node:fs";
import { once } from "../../../domain/once.ts";
import { damaged } from "./damage.ts";
import type { HistoryLink } from "./history/link.ts";
import type { SqliteOfflineStore } from "./sqlite.ts";
import { type Observations, type OfflineStore, OfflineStoreError, type SqlReadable, type TableSampleable } from "./store.ts";

/** Options of the store. */
export interface OfflineStoreWithHistoryOptions {
  readonly landing: SqliteOfflineStore;
  /** Absolute path of `offline.duckdb`. */
  readonly path: string;
  /** The calls of the process that owns it. */
  readonly link: HistoryLink;
  /** Waiting rows at which they are moved. */
  readonly moveRows: number;
  /** Called once when the history cannot run on this machine, with the reason. */
  readonly onUnavailable: (reason: string) => void;
  /** Called when rows could not be moved; the next move tries again. */
  readonly onMoveFailure: (error: Error) => void;
}

/** Rows of a commit that forgets what was moved: others write between two commits. */
const ROWS_PER_FORGETTING = 5_000;
/** Pause after a failed move, in which one would likely fail again. */
const RETRY_MS = 10_000;
const CLOSED = "the offline store is closed";

/** Makes the store. Nothing is opened yet. */
export function withHistory(options: OfflineStoreWithHistoryOptions): OfflineStore & Omit<SqlReadable, "query"> & TableSampleable {
  const { landing, path, link } = options;
  /** Rows that were appended since the last move began. */
  let appended = 0;
  /** Whether rows may wait that were appended before this store was opened. */
  let mayWait = true;
  let isMovingBehind = false;
  /** When what waits is moved again after that failed; on the monotonic clock. */
  let retryAt = 0;
  /** Reads of the history under way, which a store that closes still answers. */
  const asking = new Set<Promise<unknown>>();
  let isUnavailable = false;
  let isClosed = false;
  /** Number of reads of landing under way, which the first move waits for. */
  let landingReads = 0;
  let onLandingIdle: (() => void) | undefined;
  /** Changes of what is where, one at a time. */
  let lane: Promise<unknown> = Promise.resolve();
  /** The move that has not begun yet, which all who wait for one share. */
  let next: Promise<void> | undefined;
  let call = 0;

  const inLane = <T>(work: () => Promise<T>): Promise<T> => {
    const done = lane.then(work);
    lane = done.catch(() => undefined);
    return done;
  };
  /** Whether there is a history, with what landing knows of it. */
  const opened = once(async () => {
    const isKept = existsSync(path);
    const state = await landing.state();
    if (isKept && state.sequence === 0 && state.moves === 0) await landing.adopt(await link.call("adopted"));
    appended = Math.max(state.sequence - state.moved, 0);
    return { isKept, isMissing: state.moves > 0 && !isKept };
  });
  let hasBegun = false;
  const hasHistory = async (): Promise<boolean> => {
    const { isKept, isMissing } = await opened();
    if (isMissing) throw damaged(path, "it is missing, and what was stored is there");
    return isKept || hasBegun;
  };

  /** Moves everything that was stored before; in the lane. */
  const moveAll = async (): Promise<void> => {
    if (appended === 0 && !mayWait) return;
    if (landingReads > 0)
      await new Promise<void>((resolve) => {
        onLandingIdle = resolve;
      });
    const before = appended;
    appended = 0;
    try {
      const state = await landing.state();
      let forgotten = state.moves;
      for (;;) {
        const move = await link.call("move", state.sequence, forgotten);
        if (move.ranges.length > 0)
          for (let from: number | undefined = 0; from !== undefined; ) from = await landing.forget(move, from, ROWS_PER_FORGETTING);
        forgotten = move.moves;
        if (!move.isMore) break;
        if (isClosed && asking.size === 0) throw new OfflineStoreError("failed", CLOSED);
      }
      mayWait = false;
    } catch (error) {
      appended += before;
      throw error;
    }
  };
  /** Resolves when everything is moved that was stored before the call. */
  const move = (): Promise<void> => {
    next ??= inLane(async () => {
      next = undefined;
      await moveAll();
    });
    return next;
  };
  /** Begins the history unless there is one. Rejects when it cannot run here. */
  const begin = async (): Promise<void> => {
    if (await hasHistory()) return;
    await link.call("facts");
    hasBegun = true;
  };
  const moveBehind = async (): Promise<void> => {
    if (isUnavailable) return;
    isMovingBehind = true;
    try {
      await begin();
      await move();
      await link.call("compact");
    } catch (error) {
      if (isClosed) return;
      retryAt = performance.now() + RETRY_MS;
      const failure = error as Error;
      if (failure instanceof OfflineStoreError && failure.code === "unusable" && !hasBegun) {
        isUnavailable = true;
        options.onUnavailable(failure.message);
      } else options.onMoveFailure(failure);
    } finally {
      isMovingBehind = false;
    }
  };

  /** Reads from the history when there is one, else from landing. */
  const read = async <T>(ofLanding: () => Promise<T>, ofHistory: () => Promise<T>): Promise<T> => {
    refuseClosed();
    if (await hasHistory()) return ofHistory();
    landingReads++;
    try {
      return await ofLanding();
    } finally {
      landingReads--;
      if (landingReads === 0) onLandingIdle?.();
    }
  };
  /** Asks the history, which then has everything that was stored before. */
  const asked: HistoryLink["call"] = (method, ...args) => {
    const answer = move().then(() => link.call(method, ...args));
    const settled: Promise<unknown> = answer.catch(() => undefined).finally(() => asking.delete(settled));
    asking.add(settled);
    return answer;
  };
  /** A read that a signal can end. */
  const interruptible = async <T>(signal: AbortSignal | undefined, work: (id: number) => Promise<T>): Promise<T> => {
    refuseClosed();
    signal?.throwIfAborted();
    await begin();
    const id = ++call;
    const interrupt = (): void => void link.call("interrupt", id).catch(() => undefined);
    signal?.addEventListener("abort", interrupt, { once: true });
    try {
      return await work(id);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", interrupt);
    }
  };
  const refuseClosed = (): void => {
    if (isClosed) throw new OfflineStoreError("failed", CLOSED);
  };

  return {
    async append(observations: readonly Observations[]) {
      refuseClosed();
      await opened();
      const refusals = await landing.append(observations);
      appended += observations.reduce((sum, { keys }) => sum + keys.length, 0);
      // A version without rows is to be known there too.
      if (observations.some(({ keys }) => keys.length === 0)) mayWait = true;
      if (appended >= options.moveRows && !isMovingBehind && performance.now() >= retryAt) void moveBehind();
      return refusals;
    },
    async deleteKeys(featureIds, keys, until) {
      refuseClosed();
      return inLane(async () => {
        if (!(await hasHistory())) return landing.deleteKeys(featureIds, keys, until);
        await moveAll();
        const removed = await landing.deleteKeys(featureIds, keys, until);
        return removed + (await link.call("deleteKeys", featureIds, keys, until));
      });
    },
    async dropVersion(featureId) {
      refuseClosed();
      await inLane(async () => {
        if (!(await hasHistory())) return landing.dropVersion(featureId);
        await moveAll();
        await landing.dropVersion(featureId);
        await link.call("dropVersion", featureId);
      });
    },
    hours: (environmentId) =>
      read(
        () => landing.hours(environmentId),
        () => asked("hours", environmentId),
      ),
    async trim(environmentId, observedBefore) {
      refuseClosed();
      return inLane(async () => {
        if (!(await hasHistory())) return landing.trim(environmentId, observedBefore);
        await moveAll();
        return (await landing.trim(environmentId, observedBefore)) + (await link.call("trim", environmentId, observedBefore));
      });
    },
    sample: (spine, features, bounds = {}) =>
      read(
        () => landing.sample(spine, features, bounds),
        () => asked("sample", ++call, spine, features, bounds),
      ),
    scanKeys: (environmentId, namespace, bounds = {}, limit) =>
      read(
        () => landing.scanKeys(environmentId, namespace, bounds, limit),
        async () => (await asked("scanKeys", ++call, environmentId, namespace, bounds, limit)).sort(byText),
      ),
    scan: (featureId, scan) =>
      read(
        () => landing.scan(featureId, scan),
        () => asked("scan", ++call, featureId, scan),
      ),
    latest: (featureIds, page) =>
      read(
        () => landing.latest(featureIds, page),
        () => asked("latest", ++call, featureIds, page),
      ),
    tableNames: (featureId, historical) => landing.tableNames(featureId, historical),
    sampleTable: (sampling, signal) => interruptible(signal, (id) => asked("sampleTable", id, sampling)),
    exportHistory: (feature, target, bounds = {}, signal) =>
      interruptible(signal, (id) => asked("exportHistory", id, feature, target, bounds)),
    exportKeys: (namespace, target, bounds = {}, limit, signal) =>
      interruptible(signal, (id) => asked("exportKeys", id, namespace, target, bounds, limit)),
    async measure() {
      const measures = await landing.measure();
      if (!existsSync(path)) return measures;
      const log = `${path}.wal`;
      const bytes = statSync(path).size + (existsSync(log) ? statSync(log).size : 0);
      const environments = new Map(measures.environments);
      const rows = await landing.movedRows();
      const all = rows.reduce((sum, [, count]) => sum + count, 0);
      for (const [id, count] of rows) environments.set(id, (environments.get(id) ?? 0) + Math.round((bytes * count) / Math.max(all, 1)));
      return { bytes: measures.bytes + bytes, environments };
    },
    async probe() {
      refuseClosed();
      await landing.probe();
      if (await hasHistory()) await link.call("facts");
    },
    async close() {
      isClosed = true;
      await Promise.all(asking);
      await lane;
      await link.close();
      await landing.close();
    },
  };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
