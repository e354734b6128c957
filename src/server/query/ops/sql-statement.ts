/**
 * Statements of SQL resolvers: placeholders bound, keys pushed down, the user's body never
 * rewritten inside.
 */

import { SourceKind } from "../../../../gen/svc/v1/graph_pb.ts";
import { PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { dialectOfKind } from "../../../domain/sql/dialect.ts";
import { withoutTerminator } from "../../../domain/sql/statement.ts";
import { formatMicros } from "../../../domain/timestamp.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { SqlSource } from "../../sql/source.ts";
import type { ParameterInfo, ScalarInfo, SqlInfo } from "../graph/index-types.ts";

/** Most keys that one statement looks up. */
export const MAX_KEYS = 1_000;

/** A statement that reads some columns of a body's rows by key. */
export interface ScanStatement {
  /** The features of the result's columns: the keys first. */
  readonly features: readonly ScalarInfo[];
  /** Lines of the statement before the body's first. */
  readonly linesBefore: number;
  /**
   * The text for a number of keys; parameters are the time for each `${now}`, then the keys'
   * values, key after key.
   */
  text(keys: number): string;
  /** The name of the parameter at a position, from 0. */
  parameterName(position: number): string;
}

/**
 * Wraps a body that takes no features: `select <columns> from (<body>) q where q.<key> in (...)`.
 * Its `${now}` placeholders come first.
 * @param filter a further condition; its values come last
 */
export function scanStatement(
  sql: SqlInfo,
  source: Pick<SqlSource, "quote" | "placeholder">,
  keys: readonly ScalarInfo[],
  wanted: readonly ScalarInfo[],
  exactName: (column: string) => string,
  filter?: { text(from: number, key: string): string },
): ScanStatement {
  const features = [...keys, ...wanted];
  const column = (feature: ScalarInfo) => `q.${source.quote(exactName(sql.columns.get(feature.fqn) ?? feature.name))}`;
  const names = keys.map(column);
  const head = `select ${features.map(column).join(", ")} from (\n${boundStatement(sql, source)}\n) q where `;
  const texts = new Map<number, string>();
  return {
    features,
    linesBefore: 1,
    parameterName: (position) =>
      position < sql.places.length ? parameterName(sql, position) : (keys[(position - sql.places.length) % keys.length]?.fqn ?? ""),
    text(count) {
      let text = texts.get(count);
      if (text === undefined) {
        const key = condition(names, count, sql.sourceKind, (position) => placeholderOf(sql, source, keys, position));
        text = head + (filter ? filter.text(sql.places.length + keys.length * count + 1, key) : key);
        texts.set(count, text);
      }
      return text;
    },
  };
}

/** The placeholder of the n-th key value, 1-based; keys come after the body's own parameters. */
function placeholderOf(sql: SqlInfo, source: Pick<SqlSource, "placeholder">, keys: readonly ScalarInfo[], position: number): string {
  return source.placeholder(sql.places.length + position, formOf(keys[(position - 1) % keys.length]));
}

/** Floats are marked, so that a whole one is not taken for an integer. */
function formOf(feature: ScalarInfo | undefined): "float" | undefined {
  return feature?.dtype.kind.case === "primitive" && feature.dtype.kind.value === PrimitiveType.FLOAT64 ? "float" : undefined;
}

/** The same for a parameter of a body. */
function formOfParameter(parameter: ParameterInfo | undefined): "float" | undefined {
  return parameter?.constant?.isFloat ? "float" : formOf(parameter?.feature);
}

/** Keys of several columns are tuples: a chain of `or` would be deeper than databases take. */
function condition(names: readonly string[], count: number, kind: SourceKind, placeholder: (position: number) => string): string {
  const [only] = names;
  if (names.length === 1 && only !== undefined) {
    if (count === 1) return `${only} = ${placeholder(1)}`;
    return `${only} in (${Array.from({ length: count }, (_, i) => placeholder(i + 1)).join(", ")})`;
  }
  if (count === 1) return names.map((name, k) => `${name} = ${placeholder(k + 1)}`).join(" and ");
  const rows = Array.from({ length: count }, (_, i) => `(${names.map((_name, k) => placeholder(i * names.length + k + 1)).join(", ")})`);
  return `(${names.join(", ")}) in (${kind === SourceKind.SQLITE ? "values " : ""}${rows.join(", ")})`;
}

/** The number of keys a statement is written for: powers of two, so that few texts are prepared. */
export function paddedCount(keys: number): number {
  let count = 1;
  while (count < keys) count *= 2;
  return Math.min(count, MAX_KEYS);
}

/** A body with the placeholders of the source in place of `${...}`. */
export function boundStatement(sql: SqlInfo, source: Pick<SqlSource, "placeholder">): string {
  let text = "";
  let at = 0;
  for (const [position, place] of sql.places.entries()) {
    text += sql.body.slice(at, place.offset) + source.placeholder(position + 1, formOfParameter(sql.parameters[position]));
    at = place.offset + place.length;
  }
  return withoutTerminator(text + sql.body.slice(at), dialectOfKind(sql.sourceKind));
}

/**
 * The values of the placeholders of a body that takes no features: times and constants.
 * @param since the bound of an incremental run; undefined = the beginning of 1970
 */
export function placeValues({ parameters }: SqlInfo, now: string, since: string | undefined): readonly FeatureValue[] {
  return parameters.map(({ constant, incremental }) => (constant ? constant.value : incremental ? (since ?? formatMicros(0n)) : now));
}

/** The name of a bound body's parameter at a position, from 0. */
export function parameterName({ parameters }: SqlInfo, position: number): string {
  const parameter = parameters[position];
  return parameter?.now
    ? parameter.incremental || parameter.constant
      ? parameter.name
      : "now"
    : (parameter?.feature?.fqn ?? parameter?.name ?? "");
}

/** Letters that a name does not have where the database has folded it. */
const UNFOLDED: Readonly<Partial<Record<SourceKind, RegExp>>> = { [SourceKind.POSTGRESQL]: /[A-Z]/, [SourceKind.SNOWFLAKE]: /[a-z]/ };

/**
 * A function to the database's names of a body's columns; undefined = the declared names are used.
 * PostgreSQL and Snowflake fold unquoted names, so a name that is not as they fold it is looked up
 * once in the body's description; elsewhere names ignore case, or are as they are written.
 */
export function exactColumnNames(sql: SqlInfo, source: SqlSource): Promise<(column: string) => string> | undefined {
  const unfolded = UNFOLDED[sql.sourceKind];
  if (!unfolded || ![...sql.columns.values()].some((column) => unfolded.test(column))) return undefined;
  const { learned } = sql;
  if (!learned.exactName) {
    const exactName = source.describe(boundStatement(sql, source)).then((names) => {
      const exact = new Set(names);
      const folded = new Map(names.map((name) => [name.toLowerCase(), name]));
      return (column: string) => (exact.has(column) ? column : (folded.get(column.toLowerCase()) ?? column));
    });
    learned.exactName = exactName;
    exactName.catch(() => {
      learned.exactName = undefined;
    });
  }
  return learned.exactName;
}
