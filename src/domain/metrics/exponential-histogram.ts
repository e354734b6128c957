/**
 * Exponential histograms of base 2 as OpenTelemetry's data model has them, at scale 3: bucket `i`
 * holds values in (2^(i/8), 2^((i+1)/8)], so a bucket's middle is at most 4.4 % off and its bounds
 * 9.1 %. They merge by adding counts.
 */

/** Buckets of a doubling are 2^SCALE. */
export const SCALE = 3;

const FACTOR = 2 ** SCALE;
/** Indexes of the smallest and the largest bucket: 2^-30 (a nanosecond of a second) to 2^50. */
const LOWEST = -30 * FACTOR;
const HIGHEST = 50 * FACTOR - 1;
/** Bytes of the longest varint: of 2^53. */
const MAX_VARINT = 8;
/** Where histograms are encoded, before their bytes are copied: room for the longest. */
const ENCODING = new Uint8Array(MAX_VARINT + (HIGHEST - LOWEST + 1) * 2 * MAX_VARINT);
/** Room that is made on each side of a bucket outside the window of counts. */
const MARGIN = FACTOR;

/** Values that exceed `from` and do not exceed `to`, and how many. */
export interface HistogramRange {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** A histogram of numbers; those below 2^-30, negative ones too, are counted as zero. */
export class ExponentialHistogram {
  /** Counts of the buckets from `#first` on: a window around those that hold values. */
  #counts = new Float64Array(0);
  #first = 0;
  #zeros = 0;

  /** Values up to this one are counted as zero. */
  static readonly ZERO_BOUND = 2 ** (LOWEST / FACTOR);

  /** Index of the bucket of a value; undefined = zero's. */
  static indexOf(value: number): number | undefined {
    const index = Math.ceil(Math.log2(value) * FACTOR) - 1;
    if (!(index >= LOWEST)) return undefined;
    return Math.min(index, HIGHEST);
  }

  /** Upper bound of a bucket, included. */
  static upperBound(index: number): number {
    return 2 ** ((index + 1) / FACTOR);
  }

  /** Values that were counted. */
  get count(): number {
    let count = this.#zeros;
    for (const one of this.#counts) count += one;
    return count;
  }

  /** Values counted as zero. */
  get zeros(): number {
    return this.#zeros;
  }

  /** Counts a value, once or a number of times. */
  record(value: number, count = 1): void {
    this.#add(ExponentialHistogram.indexOf(value), count);
  }

  /** Adds the counts of another. */
  merge(other: ExponentialHistogram): void {
    this.#zeros += other.#zeros;
    other.#counts.forEach((count, at) => {
      if (count > 0) this.#add(other.#first + at, count);
    });
  }

  /** Forgets all values. */
  clear(): void {
    this.#counts.fill(0);
    this.#zeros = 0;
  }

  /** Buckets that hold values, from the smallest on. */
  buckets(): readonly (readonly [index: number, count: number])[] {
    const buckets: [number, number][] = [];
    this.#counts.forEach((count, at) => {
      if (count > 0) buckets.push([this.#first + at, count]);
    });
    return buckets;
  }

  /**
   * The values by at most so many buckets, without gaps: neighbours are merged as often as it
   * takes. Zeros are no part of them.
   */
  ranges(most: number): readonly HistogramRange[] {
    const found = this.buckets();
    const [first] = found;
    const last = found.at(-1);
    if (!first || !last) return [];
    let scale = SCALE;
    const placeOf = (index: number): number => Math.floor(index / 2 ** (SCALE - scale));
    while (placeOf(last[0]) - placeOf(first[0]) >= most) scale--;
    const low = placeOf(first[0]);
    const bound = (place: number): number => 2 ** (place / 2 ** scale);
    const ranges = Array.from({ length: placeOf(last[0]) - low + 1 }, (_, at) => ({
      from: bound(low + at),
      to: bound(low + at + 1),
      count: 0,
    }));
    for (const [index, count] of found) {
      const range = ranges[placeOf(index) - low];
      if (range) range.count += count;
    }
    return ranges;
  }

  /**
   * The value that a share of the values do not exceed, interpolated within its bucket; undefined
   * when there are no values.
   * @param quantile 0 to 1
   */
  quantile(quantile: number): number | undefined {
    const total = this.count;
    if (total === 0) return undefined;
    const rank = Math.max(quantile * total, Number.MIN_VALUE);
    let seen = this.#zeros;
    if (seen >= rank) return 0;
    for (let at = 0; at < this.#counts.length; at++) {
      const count = this.#counts[at] as number;
      if (count > 0 && seen + count >= rank) return 2 ** ((this.#first + at + (rank - seen) / count) / FACTOR);
      seen += count;
    }
    return undefined;
  }

  /**
   * The counts as bytes: varints of zeros, then of each bucket its distance from the last and its
   * count.
   */
  encode(): Uint8Array<ArrayBuffer> {
    const { length } = this.#counts;
    const bytes = ENCODING;
    let end = putVarint(bytes, 0, this.#zeros);
    let last = LOWEST;
    for (let at = 0; at < length; at++) {
      const count = this.#counts[at] as number;
      if (count === 0) continue;
      const index = this.#first + at;
      end = putVarint(bytes, putVarint(bytes, end, index - last), count);
      last = index;
    }
    return bytes.slice(0, end);
  }

  /** The histogram of bytes that `encode` made. Throws RangeError for others. */
  static decode(bytes: Uint8Array): ExponentialHistogram {
    const histogram = new ExponentialHistogram();
    histogram.mergeEncoded(bytes);
    return histogram;
  }

  /**
   * Adds the counts of bytes that `encode` made, from a place to another. Throws RangeError for
   * others.
   */
  mergeEncoded(bytes: Uint8Array, begin = 0, end = bytes.length): void {
    this.#read(bytes, begin, end, true);
  }

  /** Throws RangeError for bytes that `encode` did not make. */
  static check(bytes: Uint8Array): void {
    new ExponentialHistogram().#read(bytes, 0, bytes.length, false);
  }

  /** Reads encoded counts, and adds them or not; in one loop, because charts read many. */
  #read(bytes: Uint8Array, begin: number, end: number, adds: boolean): void {
    let at = begin;
    let index = LOWEST;
    let isCount = true;
    for (let isZeros = true; at < end || isZeros; ) {
      if (at >= end) throw new RangeError("the histogram is cut off");
      let byte = bytes[at++] as number;
      let value = byte & 127;
      for (let factor = 128; byte >= 128; factor *= 128) {
        if (at >= end || factor > 2 ** 49) throw new RangeError("the histogram is cut off");
        byte = bytes[at++] as number;
        value += (byte & 127) * factor;
      }
      if (!isCount) {
        index += value;
        if (index > HIGHEST) throw new RangeError("the histogram has a bucket that there is not");
        if (at >= end) throw new RangeError("the histogram is cut off");
      } else if (isZeros) {
        if (adds) this.#zeros += value;
        isZeros = false;
      } else if (adds) {
        const place = index - this.#first;
        // Buckets lie mostly side by side, so room for all that may follow is made at once.
        if (place < 0 || place >= this.#counts.length) this.#makeRoom(index, Math.min(index + ((end - at) >> 1), HIGHEST));
        const made = index - this.#first;
        this.#counts[made] = (this.#counts[made] as number) + value;
      }
      isCount = !isCount;
    }
  }

  #add(index: number | undefined, count: number): void {
    if (index === undefined) {
      this.#zeros += count;
      return;
    }
    if (index < this.#first || index >= this.#first + this.#counts.length) this.#makeRoom(index, index);
    const at = index - this.#first;
    this.#counts[at] = (this.#counts[at] as number) + count;
  }

  /** Widens the window so that it has some buckets. */
  #makeRoom(from: number, to: number): void {
    const { length } = this.#counts;
    const first = Math.max(length === 0 ? from - MARGIN : Math.min(this.#first, from - MARGIN), LOWEST);
    const last = Math.min(length === 0 ? to + MARGIN : Math.max(this.#first + length - 1, to + MARGIN), HIGHEST);
    const counts = new Float64Array(last - first + 1);
    if (length > 0) counts.set(this.#counts, this.#first - first);
    this.#counts = counts;
    this.#first = first;
  }
}

/** Writes a number at a place of the bytes; returns the place after it. */
function putVarint(bytes: Uint8Array, at: number, value: number): number {
  let rest = value;
  let end = at;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[end++] = (rest % 128) | 128;
  bytes[end++] = rest;
  return end;
}
