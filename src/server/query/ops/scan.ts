/** Lookup by key in the rows that a Python resolver returned. */

import { type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import type { ResultValue } from "../../python/pool.ts";
import type { ScalarInfo } from "../graph/index-types.ts";
import { keyTextOf } from "./key-text.ts";

/** The rows that a resolver returned, in columns. Indexes are built on first use. */
export class Scan {
  readonly #indexes = new Map<string, ScanIndex>();

  constructor(
    readonly columns: ReadonlyMap<ScalarInfo, readonly ResultValue[]>,
    readonly rows: number,
  ) {}

  /** Rows by the values of some features. */
  indexOf(keys: readonly ScalarInfo[]): ScanIndex {
    const name = keys.map((key) => key.fqn).join(" ");
    const known = this.#indexes.get(name);
    if (known) return known;
    const index = this.#build(keys);
    this.#indexes.set(name, index);
    return index;
  }

  #build(keys: readonly ScalarInfo[]): ScanIndex {
    const textOf = keyTextOf(keys);
    const found = new Map<string, number[]>();
    let broken: string | undefined;
    const columns = keys.map((key) => this.columns.get(key) ?? []);
    for (let row = 0; row < this.rows; row++) {
      const key = keyAt(keys, columns, row);
      if (key === null) continue;
      if (!Array.isArray(key)) {
        broken ??= `row ${row + 1} of its ${this.rows} has no key: ${key.reason}`;
        continue;
      }
      const text = textOf(key);
      const rows = found.get(text);
      if (rows) rows.push(row);
      else found.set(text, [row]);
    }
    return { find: (key) => found.get(textOf(key)) ?? [], broken };
  }
}

/** Rows by key. */
export interface ScanIndex {
  /**
   * Positions of a key's rows. A row with null in a key that is no primary key has no owner.
   */
  find(key: FeatureValue[]): readonly number[];
  /**
   * The reason, as text, why the first row without a key has none; undefined = every row has a key.
   */
  readonly broken: string | undefined;
}

/** The key of a row; null when the row has no owner, a text with the reason when it is invalid. */
function keyAt(
  keys: readonly ScalarInfo[],
  columns: readonly (readonly ResultValue[])[],
  row: number,
): FeatureValue[] | null | { readonly reason: string } {
  const values: FeatureValue[] = [];
  for (const [position, key] of keys.entries()) {
    const value = columns[position]?.[row] ?? null;
    if (value === null) return key.primary ? { reason: `${key.fqn} is null` } : null;
    try {
      values.push(key.strict(value));
    } catch (error) {
      if (error instanceof TypeMismatch) return { reason: `${key.fqn}: ${error.message}` };
      throw error;
    }
  }
  return values;
}
