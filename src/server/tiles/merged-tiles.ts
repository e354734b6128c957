/**
 * Tiles as queries read them: the merged state of a range of buckets, which stays the same until
 * one of them is written again. Of a range with many tiles its blocks are remembered too, so that a
 * write, or a window that moves on, costs a block and not the range. All that is written goes
 * through here too, so that what is remembered is what is stored. Of a store that other processes
 * write too, nothing is remembered.
 */

import type { TileSeries } from "../../domain/expressions/tile-series.ts";
import type { FoundTile, FoundTiles, TileRead, TileStore } from "../stores/tiles/store.ts";
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

/** Buckets of a block; block `n` begins at bucket `n * BLOCK`. */
const BLOCK = 256;
/** Blocks of a range; one of more is not divided. */
const MOST_BLOCKS = 1_024;

/** The remembered ranges of a group of a series. */
interface Group {
  readonly scope: string;
  readonly seriesId: number;
  readonly group: string;
  readonly ranges: Map<string, MergedRange & Pick<TileRead, "from" | "until">>;
  /** Blocks by their number; none of a group whose ranges have few tiles. */
  readonly blocks: Map<number, MergedRange>;
}

/** A part of a range: one that is remembered, or one to be read. */
interface Part extends TileRead {
  readonly range: MergedRange | undefined;
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

  const forgetBlock = ({ blocks }: Group, number: number): void => {
    const block = blocks.get(number);
    if (!block) return;
    blocks.delete(number);
    bytes -= sizeOf(block);
  };

  const forgetGroup = (key: string, group: Group): void => {
    for (const range of [...group.ranges.keys()]) forgetRange(group, range);
    for (const number of [...group.blocks.keys()]) forgetBlock(group, number);
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
      if (until - from === 1) forgetBlock(one, Math.floor(from / BLOCK));
      else for (const number of [...one.blocks.keys()]) if (number * BLOCK < until && from < (number + 1) * BLOCK) forgetBlock(one, number);
      if (one.ranges.size === 0 && one.blocks.size === 0) groups.delete(at);
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

  /** Remembers a range, and blocks of its group. */
  const remember = (scope: string, read: TileRead, range: MergedRange, blocks: ReadonlyMap<number, MergedRange>): void => {
    const { seriesId, group, from, until } = read;
    const key = groupKeyOf(scope, seriesId, group);
    const known = groups.get(key) ?? { scope, seriesId, group, ranges: new Map(), blocks: new Map() };
    groups.set(key, known);
    forgetRange(known, `${from} ${until}`);
    known.ranges.set(`${from} ${until}`, { ...range, from, until });
    bytes += sizeOf(range);
    for (const [number, block] of blocks) {
      forgetBlock(known, number);
      known.blocks.set(number, block);
      bytes += sizeOf(block);
    }
    if (known.ranges.size > MOST_RANGES) forgetRange(known, known.ranges.keys().next().value as string);
    for (const [oldest, one] of groups) {
      if (bytes <= MOST_BYTES || one === known) break;
      forgetGroup(oldest, one);
    }
  };

  /** The parts of a range: its blocks and what is beside them, where blocks are remembered. */
  const partsOf = (scope: string, read: TileRead): readonly Part[] => {
    const blocks = groups.get(groupKeyOf(scope, read.seriesId, read.group))?.blocks;
    const [first, after] = wholeBlocks(read);
    if (!blocks || blocks.size === 0 || first >= after) return [{ ...read, range: undefined }];
    const parts: Part[] = [{ ...read, until: first * BLOCK, range: undefined }];
    for (let number = first; number < after; number++)
      parts.push({ ...read, from: number * BLOCK, until: (number + 1) * BLOCK, range: blocks.get(number) });
    parts.push({ ...read, from: after * BLOCK, range: undefined });
    return parts.filter(({ from, until }) => from < until);
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
      const parts = missing.map((read) => partsOf(scope, read));
      const merge = (found: FoundTiles): MergedRange[] => {
        let nextPart = 0;
        const made = missing.map((read, at): MergedRange => {
          const blocks = new Map<number, MergedRange>();
          const ranges = (parts[at] as readonly Part[]).map(
            (part) => part.range ?? mergedPart(series, part, found[nextPart++] ?? [], blocks),
          );
          const range = ranges.length === 1 ? (ranges[0] as MergedRange) : mergedRanges(series, ranges);
          if (writes === before && !isShared) remember(scope, read, range, blocks);
          return range;
        });
        let next = 0;
        return known.map((range) => range ?? (made[next++] as MergedRange));
      };
      const found = store.read(
        scope,
        parts.flatMap((all) => all.filter(({ range }) => range === undefined)),
      );
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

/** The tiles of a part as one. Its blocks are added to `blocks` if it has many tiles or is one. */
function mergedPart(series: TileSeries, part: TileRead, tiles: FoundTiles[number], blocks: Map<number, MergedRange>): MergedRange {
  const [first, after] = wholeBlocks(part);
  const isBlock = after - first === 1 && part.until - part.from === BLOCK;
  if (isBlock || first >= after || tiles.length <= BLOCK) {
    const range = mergedTilesOf(series, tiles);
    if (isBlock) blocks.set(first, range);
    return range;
  }
  const ranges: MergedRange[] = [];
  let next = 0;
  const take = (until: number): MergedRange => {
    const begin = next;
    while (next < tiles.length && (tiles[next] as FoundTile).bucket < until) next++;
    const range = mergedTilesOf(series, tiles.slice(begin, next));
    ranges.push(range);
    return range;
  };
  take(first * BLOCK);
  for (let number = first; number < after; number++) blocks.set(number, take((number + 1) * BLOCK));
  take(part.until);
  return mergedRanges(series, ranges);
}

/** Numbers of the first block that is whole within a range, and of that after the last. */
function wholeBlocks({ from, until }: Pick<TileRead, "from" | "until">): readonly [number, number] {
  const [first, after] = [Math.ceil(from / BLOCK), Math.floor(until / BLOCK)];
  return after - first > MOST_BLOCKS ? [first, first] : [first, after];
}

function mergedTilesOf(series: TileSeries, tiles: FoundTiles[number]): MergedRange {
  const [only] = tiles;
  if (!only || tiles.length === 1) return { state: only?.state, tiles: tiles.length };
  const state = new TileState(series);
  for (const tile of tiles) state.merge(tile.state);
  return { state: state.encode(), tiles: tiles.length };
}

function mergedRanges(series: TileSeries, ranges: readonly MergedRange[]): MergedRange {
  const states = ranges.flatMap(({ state }) => state ?? []);
  const tiles = ranges.reduce((sum, range) => sum + range.tiles, 0);
  if (states.length < 2) return { state: states[0], tiles };
  const state = new TileState(series);
  for (const one of states) state.merge(one);
  return { state: state.encode(), tiles };
}

function groupKeyOf(scope: string, seriesId: number, group: string): string {
  return `${seriesId}\n${scope}\n${group}`;
}

function sizeOf({ state }: MergedRange): number {
  return ENTRY_BYTES + (state?.byteLength ?? 0);
}
