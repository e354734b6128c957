/** Backfills: the tiles of a time made of the rows of a resolver, bucket by bucket. */

import { bucketOf, bucketStart, type TileSeries } from "../../domain/expressions/tile-series.ts";
import type { SeriesUse } from "../../domain/kept-series.ts";
import { JobFailed } from "../jobs/runner.ts";
import type { ClassRows, TimeSpan } from "../query/class-rows.ts";
import type { Tile, TileReplacement, TileStore } from "../stores/tiles/store.ts";
import { type Filled, filledOf, filledRead, filledTile, fillingTile, marksRead } from "../tiles/coverage.ts";
import type { SeriesReader } from "../tiles/series-rows.ts";
import type { ErasedTest } from "./erased-rows.ts";
import { BucketFold } from "./folding.ts";

/** Rows that are aimed at with one read. */
const ROWS_PER_READ = 100_000;

/** A backfill of one series. */
export interface SeriesBackfill {
  readonly seriesId: number;
  readonly series: TileSeries;
  readonly reader: SeriesReader;
  readonly rows: ClassRows;
  readonly span: TimeSpan;
  /** Scope of the tiles. */
  readonly scope: string;
  /** Whether tiles are stored. */
  readonly isStored: boolean;
  /**
   * The test of rows that were deleted, as far as is known now; another one after a deletion.
   */
  readonly erased: () => ErasedTest | undefined;
}

/** What a backfill did. */
export interface Backfilled {
  readonly rows: number;
  readonly tiles: number;
}

/**
 * The buckets that a backfill fills: from that of the lower bound on, but none that no window
 * reaches, and those that end by the upper bound; none when that is before all that windows reach.
 * @param lower, upper microseconds since 1970
 */
export function spanOf(
  { series, retentionMicros }: SeriesUse,
  { lower, upper, now }: { readonly lower: bigint | undefined; readonly upper: bigint | undefined; readonly now: bigint },
): TimeSpan {
  const start = (micros: bigint): bigint => bucketStart(series, bucketOf(series, micros));
  const until = start(upper === undefined || upper > now ? now : upper);
  if (retentionMicros >= ENDLESS_MICROS) return { from: lower === undefined ? undefined : start(lower), until };
  const earliest = start(now - retentionMicros);
  const from = lower === undefined || lower < earliest ? earliest : start(lower);
  return { from: earlier(from, until), until };
}

/** The window `all`: its tiles are kept for ever. */
export const ENDLESS_MICROS = 36_500n * 86_400_000_000n;

/**
 * Fills the buckets of a time. Buckets are replaced whole, so an attempt that was cut off may begin
 * again. What is being filled is told first, so that streams count no row of it, which is read
 * here too; what was filled is told last.
 * @param progress is called after each read
 */
export async function backfill(
  store: TileStore,
  work: SeriesBackfill,
  signal: AbortSignal,
  progress: (rows: number) => void,
): Promise<Backfilled> {
  const { series, seriesId, span, scope, isStored, rows } = work;
  if (span.from !== undefined && span.from >= span.until) return { rows: 0, tiles: 0 };
  if (isStored) {
    const mark = fillingTile(seriesId, span);
    await store.replace(scope, [{ seriesId, from: mark.bucket, until: mark.bucket + 1, tiles: [mark] }]);
  }
  let sum: Backfilled = { rows: 0, tiles: 0 };
  const erased = work.erased();
  for await (const { taken, tiles, part } of parts(work, await rows.isSelective(), signal)) {
    signal.throwIfAborted();
    if (isStored) await store.replace(scope, [replacementOf(series, seriesId, part, tiles)]);
    sum = { rows: sum.rows + taken, tiles: sum.tiles + tiles.length };
    progress(sum.rows);
  }
  // A deletion removes tiles that were stored before it: they are made again, without its rows.
  if (work.erased() !== erased) return backfill(store, work, signal, progress);
  if (isStored) await tellFilled(store, work, span);
  return sum;
}

/**
 * Notes that a time was filled, together with what was filled before if they touch, and that
 * nothing is being filled any more.
 */
async function tellFilled(store: TileStore, { seriesId, scope }: SeriesBackfill, { from, until }: TimeSpan): Promise<void> {
  const [found = []] = await store.read(scope, [filledRead(seriesId)]);
  const filled = united(filledOf(found), { from, until });
  const mark = filledTile(seriesId, filled);
  const { from: first, until: after } = marksRead(seriesId);
  await store.replace(scope, [{ seriesId, from: first, until: after, tiles: [mark] }]);
}

/** Two times as one if they touch; else the later one. */
export function united(before: Filled | undefined, { from, until }: Filled): Filled {
  if (!before) return { from, until };
  const touches = (before.from === undefined || before.from <= until) && (from === undefined || from <= before.until);
  if (!touches) return before.until > until ? before : { from, until };
  return {
    from: before.from === undefined || from === undefined ? undefined : before.from < from ? before.from : from,
    until: before.until > until ? before.until : until,
  };
}

interface Part {
  readonly part: TimeSpan;
  readonly taken: number;
  readonly tiles: readonly Tile[];
}

/** The tiles of the time, in parts of whole buckets that grow or shrink with the rows they have. */
async function* parts(
  { erased, series, seriesId, reader, rows, span }: SeriesBackfill,
  isSelective: boolean,
  signal: AbortSignal,
): AsyncGenerator<Part> {
  const { from, until } = span;
  if (from === undefined || !isSelective) {
    yield fold(span);
    return;
  }
  let buckets = 1n;
  for (let start = from; start < until; ) {
    const end = start + buckets * series.bucketMicros;
    const part = { from: start, until: earlier(end, until) };
    const done = await fold(part);
    yield done;
    start = part.until;
    if (done.taken < ROWS_PER_READ / 2) buckets *= 2n;
    else if (done.taken > ROWS_PER_READ * 2 && buckets > 1n) buckets /= 2n;
  }

  async function fold(part: TimeSpan): Promise<Part> {
    const read = await rows.read(part, signal);
    for (const name of [series.time, ...series.group]) {
      const [failure] = read.failures.get(name)?.values() ?? [];
      if (failure !== undefined) throw new JobFailed(`a row cannot be placed: ${failure}`);
    }
    const folded = new BucketFold(seriesId, series, reader, part.from, part.until, erased());
    folded.add(read.columns, read.rows, read.failures);
    return { part, taken: folded.taken, tiles: folded.tiles() };
  }
}

function earlier(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function replacementOf(series: TileSeries, seriesId: number, { from, until }: TimeSpan, tiles: readonly Tile[]): TileReplacement {
  return {
    ...{ seriesId, tiles, until: bucketOf(series, until) },
    from: from === undefined ? Number.MIN_SAFE_INTEGER : bucketOf(series, from),
  };
}
