/**
 * Sketches of the values of a feature, which merge: log buckets of numbers, and the most frequent
 * of other values. They hold no row and no key, and take a few hundred bytes.
 */

import { ExponentialHistogram } from "./exponential-histogram.ts";

/** Most values that are kept with their counts. */
export const KEPT_VALUES = 20;
/** Longest value that is kept, in characters; longer ones are cut, and then count as one. */
const MAX_VALUE = 100;
/** Bins of a comparison: tenths of the reference. */
const BINS = 10;
/** Share that an empty bin counts as, so that its logarithm exists. */
const LEAST_SHARE = 1e-4;

/** Numbers by their sign and their power: those nearer to zero than 2^-30 count as zero. */
export class NumberSketch {
  readonly kind = "number";
  readonly #positive = new ExponentialHistogram();
  /** Of negative numbers, by what they are without the sign. */
  readonly #negative = new ExponentialHistogram();
  /** The least and the greatest number, which no quantile is beyond. */
  #least = Number.POSITIVE_INFINITY;
  #most = Number.NEGATIVE_INFINITY;

  /** Values that were counted. */
  get count(): number {
    return this.#positive.count + this.#negative.count;
  }

  /** Counts a number; one that is none is left out. */
  record(value: number): void {
    if (Number.isNaN(value)) return;
    this.#least = Math.min(this.#least, value);
    this.#most = Math.max(this.#most, value);
    if (value < 0) this.#negative.record(-value);
    else this.#positive.record(value);
  }

  /** Adds the counts of another. */
  merge(other: NumberSketch): void {
    this.#least = Math.min(this.#least, other.#least);
    this.#most = Math.max(this.#most, other.#most);
    this.#positive.merge(other.#positive);
    this.#negative.merge(other.#negative);
  }

  /** Buckets in the order of their values: those between two bounds, and how many they are. */
  buckets(): { readonly from: number; readonly to: number; readonly count: number }[] {
    const bound = ExponentialHistogram.upperBound;
    const negative = this.#negative.buckets().map(([index, count]) => ({ from: -bound(index), to: -bound(index - 1), count }));
    const zeros = this.#positive.zeros + this.#negative.zeros;
    return [
      ...negative.reverse(),
      ...(zeros > 0 ? [{ from: 0, to: 0, count: zeros }] : []),
      ...this.#positive.buckets().map(([index, count]) => ({ from: bound(index - 1), to: bound(index), count })),
    ];
  }

  /**
   * The value that a share of the values do not exceed, at most 9.1 % off, and exact at 0 and 1;
   * undefined when there are no values.
   * @param share 0 to 1
   */
  quantile(share: number): number | undefined {
    const rank = Math.max(share * this.count, Number.MIN_VALUE);
    let seen = 0;
    for (const { from, to, count } of this.buckets()) {
      if (seen + count >= rank) {
        const value = share >= 1 ? to : from + ((rank - seen) / count) * (to - from);
        return Math.min(Math.max(value, this.#least), this.#most);
      }
      seen += count;
    }
    return undefined;
  }

  /** As JSON, which `readSketch` reads. */
  toJSON(): SketchJson {
    const text = (histogram: ExponentialHistogram): string => histogram.encode().toBase64();
    const [least, most] = [this.#least, this.#most].map((bound) => (Number.isFinite(bound) ? bound : null)) as [
      number | null,
      number | null,
    ];
    return { kind: "number", positive: text(this.#positive), negative: text(this.#negative), least, most };
  }

  /** The sketch of what `toJSON` gave. Throws RangeError for others. */
  static of({ positive, negative, least, most }: Extract<SketchJson, { readonly kind: "number" }>): NumberSketch {
    const sketch = new NumberSketch();
    sketch.#positive.mergeEncoded(Uint8Array.fromBase64(positive));
    sketch.#negative.mergeEncoded(Uint8Array.fromBase64(negative));
    if (sketch.count > 0) [sketch.#least, sketch.#most] = [least ?? Number.NEGATIVE_INFINITY, most ?? Number.POSITIVE_INFINITY];
    return sketch;
  }
}

/**
 * The most frequent of values by the space-saving algorithm: a value that is new takes the place of
 * the rarest, and its count. Counts are never too low; of what is in more than a twentieth of the
 * values, nothing is missing.
 */
export class FrequentValues {
  readonly kind = "values";
  #counts = new Map<string, number>();
  #total = 0;

  /** Values that were counted. */
  get count(): number {
    return this.#total;
  }

  /** Counts a value. */
  record(value: string, times = 1): void {
    const key = value.slice(0, MAX_VALUE);
    this.#total += times;
    const known = this.#counts.get(key);
    if (known !== undefined || this.#counts.size < KEPT_VALUES) {
      this.#counts.set(key, (known ?? 0) + times);
      return;
    }
    const [rarest, least] = [...this.#counts].reduce((one, other) => (other[1] < one[1] ? other : one));
    this.#counts.delete(rarest);
    this.#counts.set(key, least + times);
  }

  /**
   * Adds the counts of another. What only one of them has may be among the values that the other
   * gave up, and gets the least of its counts.
   */
  merge(other: FrequentValues): void {
    const floor = (of: FrequentValues): number => (of.#counts.size < KEPT_VALUES ? 0 : Math.min(...of.#counts.values()));
    const [ownFloor, otherFloor] = [floor(this), floor(other)];
    const names = new Set([...this.#counts.keys(), ...other.#counts.keys()]);
    const sums = [...names].map((name): [string, number] => [
      name,
      (this.#counts.get(name) ?? ownFloor) + (other.#counts.get(name) ?? otherFloor),
    ]);
    this.#counts = new Map(sums.sort(byCount).slice(0, KEPT_VALUES));
    this.#total += other.#total;
  }

  /** Values with their counts, the most frequent first. */
  values(): (readonly [value: string, count: number])[] {
    return [...this.#counts].sort(byCount);
  }

  /** As JSON, which `readSketch` reads. */
  toJSON(): SketchJson {
    return { kind: "values", total: this.#total, values: this.values() };
  }

  /** The sketch of what `toJSON` gave. */
  static of({ total, values }: Extract<SketchJson, { readonly kind: "values" }>): FrequentValues {
    const sketch = new FrequentValues();
    sketch.#counts = new Map(values.slice(0, KEPT_VALUES));
    sketch.#total = total;
    return sketch;
  }
}

/** A sketch of either kind. */
export type ValueSketch = NumberSketch | FrequentValues;

/** A sketch as it is stored. */
export type SketchJson =
  | {
      readonly kind: "number";
      readonly positive: string;
      readonly negative: string;
      /** The least and the greatest number; null = not finite. */
      readonly least: number | null;
      readonly most: number | null;
    }
  | { readonly kind: "values"; readonly total: number; readonly values: readonly (readonly [value: string, count: number])[] };

/** The sketch that was stored. Throws RangeError, or SyntaxError, for what is none. */
export function readSketch(json: SketchJson): ValueSketch {
  return json.kind === "number" ? NumberSketch.of(json) : FrequentValues.of(json);
}

/**
 * The population stability index of values against a reference: the sum over bins of
 * (a - r) * ln(a / r), where a and r are the shares of the bin. Bins of numbers are the tenths of
 * the reference, those of other values its frequent ones and the rest. Undefined when either has no
 * values, or they are of two kinds.
 */
export function stabilityIndex(actual: ValueSketch, reference: ValueSketch): number | undefined {
  if (actual.count === 0 || reference.count === 0) return undefined;
  const shares =
    actual.kind === "number" && reference.kind === "number"
      ? numberShares(actual, reference)
      : actual.kind === "values" && reference.kind === "values"
        ? valueShares(actual, reference)
        : undefined;
  return shares?.reduce((sum, [a, r]) => {
    const [one, other] = [Math.max(a, LEAST_SHARE), Math.max(r, LEAST_SHARE)];
    return sum + (one - other) * Math.log(one / other);
  }, 0);
}

type Shares = readonly (readonly [actual: number, reference: number])[];

/** Shares of the bins, whose ends are those of buckets: no bucket is divided. */
function numberShares(actual: NumberSketch, reference: NumberSketch): Shares {
  const ends: number[] = [];
  let seen = 0;
  for (const { to, count } of reference.buckets()) {
    const before = Math.floor((seen * BINS) / reference.count);
    seen += count;
    if (Math.floor((seen * BINS) / reference.count) > before) ends.push(to);
  }
  const within = (sketch: NumberSketch): number[] => {
    const counts = new Array<number>(ends.length).fill(0);
    for (const { to, count } of sketch.buckets()) {
      const bin = Math.min(
        ends.findIndex((end, at) => to <= end || at === ends.length - 1),
        ends.length - 1,
      );
      counts[bin] = (counts[bin] as number) + count;
    }
    return counts.map((count) => count / sketch.count);
  };
  const [own, others] = [within(actual), within(reference)];
  return own.map((share, bin) => [share, others[bin] as number]);
}

function valueShares(actual: FrequentValues, reference: FrequentValues): Shares {
  const counts = new Map(actual.values());
  const bins = reference.values().map(([value, count]) => [(counts.get(value) ?? 0) / actual.count, count / reference.count] as const);
  const rest = (side: 0 | 1): number => Math.max(0, 1 - bins.reduce((sum, bin) => sum + bin[side], 0));
  return [...bins, [rest(0), rest(1)]];
}

function byCount([one, ones]: readonly [string, number], [other, others]: readonly [string, number]): number {
  return others - ones || (one < other ? -1 : 1);
}
