/**
 * Buckets of a series in one row for a day or a part of one: a long range is read from few rows.
 * They are packed when they are complete; one that comes later is packed with them the next time.
 */

import type { Database } from "bun:sqlite";
import { BucketSum } from "./bucket-sum.ts";
import type { MetricBucket } from "./store.ts";

/** A bucket as its columns: time, count, sum, min, max and histogram. */
export type BucketRow = readonly [at: number, count: number, sum: number, min: number, max: number, histogram: Uint8Array | null];

/** A packed bucket, with bytes of which a part is its histogram. */
export type PackedBucket = readonly [...BucketRow, begin: number, end: number];

/** Buckets of a table that are packed, and how. */
export interface Packing {
  /** The table in which they are until then. */
  readonly table: string;
  /** Length of what is packed together, milliseconds. */
  readonly packMs: number;
}

type PackRow = { readonly series: number; readonly begin: number; readonly packed: Uint8Array };

/** The packed buckets of all tables. Every method throws what SQLite does. */
export class PackedTable {
  constructor(private readonly db: Database) {}

  /**
   * Packs the buckets of a table before a time, of which it is a multiple of `packMs`.
   * @param most buckets, at most; the rest is left to the next time
   */
  pack({ table, packMs }: Packing, before: number, most: number): void {
    const rows = this.db
      .query<never, [number, number]>(
        `select at, count, sum, min, max, histogram, series from ${table} where at < ? order by series, at limit ?`,
      )
      .values(before, most) as unknown as (readonly [...BucketRow, series: number])[];
    const remove = this.db.query(`delete from ${table} where series = ? and at >= ? and at <= ?`);
    for (let from = 0; from < rows.length; ) {
      const [first, , , , , , series] = rows[from] as (typeof rows)[number];
      const begin = Math.floor(first / packMs) * packMs;
      let to = from;
      const sums = new Map<number, BucketSum>();
      for (const bucket of this.#bucketsOf(table, series, begin)) addTo(sums, bucket);
      for (; to < rows.length; to++) {
        const [at, count, sum, min, max, histogram, other] = rows[to] as (typeof rows)[number];
        if (other !== series || at >= begin + packMs) break;
        addTo(sums, { at, count, sum, min, max, ...(histogram && { histogram }) });
      }
      this.#put(
        table,
        series,
        begin,
        [...sums].sort(([one], [other]) => one - other).map(([at, sum]) => sum.bucketAt(at)),
      );
      remove.run(series, first, (rows[to - 1] as (typeof rows)[number])[0]);
      from = to;
    }
  }

  /** Gives the packed buckets of a series in a range, in the order of time. */
  read({ table, packMs }: Packing, series: number, from: number, before: number, give: (...bucket: PackedBucket) => void): void {
    const packs = this.db
      .query<never, [string, number, number, number]>(
        "select packed from packed where period = ? and series = ? and begin > ? and begin < ? order by begin",
      )
      .values(table, series, from - packMs, before) as unknown as [Uint8Array][];
    for (const [packed] of packs) unpack(packed, from, before, give);
  }

  /** The number of records in the packed buckets of a series in a range. */
  count(packing: Packing, series: number, from: number, before: number): number {
    const { table, packMs } = packing;
    const first = Math.ceil(from / packMs) * packMs;
    const end = Math.max(first, Math.floor(before / packMs) * packMs);
    const whole = this.db
      .query<{ n: number | null }, [string, number, number, number]>(
        "select sum(count) as n from packed where period = ? and series = ? and begin >= ? and begin < ?",
      )
      .get(table, series, first, end);
    let count = whole?.n ?? 0;
    for (const [begin, finish] of [
      [from, Math.min(first, before)],
      [end, before],
    ] as const)
      if (begin < finish)
        this.read(packing, series, begin, finish, (_, more) => {
          count += more;
        });
    return count;
  }

  /** Removes the buckets of a table before a time. */
  removeBefore({ table, packMs }: Packing, before: number): void {
    this.db.query("delete from packed where period = ? and first < ? and begin <= ?").run(table, before, before - packMs);
    const cut = this.db
      .query<PackRow, [string, number]>("select series, begin, packed from packed where period = ? and first < ?")
      .all(table, before);
    for (const { series, begin, packed } of cut) this.#put(table, series, begin, bucketsFrom(packed, before));
  }

  /** The time of the first packed bucket of a table; undefined = there is none. */
  first({ table }: Packing): number | undefined {
    return (
      this.db.query<{ at: number | null }, [string]>("select min(first) as at from packed where period = ?").get(table)?.at ?? undefined
    );
  }

  /** The number of packed buckets. */
  size(): number {
    return this.db.query<{ n: number | null }, []>("select sum(buckets) as n from packed").get()?.n ?? 0;
  }

  #bucketsOf(table: string, series: number, begin: number): MetricBucket[] {
    const row = this.db
      .query<PackRow, [string, number, number]>("select packed from packed where period = ? and series = ? and begin = ?")
      .get(table, series, begin);
    return row ? bucketsFrom(row.packed, begin) : [];
  }

  /** Writes what is packed together, or removes it when that is nothing. */
  #put(table: string, series: number, begin: number, buckets: readonly MetricBucket[]): void {
    const [first] = buckets;
    if (!first) {
      this.db.query("delete from packed where period = ? and series = ? and begin = ?").run(table, series, begin);
      return;
    }
    const count = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
    this.db
      .query("insert or replace into packed (period, series, begin, first, buckets, count, packed) values (?, ?, ?, ?, ?, ?, ?)")
      .run(table, series, begin, first.at, buckets.length, count, pack(buckets));
  }
}

function addTo(sums: Map<number, BucketSum>, { at, count, sum, min, max, histogram }: MetricBucket): void {
  let known = sums.get(at);
  if (!known) {
    known = new BucketSum();
    sums.set(at, known);
  }
  known.add(count, sum, min, max, histogram);
}

/** Numbers of a bucket: its time, count, sum, min, max, and where its histogram ends. */
const FIGURES = 6;
/** Of a bucket without a histogram, where that ends. */
const NONE = -1;

/**
 * Buckets as bytes: their number and `FIGURES` for each as little-endian doubles, then their
 * histograms one after another.
 */
function pack(buckets: readonly MetricBucket[]): Uint8Array {
  const head = 8 * (1 + buckets.length * FIGURES);
  const bytes = new Uint8Array(head + buckets.reduce((sum, { histogram }) => sum + (histogram?.length ?? 0), 0));
  const figures = new Float64Array(bytes.buffer, 0, head / 8);
  figures[0] = buckets.length;
  let end = head;
  for (const [index, { at, count, sum, min, max, histogram }] of buckets.entries()) {
    if (histogram) {
      bytes.set(histogram, end);
      end += histogram.length;
    }
    figures.set([at, count, sum, min, max, histogram ? end : NONE], 1 + index * FIGURES);
  }
  return bytes;
}

/** Gives the buckets in a range of bytes that `pack` made. Throws RangeError for others. */
function unpack(packed: Uint8Array, from: number, before: number, give: (...bucket: PackedBucket) => void): void {
  const aligned = packed.byteOffset % 8 === 0 ? packed : packed.slice();
  const all = new Float64Array(aligned.buffer, aligned.byteOffset, aligned.length >> 3);
  const head = 1 + (all[0] ?? Number.NaN) * FIGURES;
  if (!(head >= 1 && head <= all.length)) throw new RangeError("the packed buckets are cut off");
  let begin = (8 * head) | 0;
  for (let place = 1; place < head; place += FIGURES) {
    const at = all[place] as number;
    // An integer for the machine too: to count up to a double takes twice as long.
    const end = (all[place + 5] as number) | 0;
    if (end > aligned.length) throw new RangeError("the packed buckets are cut off");
    if (at >= from && at < before)
      give(
        at,
        all[place + 1] as number,
        all[place + 2] as number,
        all[place + 3] as number,
        all[place + 4] as number,
        end === NONE ? null : aligned,
        begin,
        end,
      );
    if (end !== NONE) begin = end;
  }
}

/** The buckets of bytes that `pack` made, those before a time left out. */
function bucketsFrom(packed: Uint8Array, from: number): MetricBucket[] {
  const buckets: MetricBucket[] = [];
  unpack(packed, from, Number.POSITIVE_INFINITY, (at, count, sum, min, max, histogram, begin, end) => {
    buckets.push({ at, count, sum, min, max, ...(histogram && { histogram: histogram.subarray(begin, end) }) });
  });
  return buckets;
}
