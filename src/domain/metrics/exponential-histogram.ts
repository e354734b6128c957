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

/** A histogram of numbers; those below 2^-30, negative ones too, are counted as zero. */
export class ExponentialHistogram {
  /** Counts by index of bucket; only those that hold values. */
  readonly #counts = new Map<number, number>();
  #zeros = 0;

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
    for (const one of this.#counts.values()) count += one;
    return count;
  }

  /** Values counted as zero. */
  get zeros(): number {
    return this.#zeros;
  }

  /** Counts a value. */
  record(value: number): void {
    this.#add(ExponentialHistogram.indexOf(value), 1);
  }

  /** Adds the counts of another. */
  merge(other: ExponentialHistogram): void {
    this.#zeros += other.#zeros;
    for (const [index, count] of other.#counts) this.#add(index, count);
  }

  /** Buckets that hold values, from the smallest on. */
  buckets(): readonly (readonly [index: number, count: number])[] {
    return [...this.#counts].sort(([one], [other]) => one - other);
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
    for (const [index, count] of this.buckets()) {
      if (seen + count >= rank) return 2 ** ((index + (rank - seen) / count) / FACTOR);
      seen += count;
    }
    return undefined;
  }

  /**
   * The counts as bytes: varints of zeros, then of each bucket its distance from the last and its
   * count.
   */
  encode(): Uint8Array<ArrayBuffer> {
    const bytes: number[] = [];
    putVarint(bytes, this.#zeros);
    let last = LOWEST;
    for (const [index, count] of this.buckets()) {
      putVarint(bytes, index - last);
      putVarint(bytes, count);
      last = index;
    }
    return new Uint8Array(bytes);
  }

  /** The histogram of bytes that `encode` made. Throws RangeError for others. */
  static decode(bytes: Uint8Array): ExponentialHistogram {
    const histogram = new ExponentialHistogram();
    let at = 0;
    const next = (): number => {
      let value = 0;
      for (let factor = 1; ; factor *= 128) {
        const byte = bytes[at++];
        if (byte === undefined || factor > 2 ** 49) throw new RangeError("the histogram is cut off");
        value += (byte & 127) * factor;
        if (byte < 128) return value;
      }
    };
    histogram.#zeros = next();
    for (let index = LOWEST; at < bytes.length; ) {
      index += next();
      if (index > HIGHEST) throw new RangeError("the histogram has a bucket that there is not");
      histogram.#add(index, next());
    }
    return histogram;
  }

  #add(index: number | undefined, count: number): void {
    if (index === undefined) this.#zeros += count;
    else this.#counts.set(index, (this.#counts.get(index) ?? 0) + count);
  }
}

function putVarint(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
}
