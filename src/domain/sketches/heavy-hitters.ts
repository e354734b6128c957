/**
 * The most frequent values: all counts as long as the values are few, then those of the frequent
 * ones.
 *
 * Misra, Gries: "Finding repeated elements" (1982), in the mergeable form of Agarwal, Cormode,
 * Huang, Phillips, Wei, Yi: "Mergeable summaries" (2012), where it is shown to be the space-saving
 * algorithm of Metwally, Agrawal and El Abbadi (2005) but for a shift of all counts.
 *
 * A state of up to `MAX_KEPT` different values has all of them, whatever their order and grouping.
 * Of more it has the `COUNTERS` greatest counts, each of them too low by at most 1 / (COUNTERS + 1)
 * of all values, in whatever grouping states were merged: a value that is more frequent is never
 * missed. Which of nearly equal ones stay may then depend on the grouping. Values that are longer
 * than 60 bytes have fewer counters, at least `FEWEST_COUNTERS`.
 */

import { identity } from "../expressions/compare.ts";
import { DamagedState, MAX_STATE_BYTES } from "../expressions/state-bytes.ts";
import { encodeStored, type FeatureValue } from "../value.ts";
import { opened, readValue, SKETCH_KINDS, sealed, stateOf, writeValue } from "./sealed.ts";
import { compareAny } from "./total-order.ts";

/** Counters that stay when values become too many. */
export const COUNTERS = 512;

/** Counters that stay when values are so long that a state has no room for more. */
export const FEWEST_COUNTERS = 128;

/** Most different values of a state. */
export const MAX_KEPT = 2 * COUNTERS;

/** Most different values in memory while states are merged. */
const MAX_MERGED = 64 * COUNTERS;

interface Counter {
  readonly value: FeatureValue;
  count: number;
}

type Counters = ReadonlyMap<string, Counter>;

/** Values with how often each was added. */
export class HeavyHitters {
  #counters = new Map<string, Counter>();

  /** @param compare total order of values */
  constructor(readonly compare: (a: FeatureValue, b: FeatureValue) => number = compareAny) {}

  /** Counts a value; rows in memory are counted exactly, however many differ. */
  add(value: FeatureValue): void {
    this.#increase(value, 1);
  }

  /** Throws DamagedState. */
  merge(state: Uint8Array): void {
    const reader = opened(SKETCH_KINDS.heavyHitters, state);
    const size = reader.count();
    if (size > MAX_KEPT) throw new DamagedState("a state has too many values");
    const counters = Array.from({ length: size }, () => ({ count: reader.count(), value: readValue(reader) }));
    reader.end();
    if (counters.some(({ count }) => count === 0)) throw new DamagedState("a count of a state is none");
    for (const { count, value } of counters) this.#increase(value, count);
    if (this.#counters.size > MAX_MERGED) this.#counters = this.#reduced(this.#counters, COUNTERS);
  }

  /** Throws EvaluationError when the values are too long to be kept. */
  encode(): Uint8Array {
    const kept = this.#fitting();
    const writer = stateOf(SKETCH_KINDS.heavyHitters);
    writer.natural(kept.size);
    for (const { count, value } of this.#ranked(kept)) {
      writer.natural(count);
      writeValue(writer, value);
    }
    return sealed(writer);
  }

  /** At most so many values, the most frequent first, of equally frequent ones the least. */
  result(most: number): FeatureValue[] {
    return this.#ranked(this.#counters)
      .slice(0, most)
      .map(({ value }) => value);
  }

  #increase(value: FeatureValue, by: number): void {
    const key = identity(value);
    const counter = this.#counters.get(key);
    if (counter) counter.count += by;
    else this.#counters.set(key, { value: Object.is(value, -0) ? 0 : value, count: by });
  }

  #ranked(counters: Counters): Counter[] {
    return [...counters.values()].sort((a, b) => b.count - a.count || this.compare(a.value, b.value));
  }

  /** The counters that a state has room for. */
  #fitting(): Counters {
    let kept = this.#counters.size > MAX_KEPT ? this.#reduced(this.#counters, COUNTERS) : this.#counters;
    for (let most = COUNTERS; most >= FEWEST_COUNTERS && bytesOf(kept) > MAX_STATE_BYTES; most /= 2) kept = this.#reduced(kept, most);
    return kept;
  }

  /** The greatest counters, each less by the count of the greatest that does not stay. */
  #reduced(counters: Counters, most: number): Map<string, Counter> {
    const ordered = this.#ranked(counters);
    const lost = ordered[most]?.count ?? 0;
    const kept = ordered.filter(({ count }) => count > lost).map(({ value, count }) => ({ value, count: count - lost }));
    return new Map(kept.map((counter) => [identity(counter.value), counter]));
  }
}

/** The length of a state with the counters, or more. */
function bytesOf(counters: Counters): number {
  let bytes = 16;
  for (const { value } of counters.values()) bytes += new TextEncoder().encode(encodeStored(value)).length + 12;
  return bytes;
}
