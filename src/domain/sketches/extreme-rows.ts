/**
 * The values of the rows with the greatest, or the least, keys. Of rows with equal keys those with
 * lesser values come first, so that the answer does not depend on the order of rows nor on the
 * grouping of merges.
 */

import { DamagedState } from "../expressions/state-bytes.ts";
import type { FeatureValue } from "../value.ts";
import { opened, readValue, SKETCH_KINDS, sealed, stateOf, writeValue } from "./sealed.ts";
import { compareAny } from "./total-order.ts";

/** Most rows. */
export const MAX_ROWS = 1000;

type Row = readonly [key: FeatureValue, value: FeatureValue];

/** Rows by their keys, so many of them. */
export class ExtremeRows {
  /** The first come first. */
  readonly #rows: Row[] = [];

  /**
   * @param sign 1 for the greatest keys, -1 for the least
   * @param most 1 to `MAX_ROWS`
   * @param compareKeys order of keys; by it equal keys may differ, such as decimals in their digits
   * @param compareValues total order of values
   */
  constructor(
    readonly sign: 1 | -1,
    readonly most: number,
    readonly compareKeys: (a: FeatureValue, b: FeatureValue) => number,
    readonly compareValues: (a: FeatureValue, b: FeatureValue) => number = compareAny,
  ) {}

  add(value: FeatureValue, key: FeatureValue): void {
    const row: Row = [key, value];
    const last = this.#rows[this.most - 1];
    if (last && this.#compare(row, last) >= 0) return;
    let [from, to] = [0, this.#rows.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#compare(row, this.#rows[middle] as Row) < 0) to = middle;
      else from = middle + 1;
    }
    this.#rows.splice(from, 0, row);
    if (this.#rows.length > this.most) this.#rows.pop();
  }

  /** Throws DamagedState. */
  merge(state: Uint8Array): void {
    const reader = opened(SKETCH_KINDS.extremeRows, state);
    const length = reader.count();
    if (length > MAX_ROWS) throw new DamagedState("a state has too many rows");
    const rows = Array.from({ length }, (): Row => [readValue(reader), readValue(reader)]);
    reader.end();
    for (const [key, value] of rows) this.add(value, key);
  }

  /** Throws EvaluationError when the values are too long to be kept. */
  encode(): Uint8Array {
    const writer = stateOf(SKETCH_KINDS.extremeRows);
    writer.natural(this.#rows.length);
    for (const row of this.#rows) for (const part of row) writeValue(writer, part);
    return sealed(writer);
  }

  /** The values, that of the most extreme key first. */
  result(): FeatureValue[] {
    return this.#rows.map(([, value]) => value);
  }

  #compare([key, value]: Row, [otherKey, otherValue]: Row): number {
    return -this.sign * this.compareKeys(key, otherKey) || this.compareValues(value, otherValue) || compareAny(key, otherKey);
  }
}
