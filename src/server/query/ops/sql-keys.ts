/**
 * Looking up rows of SQL queries by key. Rows that a database returns for keys are compared with
 * the keys again, by the types of the features: because of collations, trailing blanks and
 * conversions it may return rows of other keys.
 */

import { type Coercer, describeBare, encodeStored, type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import type { SqlSource, SqlType } from "../../sql/source.ts";
import type { ScalarInfo, SqlInfo } from "../graph/index-types.ts";
import type { RunContext } from "../run/run.ts";
import { columnCoercer } from "./column-values.ts";
import { keyTextOf } from "./key-text.ts";
import { eachOf, runStatement } from "./run-statement.ts";
import { ForeignRow, relocate, SqlRefusal } from "./sql-refusal.ts";
import { MAX_KEYS, paddedCount, placeValues, type ScanStatement } from "./sql-statement.ts";

/** The parameters of a lookup of keys. */
export interface KeyLookup {
  readonly sql: SqlInfo;
  readonly source: SqlSource;
  readonly statement: ScanStatement;
  /** The features of a key: the first columns of the statement. */
  readonly keys: readonly ScalarInfo[];
  /** The values of the statement's further condition; undefined = it has none. */
  readonly filterValues: readonly FeatureValue[] | undefined;
  /** The value of each `${now}`: a canonical datetime. */
  readonly nowText: string;
  readonly context: RunContext;
  readonly signal: AbortSignal;
}

/** The rows of some keys. */
export interface KeyedRows {
  /** In the statement's columns. */
  readonly rows: readonly (readonly unknown[])[];
  /** Of the statement's columns. */
  readonly types: readonly (SqlType | undefined)[];
  /** For each key its rows, by position; or the error, for `sqlFailure`. */
  readonly groups: readonly (readonly number[] | Error)[];
}

interface RequestedKey {
  /** The same for the same values. */
  readonly id: string;
  readonly key: FeatureValue[];
}

/**
 * Looks up keys; those with null have no rows. A key that the database refuses, or for which it
 * returns a row without a key of the type, fails alone: a statement with several keys is then
 * split. Rejects when the statement itself is refused, and with a further condition on any refusal.
 */
export async function rowsByKey(lookup: KeyLookup, keys: readonly FeatureValue[][]): Promise<KeyedRows> {
  const { sql, source, statement, filterValues, nowText, context, signal } = lookup;
  const ids = keys.map((key) => (key.includes(null) ? undefined : encodeStored(key)));
  const distinct = new Map<string, RequestedKey>();
  for (const [at, id] of ids.entries()) if (id !== undefined) distinct.set(id, { id, key: keys[at] as FeatureValue[] });
  const all = [...distinct.values()];
  const times = placeValues(sql, nowText, context.since);
  const rows: (readonly unknown[])[] = [];
  const groups = new Map<string, number[]>();
  const refused = new Map<string, Error>();
  let types: KeyedRows["types"] = [];

  const read = async (requested: readonly RequestedKey[]): Promise<void> => {
    const count = paddedCount(requested.length);
    const padded = Array.from({ length: count }, (_, at) => (requested[at] ?? (requested[0] as RequestedKey)).key);
    const text = statement.text(count);
    try {
      const result = await runStatement(context, source, text, [...times, ...padded.flat(), ...(filterValues ?? [])], signal).catch(
        (error: unknown) => relocate(error, sql, { text, linesBefore: statement.linesBefore, parameterName: statement.parameterName }),
      );
      types = result.types ?? types;
      const found = idsOf(lookup.keys, requested, result.rows, types);
      for (const { id } of requested) groups.set(id, []);
      for (const [at, ids] of found.entries()) {
        if (ids.length === 0) continue;
        const position = rows.push(result.rows[at] as readonly unknown[]) - 1;
        for (const id of ids) groups.get(id)?.push(position);
      }
    } catch (error) {
      const isOfKeys =
        error instanceof ForeignRow || (error instanceof SqlRefusal && error.fault === "parameter" && filterValues === undefined);
      if (!isOfKeys) throw error;
      const half = requested.length >> 1;
      if (half === 0) refused.set((requested[0] as RequestedKey).id, error);
      else for (const part of [requested.slice(0, half), requested.slice(half)]) await read(part);
    }
  };
  const chunks = Array.from({ length: Math.ceil(all.length / MAX_KEYS) }, (_, i) => all.slice(i * MAX_KEYS, (i + 1) * MAX_KEYS));
  await eachOf(chunks, read);
  return { rows, types, groups: ids.map((id = "") => refused.get(id) ?? groups.get(id) ?? []) };
}

/**
 * For each row the ids of the keys that are equal to its own. Throws ForeignRow for a row that has
 * no key of the type.
 */
function idsOf(
  keys: readonly ScalarInfo[],
  requested: readonly RequestedKey[],
  rows: readonly (readonly unknown[])[],
  types: KeyedRows["types"],
): (readonly string[])[] {
  const textOf = keyTextOf(keys, types);
  const coercers = keys.map((feature, position) => columnCoercer(feature, types[position]));
  const byText = new Map<string, string[]>();
  for (const { id, key } of requested) {
    const text = textOf(key);
    const known = byText.get(text);
    if (known) known.push(id);
    else byText.set(text, [id]);
  }
  const find = (row: readonly unknown[]): readonly string[] => byText.get(textOf(keyOf(keys, coercers, row, requested))) ?? NO_IDS;
  if (keys.length > 1) return rows.map(find);
  // Rows of a relation mostly have the key of the row before.
  const known = new Map<unknown, readonly string[]>();
  return rows.map((row) => {
    let ids = known.get(row[0]);
    if (ids === undefined) {
      ids = find(row);
      known.set(row[0], ids);
    }
    return ids;
  });
}

const NO_IDS: readonly string[] = [];

function keyOf(
  keys: readonly ScalarInfo[],
  coercers: readonly Coercer[],
  row: readonly unknown[],
  requested: readonly RequestedKey[],
): FeatureValue[] {
  return coercers.map((coerce, position) => {
    try {
      return coerce(row[position]);
    } catch (error) {
      if (!(error instanceof TypeMismatch)) throw error;
      const lookedFor = keys.map(({ fqn }, at) => `${fqn} = ${describeBare(requested[0]?.key[at])}`).join(" and ");
      throw new ForeignRow(keys[position] as ScalarInfo, error, lookedFor);
    }
  });
}
