/**
 * Quantiles of numbers: the numbers themselves as long as they are few, then counts in bins whose
 * width is a share of their bounds, so that the error is a share of the value.
 *
 * Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch with relative-error
 * guarantees" (2019), with the uniform collapse of Epicoco, Melle, Cafaro, Pulimeno, Morleo:
 * "UDDSketch: accurate tracking of quantiles in data streams" (2020). A bin is the first bits of a
 * number's IEEE 754 form: its exponent and some bits of its fraction. When more than `MAX_BINS`
 * have numbers, every bin takes one bit less, so that two become one.
 *
 * The state is a function of the numbers alone, whatever their order and the grouping of merges. Up
 * to `FEW` numbers quantiles are exact, and the least and the greatest always are. With `b` bits of
 * the fraction the error is at most 2^-(b + 1) of the value (for normal numbers): 0.1% while the
 * magnitudes of all numbers lie within a factor of 16, 0.4% within 2^16, 0.8% within 2^32, where
 * numbers of both signs have half of the bins each.
 */

import { DamagedState, type StateReader } from "../expressions/state-bytes.ts";
import { opened, SKETCH_KINDS, sealed, stateOf } from "./sealed.ts";

/** Most numbers that are kept as they are. */
export const FEW = 256;

/** Most bins with numbers. */
export const MAX_BINS = 2048;

/** Bits of the fraction in the finest bins. */
const FINEST_BITS = 9;
const EXPONENT_BITS = 11;
/** Bits of the upper word of a number that are not in the finest bins. */
const CUT_BITS = 20 - FINEST_BITS;
/** Times that the finest bins can be joined: then all of a sign are in one. */
const MAX_LEVEL = EXPONENT_BITS + FINEST_BITS;

/** The bin of Infinity, which is never counted there. */
const INFINITE_BIN = (2 ** EXPONENT_BITS - 1) * 2 ** FINEST_BITS;

const words = new DataView(new ArrayBuffer(8));

type Bins = Map<number, number>;

/** Numbers, for their quantiles. */
export class QuantileSketch {
  /** The numbers; undefined once they are more than `FEW`. NaN is not among them. */
  #few: number[] | undefined = [];
  #hasNaN = false;
  #count = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  /** How often the finest bins were joined in pairs. */
  #level = 0;
  #zeros = 0;
  /** Counts of -Infinity and of Infinity. */
  #infinite: [number, number] = [0, 0];
  /** Counts by bin, of negative numbers by the bin of the positive one. */
  #below: Bins = new Map();
  #above: Bins = new Map();

  add(given: number): void {
    if (Number.isNaN(given)) {
      this.#hasNaN = true;
      return;
    }
    const value = given === 0 ? 0 : given;
    this.#count += 1;
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
    if (this.#few) {
      this.#few.push(value);
      if (this.#few.length > FEW) this.#toBins();
    } else this.#put(value);
  }

  /** Throws DamagedState. */
  merge(state: Uint8Array): void {
    const reader = opened(SKETCH_KINDS.quantiles, state);
    const flags = reader.byte();
    if (flags > 3) throw new DamagedState("the flags of a state are none");
    const hasNaN = (flags & 2) !== 0;
    if ((flags & 1) === 0) {
      const length = reader.count();
      if (length > FEW) throw new DamagedState("a state has too many values");
      const values = Array.from({ length }, () => reader.float());
      reader.end();
      if (values.some(Number.isNaN)) throw new DamagedState("a number of a state is none");
      for (const value of values) this.add(value);
    } else this.#mergeBins(reader);
    this.#hasNaN ||= hasNaN;
  }

  encode(): Uint8Array {
    const writer = stateOf(SKETCH_KINDS.quantiles);
    writer.byte((this.#few ? 0 : 1) | (this.#hasNaN ? 2 : 0));
    if (this.#few) {
      writer.natural(this.#few.length);
      for (const value of this.#few.toSorted((a, b) => a - b)) writer.float(value);
      return sealed(writer);
    }
    writer.byte(this.#level);
    writer.float(this.#min);
    writer.float(this.#max);
    for (const count of [this.#zeros, ...this.#infinite]) writer.natural(count);
    for (const bins of [this.#below, this.#above]) {
      writer.natural(bins.size);
      let before = 0;
      for (const [bin, count] of [...bins].sort(([a], [b]) => a - b)) {
        writer.natural(bin - before);
        writer.natural(count);
        before = bin;
      }
    }
    return sealed(writer);
  }

  /**
   * The least number that at least a share `quantile` (0 to 1, as it is written in decimals) of all
   * numbers do not exceed; null of nothing, NaN when there is a NaN.
   */
  result(quantile: number): number | null {
    if (this.#hasNaN) return Number.NaN;
    if (this.#count === 0) return null;
    const rank = rankOf(quantile, this.#count);
    if (this.#few) return this.#few.toSorted((a, b) => a - b)[rank - 1] as number;
    if (rank === 1) return this.#min;
    if (rank === this.#count) return this.#max;
    return Math.min(this.#max, Math.max(this.#min, this.#atRank(rank)));
  }

  #atRank(rank: number): number {
    let left = rank - this.#infinite[0];
    if (left <= 0) return Number.NEGATIVE_INFINITY;
    for (const [bin, count] of [...this.#below].sort(([a], [b]) => b - a)) {
      left -= count;
      if (left <= 0) return -middleOf(bin, this.#level);
    }
    left -= this.#zeros;
    if (left <= 0) return 0;
    for (const [bin, count] of [...this.#above].sort(([a], [b]) => a - b)) {
      left -= count;
      if (left <= 0) return middleOf(bin, this.#level);
    }
    return Number.POSITIVE_INFINITY;
  }

  #mergeBins(reader: StateReader): void {
    const level = reader.byte();
    if (level > MAX_LEVEL) throw new DamagedState("the bins of a state are none");
    const [min, max] = [reader.float(), reader.float()];
    if (!(min <= max)) throw new DamagedState("the range of a state is none");
    const [zeros, lowest, highest] = [reader.count(), reader.count(), reader.count()];
    const [below, above] = [readBins(reader, level), readBins(reader, level)];
    reader.end();
    const count = zeros + lowest + highest + below.total + above.total;
    if (count <= FEW || below.bins.length + above.bins.length > MAX_BINS) throw new DamagedState("the counts of a state are none");
    this.#toBins();
    this.#count += count;
    this.#min = Math.min(this.#min, min);
    this.#max = Math.max(this.#max, max);
    this.#zeros += zeros;
    this.#infinite = [this.#infinite[0] + lowest, this.#infinite[1] + highest];
    this.#raise(level);
    for (const [own, { bins, counts }] of [
      [this.#below, below],
      [this.#above, above],
    ] as const)
      for (let at = 0; at < bins.length; at++) increase(own, (bins[at] as number) >> (this.#level - level), counts[at] as number);
    this.#fit();
  }

  #toBins(): void {
    const values = this.#few ?? [];
    this.#few = undefined;
    for (const value of values) this.#put(value);
  }

  #put(value: number): void {
    if (value === 0) this.#zeros += 1;
    else if (!Number.isFinite(value)) this.#infinite[value < 0 ? 0 : 1] += 1;
    else {
      increase(value < 0 ? this.#below : this.#above, binOf(Math.abs(value)) >> this.#level, 1);
      this.#fit();
    }
  }

  #fit(): void {
    while (this.#below.size + this.#above.size > MAX_BINS) this.#raise(this.#level + 1);
  }

  #raise(level: number): void {
    const joined = level - this.#level;
    if (joined <= 0) return;
    this.#below = coarser(this.#below, joined);
    this.#above = coarser(this.#above, joined);
    this.#level = level;
  }
}

/**
 * The rank, from 1 to `count`, of a quantile: exact for the decimals that the quantile is written
 * in.
 */
export function rankOf(quantile: number, count: number): number {
  const [, digits = "0", fraction = "", exponent = "0"] = /^(\d+)(?:\.(\d+))?(?:e(.+))?$/.exec(String(quantile)) ?? [];
  const scale = 10n ** BigInt(fraction.length - Number(exponent));
  const rank = (BigInt(digits + fraction) * BigInt(count) + scale - 1n) / scale;
  return Math.min(count, Math.max(1, Number(rank)));
}

/** The bins of a state with their counts, in ascending order. */
function readBins(
  reader: StateReader,
  level: number,
): { readonly bins: Int32Array; readonly counts: Float64Array; readonly total: number } {
  const size = reader.count();
  if (size > MAX_BINS) throw new DamagedState("a state has too many bins");
  const [bins, counts] = [new Int32Array(size), new Float64Array(size)];
  const last = (2 ** MAX_LEVEL - 1) >> level;
  let [bin, total] = [0, 0];
  for (let at = 0; at < size; at++) {
    const [step, count] = [reader.count(), reader.count()];
    bin += step;
    total += count;
    if ((at > 0 && step === 0) || count === 0 || bin > last) throw new DamagedState("a bin of a state is none");
    bins[at] = bin;
    counts[at] = count;
  }
  return { bins, counts, total };
}

function binOf(magnitude: number): number {
  words.setFloat64(0, magnitude);
  return words.getUint32(0) >>> CUT_BITS;
}

/** The middle of a bin, for all of its numbers. */
function middleOf(bin: number, level: number): number {
  const lower = numberAt(bin * 2 ** level);
  const upper = numberAt((bin + 1) * 2 ** level);
  return lower + (Math.min(upper, Number.MAX_VALUE) - lower) / 2;
}

/** The least number of one of the finest bins. */
function numberAt(bin: number): number {
  if (bin >= INFINITE_BIN) return Number.POSITIVE_INFINITY;
  words.setUint32(0, bin << CUT_BITS);
  words.setUint32(4, 0);
  return words.getFloat64(0);
}

function increase(bins: Bins, bin: number, count: number): void {
  bins.set(bin, (bins.get(bin) ?? 0) + count);
}

function coarser(bins: Bins, levels: number): Bins {
  const result: Bins = new Map();
  for (const [bin, count] of bins) increase(result, bin >> levels, count);
  return result;
}
