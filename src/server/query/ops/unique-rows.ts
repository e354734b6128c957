/** The promise of `unique_on`: no two rows of a result have the same values of some features. */

import { create } from "@bufbuild/protobuf";
import { ErrorCode, ExceptionInfoSchema } from "../../../../gen/svc/v1/error_pb.ts";
import { describeBare, type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import type { ResolverResult, RowError } from "../../python/pool.ts";
import { SqlError, type SqlType } from "../../sql/source.ts";
import type { ResolverInfo, ScalarInfo } from "../graph/index-types.ts";
import { columnCoercer } from "./column-values.ts";
import { keyTextOf } from "./key-text.ts";

/** The value that a result has of a feature in a row. */
type CellOf = (feature: ScalarInfo, row: number) => unknown;

/** Rows of a database's result. */
export interface ReadRows {
  readonly rows: number;
  readonly cellOf: CellOf;
  /** The column's type; undefined = it is not known. */
  readonly typeOf: (feature: ScalarInfo) => SqlType | undefined;
}

/**
 * The error of rows of a database, as it gave them; undefined when no two are alike in what the
 * resolver promises.
 * @param placeOf position of a feature's column; undefined or -1 = it has none
 */
export function repetitionInRows(
  resolver: ResolverInfo,
  { rows, types }: { readonly rows: readonly (readonly unknown[])[]; readonly types?: readonly (SqlType | undefined)[] | undefined },
  placeOf: (feature: ScalarInfo) => number | undefined,
): SqlError | undefined {
  const places = new Map(resolver.uniqueOn.map((feature) => [feature, placeOf(feature) ?? -1]));
  return repetition(resolver, {
    rows: rows.length,
    cellOf: (feature, row) => rows[row]?.[places.get(feature) ?? -1],
    typeOf: (feature) => types?.[places.get(feature) ?? -1],
  });
}

/** The same of a statement's rows whose cells are had in another way. */
export function repetition(resolver: ResolverInfo, { rows, typeOf, cellOf }: ReadRows): SqlError | undefined {
  const { uniqueOn } = resolver;
  if (uniqueOn.length === 0) return undefined;
  const types = uniqueOn.map(typeOf);
  const coercers = new Map(uniqueOn.map((feature, at) => [feature, columnCoercer(feature, types[at])]));
  const problem = repeatedRow(resolver, { from: 0, to: rows }, types, (feature, row) => {
    const value = cellOf(feature, row);
    return value === null || value === undefined ? null : coercers.get(feature)?.(value);
  });
  return problem === undefined ? undefined : new SqlError(problem);
}

/**
 * The result of a call, in which the rows of a Python function are alike in nothing that it
 * promises: a row of the call for which two are has an error.
 * @param isTable whether the function was called once for all rows of the call
 */
export function withUniqueRows(resolver: ResolverInfo, result: ResolverResult, rows: number, isTable: boolean): ResolverResult {
  const { groups } = result;
  if (resolver.uniqueOn.length === 0 || !groups) return result;
  const failed = new Set(result.errors.map(({ row }) => row));
  const cellOf: CellOf = (feature, row) => {
    const value = groups.columns[feature.fqn]?.[row];
    return value === null || value === undefined ? null : feature.strict(value);
  };
  const errors = groups.offsets.slice(1).flatMap((to, call): RowError[] => {
    if (failed.has(call)) return [];
    const problem = repeatedRow(resolver, { from: groups.offsets[call] as number, to }, [], cellOf);
    return problem === undefined ? [] : [repeatedError(resolver, call, problem)];
  });
  const [first] = errors;
  if (!first) return result;
  const all = isTable ? Array.from({ length: rows }, (_, row) => ({ ...first, row })) : errors;
  return { ...result, errors: [...result.errors, ...all].sort((a, b) => a.row - b.row) };
}

function repeatedError({ file, fqn, line }: ResolverInfo, row: number, message: string): RowError {
  const exception = create(ExceptionInfoSchema, { kind: "RepeatedRows", message, file, line });
  return { row, code: ErrorCode.RESOLVER_FAILED, message: `${fqn}: ${message}`, exception };
}

/** The first two rows that are alike, in words; undefined = no two are. */
function repeatedRow(
  { uniqueOn }: ResolverInfo,
  { from, to }: { readonly from: number; readonly to: number },
  types: readonly (SqlType | undefined)[],
  cellOf: CellOf,
): string | undefined {
  const textOf = keyTextOf(uniqueOn, types);
  const first = new Map<string, number>();
  for (let row = from; row < to; row++) {
    const key = keyOf(uniqueOn, row, cellOf);
    if (!key) continue;
    const text = textOf(key);
    const before = first.get(text);
    if (before !== undefined) {
      const shared = uniqueOn.map(({ fqn, personal }, at) => `${fqn} (${personal ? "pii, not shown" : describeBare(key[at])})`);
      return `rows ${before - from + 1} and ${row - from + 1} have the same ${shared.join(" and ")}, and unique_on says that no two rows do`;
    }
    first.set(text, row);
  }
  return undefined;
}

/** The values of a row; undefined = one is null, or does not fit its feature and fails itself. */
function keyOf(features: readonly ScalarInfo[], row: number, cellOf: CellOf): FeatureValue[] | undefined {
  try {
    const key = features.map((feature) => cellOf(feature, row) as FeatureValue);
    return key.includes(null) ? undefined : key;
  } catch (error) {
    if (error instanceof TypeMismatch) return undefined;
    throw error;
  }
}
