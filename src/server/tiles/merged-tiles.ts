/**
 * Tiles as queries read them: the merged state of a range of buckets, which stays the same until
 * one of them is written again. All that is written goes through here too, so that what is
 * remembered is what is stored. Of a store that other processes write too, nothing is remembered.
 */

import type { TileSeries } from "../../domain/expressions/tile-series.ts";
import type { FoundTiles, TileRead, TileStore } from "../stores/tiles/store.ts";
import { type Filled, filledOf, filledRead } from "./coverage.ts";
import { TileState } from "./tile-state.ts";

/** The tiles of a range as one. */
export interface MergedRange {
  /** The encoded state; undefined = there are no tiles. */
  readonly state: Uint8Array | undefined;
  /** Tiles that were merged. */
  readonly tiles: number;
}

/** A tile store that remembers what was read of it. */
export interface MergedTiles extends TileStore {
  /**
   * The tiles of each range, merged; at once if all are remembered or the store answers at once.
   */
  merged(scope: string, reads: readonly TileRead[], series: TileSeries): readonly MergedRange[] | Promise<readonly MergedRange[]>;
  /** What was filled of a series; undefined = nothing. */
  filled(scope: string, seriesId: number): Filled | undefined | Promise<Filled | undefined>;
}

/** Bytes that are remembered, and what an entry takes beside its state. */
const MOST_BYTES = 16 * 1_048_576;
const ENTRY_BYTES = 256;
/** Ranges of a group: of each window, and of some queries with times of their own. */
const MOST_RANGES = 16;

/** The remembered ranges of a group of a series. */
interface Group {
  readonly scope: string;
  readonly seriesId: number;
  readonly group: string;
  readonly ranges: Map<string, MergedRange & Pick<TileRead, "from" | "until">>;
}

/** Buckets that were written; undefined = of all groups, of all series, of all scopes. */
interface Written {
  readonly scope?: string;
  readonly seriesId?: number;
  readonly group?: string;
  readonly from: number;
  readonly until: number;
}

const ALL = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };

/**
 * Makes a store that remembers what was read of another.
 * @param isShared whether others write to the store beside this one
 */
export function mergedTiles(store: TileStore, isShared = false): MergedTiles {
  /** By use, the latest last. */
  const groups = new Map<string, Group>();
  const filled = new Map<string, Filled | undefined>();
  let bytes = 0;
  /** Writes that have begun or ended: what is read while it changes may be of before. */
  let writes = 0;

  const forgetRange = ({ ranges }: Group, key: string): void => {
    const range = ranges.get(key);
    if (!range) return;
    ranges.delete(key);
    bytes -= sizeOf(range);
  };

  const forgetGroup = (key: string, group: Group): void => {
    for (const range of group.ranges.keys()) forgetRange(group, range);
    groups.delete(key);
  };

  const forget = (written: Written): void => {
    const { scope, seriesId, group, from, until } = written;
    for (const key of filled.keys())
      if ((seriesId === undefined || key.startsWith(`${seriesId}\n`)) && (group === undefined || group === "")) filled.delete(key);
    const isWhole = scope !== undefined && seriesId !== undefined && group !== undefined;
    const key = isWhole ? groupKeyOf(scope, seriesId, group) : "";
    const found = isWhole ? groups.get(key) : undefined;
    for (const [at, one] of isWhole ? (found ? [[key, found] as const] : []) : [...groups]) {
      if (scope !== undefined && one.scope !== scope) continue;
      if (seriesId !== undefined && one.seriesId !== seriesId) continue;
      if (group !== undefined && one.group !== group) continue;
      for (const [range, kept] of [...one.ranges]) if (kept.from < until && from < kept.until) forgetRange(one, range);
      if (one.ranges.size === 0) groups.delete(at);
    }
  };

  const recall = (scope: string, { seriesId, group, from, until }: TileRead): MergedRange | undefined => {
    const key = groupKeyOf(scope, seriesId, group);
    const known = groups.get(key);
    const range = known?.ranges.get(`${from} ${until}`);
    if (!known || !range) return undefined;
    groups.delete(key);
    groups.set(key, known);
    return range;
  };

  const remember = (scope: string, { seriesId, group, from, until }: TileRead, range: MergedRange): void => {
    const key = groupKeyOf(scope, seriesId, group);
    const known = groups.get(key) ?? { scope, seriesId, group, ranges: new Map() };
    groups.set(key, known);
    forgetRange(known, `${from} ${until}`);
    known.ranges.set(`${from} ${until}`, { ...range, from, until });
    bytes += sizeOf(range);
    if (known.ranges.size > MOST_RANGES) forgetRange(known, known.ranges.keys().next().value as string);
    for (const [oldest, one] of groups) {
      if (bytes <= MOST_BYTES || one === known) break;
      forgetGroup(oldest, one);
    }
  };

  /** Writes, and forgets what that changes before anybody is told that it is written. */
  const write = async <T>(written: readonly Written[], work: () => Promise<T>): Promise<T> => {
    writes++;
    try {
      return await work();
    } finally {
      writes++;
      for (const one of written) forget(one);
    }
  };

  return {
    merged(scope, reads, series) {
      const known = reads.map((read) => recall(scope, read));
      const missing = reads.filter((_, at) => known[at] === undefined);
      if (missing.length === 0) return known as MergedRange[];
      const before = writes;
      const merge = (found: FoundTiles): MergedRange[] => {
        const made = missing.map((read, at): MergedRange => {
          const range = mergedRange(series, found[at] ?? []);
          if (writes === before && !isShared) remember(scope, read, range);
          return range;
        });
        let next = 0;
        return known.map((range) => range ?? (made[next++] as MergedRange));
      };
      const found = store.read(scope, missing);
      return found instanceof Promise ? found.then(merge) : merge(found);
    },

    filled(scope, seriesId) {
      const key = `${seriesId}\n${scope}`;
      if (filled.has(key)) return filled.get(key);
      const before = writes;
      const keep = ([found = []]: FoundTiles): Filled | undefined => {
        const known = filledOf(found);
        if (writes === before && !isShared) filled.set(key, known);
        return known;
      };
      const found = store.read(scope, [filledRead(seriesId)]);
      return found instanceof Promise ? found.then(keep) : keep(found);
    },

    read: (scope, reads) => store.read(scope, reads),
    commit: (scope, commit, merge) =>
      write(
        commit.deltas.map(({ seriesId, group, bucket }) => ({ scope, seriesId, group, from: bucket, until: bucket + 1 })),
        () => store.commit(scope, commit, merge),
      ),
    replace: (scope, replacements) =>
      write(
        replacements.map(({ seriesId, from, until }) => ({ scope, seriesId, from, until })),
        () => store.replace(scope, replacements),
      ),
    positions: (scope, streamId) => store.positions(scope, streamId),
    seek: (scope, moves) => store.seek(scope, moves),
    forgetStreams: (scope, streamIds) => store.forgetStreams(scope, streamIds),
    deleteGroups: (scope, deleted) =>
      write(
        deleted.map((one) => ({ ...one, scope, ...ALL })),
        () => store.deleteGroups(scope, deleted),
      ),
    prune: (seriesId, before, signal) => write([{ seriesId, ...ALL, until: before }], () => store.prune(seriesId, before, signal)),
    dropSeries: (seriesIds, signal) =>
      write(
        seriesIds.map((seriesId) => ({ seriesId, ...ALL })),
        () => store.dropSeries(seriesIds, signal),
      ),
    dropScope: (scope) => write([{ scope, ...ALL }], () => store.dropScope(scope)),
    measure: () => store.measure(),
    probe: () => store.probe(),
    close: () => store.close(),
  };
}

function mergedRange(series: TileSeries, tiles: FoundTiles[number]): MergedRange {
  const [only] = tiles;
  if (!only || tiles.length === 1) return { state: only?.state, tiles: tiles.length };
  const state = new TileState(series);
  for (const tile of tiles) state.merge(tile.state);
  return { state: state.encode(), tiles: tiles.length };
}

function groupKeyOf(scope: string, seriesId: number, group: string): string {
  return `${seriesId}\n${scope}\n${group}`;
}

function sizeOf({ state }: MergedRange): number {
  return ENTRY_BYTES + (state?.byteLength ?? 0);
}
