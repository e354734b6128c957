/** Backfills: the tiles of a time made of the rows of a resolver, bucket by bucket. */

import { bucketOf, bucketStart, type TileSeries } from "../../domain/expressions/tile-series.ts";
import type { SeriesUse } from "../../domain/kept-series.ts";
import { JobFailed } from "../jobs/runner.ts";
import type { ClassRows, TimeSpan } from "../query/class-rows.ts";
import type { Tile, TileReplacement, TileStore } from "../stores/tiles/store.ts";
import { type Filled, filledOf, filledRead, filledTile, fillerOf, fillingRead, fillingTile } from "../tiles/coverage.ts";
import type { SeriesReader } from "../tiles/series-rows.ts";
import type { ErasedRows } from "./erased-rows.ts";
import { BucketFold } from "./folding.ts";
import type { InTurn } from "./turns.ts";

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
  /** Id of the job that does it. */
  readonly job: string;
  /** Whether tiles are stored. */
  readonly isStored: boolean;
  /** Begins a publication of the tiles; absent = they are not published. */
  readonly publish?: (() => Promise<TilePublication>) | undefined;
  /** What was deleted of the series, as far as is known now. */
  readonly erased: () => ErasedRows;
  /** Keeps removals of tiles apart from what is told of them. */
  readonly inTurn: InTurn;
}

/** A place where tiles are published. */
export interface TilePublication {
  /** Adds the tiles of a part of the time. */
  add(tiles: readonly Tile[]): Promise<void>;
  /** Completes it: all tiles of the time were added. */
  finish(span: TimeSpan): Promise<void>;
  /** Ends without it. */
  abandon(): Promise<void>;
}

/** What a backfill did. */
export interface Backfilled {
  readonly rows: number;
  readonly tiles: number;
}

/** The bounds of a backfill, microseconds since 1970. */
export interface BackfillBounds {
  readonly lower: bigint | undefined;
  readonly upper: bigint | undefined;
  readonly now: bigint;
  /** Whether buckets are filled that no window reaches; default: none is. */
  readonly isBeyond?: boolean;
}

/**
 * The buckets that a backfill fills: from that of the lower bound on, but none that no window
 * reaches, and those that end by the upper bound; none when that is before all that windows reach.
 */
export function spanOf({ series, retentionMicros }: SeriesUse, { lower, upper, now, isBeyond = false }: BackfillBounds): TimeSpan {
  const start = (micros: bigint): bigint => bucketStart(series, bucketOf(series, micros));
  const until = start(upper === undefined || upper > now ? now : upper);
  if (retentionMicros >= ENDLESS_MICROS || (isBeyond && lower !== undefined))
    return { from: lower === undefined ? undefined : earlier(start(lower), until), until };
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
  const { span, inTurn } = work;
  for (;;) {
    const publication = await work.publish?.();
    try {
      const erased = work.erased();
      const done =
        span.from !== undefined && span.from >= span.until ? NOTHING : await fillBuckets(store, work, publication, signal, progress);
      // A deletion removes tiles that were stored before it: they are made again, without its rows.
      const isWhole = await inTurn(async () => {
        if (work.erased() !== erased) return false;
        if (done !== NOTHING && work.isStored) await tellFilled(store, work);
        return true;
      });
      if (isWhole) {
        await publication?.finish(span);
        return done;
      }
    } catch (error) {
      await publication?.abandon();
      throw error;
    }
    await publication?.abandon();
  }
}

const NOTHING: Backfilled = { rows: 0, tiles: 0 };

async function fillBuckets(
  store: TileStore,
  work: SeriesBackfill,
  publication: TilePublication | undefined,
  signal: AbortSignal,
  progress: (rows: number) => void,
): Promise<Backfilled> {
  const { series, seriesId, span, scope, isStored, job, inTurn } = work;
  let sum: Backfilled = { rows: 0, tiles: 0 };
  if (isStored) {
    const mark = fillingTile(seriesId, span, job);
    await inTurn(() => store.replace(scope, [{ seriesId, from: mark.bucket, until: mark.bucket + 1, tiles: [mark] }]));
  }
  for await (const { taken, tiles, part } of parts(work, await work.rows.isSelective(), signal)) {
    signal.throwIfAborted();
    if (isStored) await store.replace(scope, [replacementOf(series, seriesId, part, tiles)]);
    await publication?.add(tiles);
    sum = { rows: sum.rows + taken, tiles: sum.tiles + tiles.length };
    progress(sum.rows);
  }
  return sum;
}

/**
 * Notes that a time was filled, together with what was filled before if they touch, and that the
 * job fills nothing any more.
 */
async function tellFilled(store: TileStore, { seriesId, scope, span, job }: SeriesBackfill): Promise<void> {
  const [found = []] = await store.read(scope, [filledRead(seriesId)]);
  const mark = filledTile(seriesId, united(filledOf(found), span));
  const { bucket } = fillingTile(seriesId, span, job);
  await store.replace(scope, [
    { seriesId, from: mark.bucket, until: mark.bucket + 1, tiles: [mark] },
    { seriesId, from: bucket, until: bucket + 1, tiles: [] },
  ]);
}

/**
 * Ends the marks of jobs that fill a series no more, whatever became of them.
 * @param isOver whether the job of an id has ended; empty = a job of before there were ids
 */
export async function endFilling(
  store: TileStore,
  { scope, seriesId }: Pick<SeriesBackfill, "scope" | "seriesId">,
  isOver: (job: string) => boolean | Promise<boolean>,
): Promise<void> {
  const [marks = []] = await store.read(scope, [fillingRead(seriesId)]);
  for (const mark of marks)
    if (await isOver(fillerOf(mark))) await store.replace(scope, [{ seriesId, from: mark.bucket, until: mark.bucket + 1, tiles: [] }]);
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
    const folded = new BucketFold(seriesId, series, reader, part.from, part.until, erased().test);
    for await (const read of rows.read(part, signal)) {
      signal.throwIfAborted();
      for (const name of [series.time, ...series.group]) {
        const [failure] = read.failures.get(name)?.values() ?? [];
        if (failure !== undefined) throw new JobFailed(`a row cannot be placed: ${failure}`);
      }
      folded.add(read.columns, read.rows, read.failures);
    }
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
