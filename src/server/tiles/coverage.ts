/**
 * The part of a window that tiles stand for. A window ends at the query's time, so its ends are in
 * the middle of buckets: whole buckets that were filled are read as tiles, all other rows one by
 * one. So the aggregate is that of the rows, to the microsecond.
 */

import { createHash } from "node:crypto";
import { bucketOf, bucketStart, type KeptWindow, type TileSeries } from "../../domain/expressions/tile-series.ts";
import type { FoundTile, Tile, TileRead } from "../stores/tiles/store.ts";

/**
 * The group and bucket of a series in which it is written what was filled. No rows have them: keys
 * of groups begin with a letter, and times end long before. So tiles and the word that they are
 * whole are in one store, and are lost together.
 */
const FILLED_GROUP = "";
const FILLED_BUCKET = 2 ** 52;
/** The buckets beside it, in which it is written what jobs are filling. */
const FILLING_BUCKET = FILLED_BUCKET + 1;
/** Their number: two jobs that fill a series at once hardly ever have the same one. */
const FILLING_BUCKETS = 2 ** 20;

/** The earliest instant; no window begins before it. */
const FIRST_MICROS = BigInt(Date.parse("0001-01-01T00:00:00Z")) * 1000n;

/** The time for which all tiles of a series are there, microseconds since 1970. */
export interface Filled {
  /** Beginning of the first bucket; undefined = there are no rows before. */
  readonly from: bigint | undefined;
  /** End of the last one. */
  readonly until: bigint;
}

/** Buckets of a window that are read as tiles. */
export interface Coverage {
  readonly fromBucket: number;
  readonly untilBucket: number;
  /** Beginning of the first, and end of the last one. */
  readonly fromMicros: bigint;
  readonly untilMicros: bigint;
}

/** The read that tells what was filled of a series. */
export function filledRead(seriesId: number): TileRead {
  return { seriesId, group: FILLED_GROUP, from: FILLED_BUCKET, until: FILLED_BUCKET + 1 };
}

/** The read that tells what was filled of a series, and what is being filled. */
export function marksRead(seriesId: number): TileRead {
  return { ...filledRead(seriesId), until: FILLING_BUCKET + FILLING_BUCKETS };
}

/** The read that tells what jobs are filling of a series. */
export function fillingRead(seriesId: number): TileRead {
  return { ...marksRead(seriesId), from: FILLING_BUCKET };
}

/** Whether a read of `marksRead` says that a bucket was filled, or is being filled. */
export function isMarked(series: TileSeries, bucket: number, marks: readonly FoundTile[]): boolean {
  const start = bucketStart(series, bucket);
  return marks.some((mark) => {
    const filled = filledOf([mark]);
    return filled !== undefined && (filled.from === undefined || start >= filled.from) && start < filled.until;
  });
}

/** The tile that says what a job is filling of a series. */
export function fillingTile(seriesId: number, { from, until }: Filled, job: string): Tile {
  const bucket = FILLING_BUCKET + (createHash("sha256").update(job).digest().readUInt32BE() % FILLING_BUCKETS);
  return { seriesId, group: FILLED_GROUP, bucket, state: encoded({ ...textsOf({ from, until }), job }) };
}

/** The job whose mark a tile of `fillingRead` is; empty = it does not say. */
export function fillerOf({ state }: FoundTile): string {
  return (JSON.parse(new TextDecoder().decode(state)) as { job?: string }).job ?? "";
}

/** What a read of `filledRead` says; undefined = nothing was filled. */
export function filledOf([found]: readonly FoundTile[]): Filled | undefined {
  if (!found) return undefined;
  const { from, until } = JSON.parse(new TextDecoder().decode(found.state)) as { from?: string; until: string };
  return { from: from === undefined ? undefined : BigInt(from), until: BigInt(until) };
}

/** The tile that says what was filled of a series. */
export function filledTile(seriesId: number, { from, until }: Filled): Tile {
  return { seriesId, group: FILLED_GROUP, bucket: FILLED_BUCKET, state: encoded(textsOf({ from, until })) };
}

function textsOf({ from, until }: Filled): object {
  return { ...(from !== undefined && { from: String(from) }), until: String(until) };
}

function encoded(mark: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(mark));
}

/** The buckets of a window that are read as tiles for a query of a time; undefined = none. */
export function coverageOf(window: KeptWindow, filled: Filled | undefined, nowMicros: bigint): Coverage | undefined {
  if (!filled) return undefined;
  const { series } = window;
  const start = windowBegin(window, nowMicros);
  const fromBucket = firstFrom(series, filled.from === undefined || filled.from < start ? start : filled.from);
  const end = nowMicros - series.bufferMicros;
  const untilBucket = Math.min(bucketOf(series, filled.until), bucketOf(series, end));
  if (untilBucket <= fromBucket) return undefined;
  return { fromBucket, untilBucket, fromMicros: bucketStart(series, fromBucket), untilMicros: bucketStart(series, untilBucket) };
}

/** The first instant of a window: whatever is before does not count. */
export function windowBegin({ windowMicros, includesStart }: KeptWindow, nowMicros: bigint): bigint {
  const start = nowMicros - windowMicros;
  return (start < FIRST_MICROS ? FIRST_MICROS : start) + (includesStart ? 0n : 1n);
}

/** The first bucket that begins at an instant or later. */
export function firstFrom(series: TileSeries, micros: bigint): number {
  const bucket = bucketOf(series, micros);
  return bucketStart(series, bucket) === micros ? bucket : bucket + 1;
}
