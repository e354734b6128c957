/**
 * Comparisons of columns with values, in SQL. A comparison is true for every row whose value,
 * converted to the feature's type, satisfies it; it may be true for more rows where a database's
 * own rules are wider (collations, times as text). A comparison that could exclude a matching row
 * is not written in SQL.
 */

import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { formatMicros, parseInstant } from "../../domain/timestamp.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { type InstantSpan, OPERATOR_SYMBOLS, type TestOperator } from "../expressions/row-test.ts";

/**
 * The type of a column, as far as comparisons need it. `any`: each row's value may have a different
 * type, as in SQLite.
 */
export type ColumnType = "any" | "int" | "float" | "decimal" | "bool" | "text" | "date" | "timestamp" | "timestamptz";

/** A column, as comparisons need it. */
export interface ComparedColumn {
  /** Quoted. */
  readonly column: string;
  readonly type: ColumnType;
  /** The feature's type, of an enum its base. */
  readonly feature: PrimitiveType;
  /**
   * Whether null is a value of the feature, so that it satisfies no comparison. For other features
   * null means a default or an error, and the row is kept.
   */
  readonly nullable: boolean;
}

/** A comparison of a column. */
export interface ColumnComparison extends ComparedColumn {
  /** `in`: equal to one of the values; every other operator has one value. */
  readonly operator: TestOperator | "in";
  readonly values: readonly FeatureValue[];
}

/** Adds a parameter to the statement; returns its placeholder. */
export type AddParameter = (value: FeatureValue) => string;

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
/**
 * Relative tolerance of comparisons between decimals and floats, which databases round differently.
 */
const DECIMAL_SLACK = 1e-9;
const DAY_MS = 86_400_000;
const MINUTE_MICROS = 60_000_000n;
/** Dates whose year, and those of the adjacent days, have four digits. */
const PLAIN_DATE = /^(?!000[01]|9999)\d{4}-\d{2}-\d{2}/;
/** SQLite pattern of text that begins with a date. */
const DATE_GLOB = "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'";

/** The comparison in SQL; undefined when only the filter after reading can decide it. */
export function comparisonSql(kind: SourceKind, comparison: ColumnComparison, add: AddParameter): string | undefined {
  const values = comparison.values.map((value) => normalized(comparison.feature, value));
  if (!values.every((value) => value !== undefined)) return undefined;
  if (values.length === 0) return comparison.operator === "in" && comparison.nullable ? "1 = 0" : undefined;
  return WRITERS[kind]?.({ ...comparison, values }, add);
}

type Writer = (comparison: ColumnComparison, add: AddParameter) => string | undefined;

/**
 * Alternatives, of which a row with an instant in one of the times satisfies one; each is a range
 * of the column, which an index serves. Undefined when only the filter after reading can decide it.
 */
export function spansSql(
  kind: SourceKind,
  column: ComparedColumn,
  spans: readonly InstantSpan[],
  add: AddParameter,
): readonly string[] | undefined {
  const within = ({ from, until }: InstantSpan): string | undefined => {
    const texts = [from, until].map(formatMicros);
    if (!texts.every((text) => PLAIN_DATE.test(text))) return undefined;
    if (kind === SourceKind.SQLITE) return inSqliteSpan(column.column, from, until, add);
    const bound = (operator: TestOperator, value: FeatureValue) =>
      comparisonSql(kind, { ...column, nullable: true, operator, values: [value] }, add);
    const [start, end] = [bound("ge", texts[0] as string), bound("lt", texts[1] as string)];
    return start && end && `(${start} and ${end})`;
  };
  if (column.feature !== PrimitiveType.DATETIME) return undefined;
  const ranges = spans.map(within);
  if (!ranges.every((range) => range !== undefined)) return undefined;
  // Other types, and times after a blank: whatever does not begin with a digit.
  const others = kind === SourceKind.SQLITE ? [`${column.column} < '/'`, `${column.column} >= ':'`] : [];
  return [...ranges, ...others, ...(column.nullable ? [] : [`${column.column} is null`])];
}

/**
 * Times as text in SQLite: those of a day before and after, because zones differ by less than a
 * day, but for times in UTC of other minutes. The form that ends with `Z` is looked at first: it is
 * the usual one, and the index's rows of these days are many.
 */
function inSqliteSpan(column: string, from: bigint, until: bigint, add: AddParameter): string {
  const [first, last] = [formatMicros(from), formatMicros(until)];
  const after = formatMicros(until + MINUTE_MICROS);
  const minutes = (separator: string) => [first, after].map((text) => add(`${text.slice(0, 10)}${separator}${text.slice(11, 16)}`));
  const range = `${column} >= ${add(dayBeside(first, -1))} and ${column} < ${add(dayBeside(last, 2))}`;
  const [start, end] = minutes("T");
  const [plainStart, plainEnd] = minutes(" ");
  const isBeside = `case substr(${column}, 11, 1)
    when 'T' then ${column} < ${start} or ${column} >= ${end} when ' ' then ${column} < ${plainStart} or ${column} >= ${plainEnd} else 0 end
    and substr(${column}, 12) not glob '*[-+]*'`;
  return `(${range} and (${column} >= ${start} and ${column} < ${end} or ${column} not glob '??????????T*Z' and not (${isBeside})))`;
}

/**
 * A value in the form in which it is bound; undefined = not of the type, or not accepted by every
 * database.
 */
function normalized(type: PrimitiveType, value: FeatureValue): FeatureValue | undefined {
  switch (type) {
    case PrimitiveType.INT64: {
      if (typeof value === "number") return Number.isSafeInteger(value) ? value + 0 : undefined;
      return typeof value === "bigint" && value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
    }
    case PrimitiveType.FLOAT64:
      return typeof value === "number" && Number.isFinite(value) ? value : undefined;
    case PrimitiveType.BOOL:
      return typeof value === "boolean" ? value : undefined;
    case PrimitiveType.STRING:
      return typeof value === "string" && value.isWellFormed() && !value.includes("\0") ? value : undefined;
    case PrimitiveType.DATE:
    case PrimitiveType.DATETIME:
      return typeof value === "string" && PLAIN_DATE.test(value) ? value : undefined;
    default:
      return undefined;
  }
}

function isOrder(operator: ColumnComparison["operator"]): boolean {
  return operator !== "eq" && operator !== "ne" && operator !== "in";
}

/** `column = value`, `column in (value, value)`. */
function compared(column: string, operator: ColumnComparison["operator"], values: readonly string[]): string {
  return operator === "in" ? `${column} in (${values.join(", ")})` : `${column} ${OPERATOR_SYMBOLS[operator]} ${values[0]}`;
}

function letNullThrough(sql: string, { column, nullable }: ColumnComparison): string {
  return nullable ? sql : `(${sql} or ${column} is null)`;
}

/**
 * The comparison in SQLite. Rows with a value of another type than the expected one are kept, for
 * the filter to decide.
 */
function inSqlite(comparison: ColumnComparison, add: AddParameter): string | undefined {
  const { column, feature, nullable, operator, values } = comparison;
  const only = (type: string, sql: string) => `(typeof(${column}) not in (${nullable ? `'${type}', 'null'` : `'${type}'`}) or ${sql})`;
  switch (feature) {
    case PrimitiveType.INT64:
      return only("integer", compared(column, operator, values.map(add)));
    case PrimitiveType.BOOL:
      return isOrder(operator)
        ? undefined
        : only(
            "integer",
            compared(
              column,
              operator,
              values.map((value) => add(value === true ? 1 : 0)),
            ),
          );
    case PrimitiveType.FLOAT64:
      return only("real", compared(column, operator, values.map(add)));
    case PrimitiveType.STRING:
      return isOrder(operator) ? undefined : only("text", compared(`${column} collate binary`, operator, values.map(add)));
    case PrimitiveType.DATE:
    case PrimitiveType.DATETIME: {
      const days = byDay(operator, values as string[], `substr(${column}, 1, 10)`, add);
      return days && only("text", `${column} not glob ${DATE_GLOB} or ${days}`);
    }
    default:
      return undefined;
  }
}

/**
 * A comparison of times as text by their days, widened by a day on each bounded side because zones
 * differ by less than a day.
 */
function byDay(operator: ColumnComparison["operator"], values: readonly string[], day: string, add: AddParameter): string | undefined {
  const days = [...values].sort();
  const from = () => `${day} >= ${add(dayBeside(days[0] as string, -1))}`;
  const to = () => `${day} <= ${add(dayBeside(days.at(-1) as string, 1))}`;
  if (operator === "ne") return undefined;
  if (operator === "gt" || operator === "ge") return from();
  return operator === "lt" || operator === "le" ? to() : `(${from()} and ${to()})`;
}

function dayBeside(text: string, days: number): string {
  return new Date(Date.parse(`${text.slice(0, 10)}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/**
 * The comparison in PostgreSQL. Every parameter is text with a cast, so that its type does not
 * depend on its operands.
 */
function inPostgres(comparison: ColumnComparison, add: AddParameter): string | undefined {
  const { column, type, feature, operator, values } = comparison;
  const cast = (to: string, side = column) => {
    const placeholders = values.map((value) => `(${add(String(value))}::text)${to && `::${to}`}`);
    return letNullThrough(compared(side, operator, placeholders), comparison);
  };
  switch (feature) {
    case PrimitiveType.INT64:
      return type === "int" ? cast("int8") : undefined;
    case PrimitiveType.FLOAT64:
      if (type === "decimal") return withSlack(comparison, (value) => `(${add(String(value))}::text)::numeric`);
      return type === "int" || type === "float" ? cast("float8", `${column}::float8`) : undefined;
    case PrimitiveType.BOOL:
      return type === "bool" && !isOrder(operator) ? cast("boolean") : undefined;
    case PrimitiveType.STRING:
      if (type !== "text" || isOrder(operator)) return undefined;
      return cast("", operator === "ne" ? `${column} collate "C"` : column);
    case PrimitiveType.DATE:
      return type === "date" ? cast("date") : undefined;
    case PrimitiveType.DATETIME:
      return type === "timestamp" || type === "timestamptz" ? cast(type) : undefined;
    default:
      return undefined;
  }
}

/**
 * The comparison in MySQL. Text is compared by the column's collation, under which equal text is
 * equal, and other text may be.
 */
function inMysql(comparison: ColumnComparison, add: AddParameter): string | undefined {
  const { column, type, feature, operator, values } = comparison;
  const plain = (form: (placeholder: string) => string = (placeholder) => placeholder, bound = values) =>
    letNullThrough(
      compared(
        column,
        operator,
        bound.map((value) => form(add(value))),
      ),
      comparison,
    );
  const asFloat = (placeholder: string) => `(${placeholder} + 0e0)`;
  switch (feature) {
    case PrimitiveType.INT64:
      return type === "int" ? plain() : undefined;
    case PrimitiveType.FLOAT64:
      if (type === "decimal") return withSlack(comparison, (value) => asFloat(add(value)));
      return type === "float" ? plain(asFloat) : undefined;
    case PrimitiveType.BOOL:
      return type === "int" && !isOrder(operator)
        ? plain(
            undefined,
            values.map((value) => (value === true ? 1 : 0)),
          )
        : undefined;
    case PrimitiveType.STRING: {
      const isPlain = values.every((value) => /^[\x20-\x7e]*$/.test(value as string));
      return type === "text" && isPlain && (operator === "eq" || operator === "in") ? plain() : undefined;
    }
    case PrimitiveType.DATE:
      return type === "date" ? plain((placeholder) => `cast(${placeholder} as date)`) : undefined;
    case PrimitiveType.DATETIME:
      return type === "timestamp" || type === "timestamptz"
        ? plain(
            (placeholder) => `cast(${placeholder} as datetime(6))`,
            values.map((value) => String(value).replace("T", " ").replace("Z", "")),
          )
        : undefined;
    default:
      return undefined;
  }
}

/** How a database that is told each parameter's type casts, and what it does not match exactly. */
interface CastDialect {
  readonly float: (value: string) => string;
  readonly date: (placeholder: string) => string;
  /** Of columns of type `timestamp`, and of `timestamptz`. */
  readonly instant: Readonly<Record<"timestamp" | "timestamptz", (placeholder: string) => string>>;
  /** The text of an instant that the casts take. */
  readonly instantText: (text: string, type: "timestamp" | "timestamptz") => string;
  /** Microseconds by which instants may differ from what is read of them. */
  readonly slackMicros: bigint;
  /** Dates that the database has. */
  readonly dates: RegExp;
  /** Whether columns of text are compared by their bytes, whatever their collation. */
  readonly hasBytes: boolean;
  /** Texts that would be bound as something else. */
  readonly unlikeText?: RegExp;
}

const same = (text: string): string => text;
/** Dates that every database of these has. */
const COMMON_DATE = /^(?:19|2[012])\d\d-/;
const CLICKHOUSE: CastDialect = {
  float: (value) => `toFloat64(${value})`,
  date: (placeholder) => `toDate32(${placeholder})`,
  instant: { timestamp: same, timestamptz: same },
  instantText: same,
  slackMicros: 0n,
  dates: COMMON_DATE,
  hasBytes: true,
  unlikeText: /^\d{4}-\d{2}-\d{2}T/,
};
const DUCKDB: CastDialect = {
  float: (value) => `cast(${value} as double)`,
  date: (placeholder) => `try_cast(${placeholder} as date)`,
  instant: {
    timestamp: (placeholder) => `try_cast(${placeholder} as timestamp)`,
    timestamptz: (placeholder) => `try_cast(${placeholder} as timestamptz)`,
  },
  instantText: same,
  slackMicros: 0n,
  dates: PLAIN_DATE,
  hasBytes: false,
};
const SNOWFLAKE: CastDialect = {
  float: (value) => `cast(${value} as double)`,
  date: (placeholder) => `cast(${placeholder} as date)`,
  instant: {
    timestamp: (placeholder) => `cast(${placeholder} as timestamp_ntz)`,
    timestamptz: (placeholder) => `cast(${placeholder} as timestamp_tz)`,
  },
  instantText: (text, type) => (type === "timestamp" ? plainInstant(text) : `${plainInstant(text)} +00:00`),
  slackMicros: 1n,
  dates: COMMON_DATE,
  hasBytes: false,
};
const BIGQUERY: CastDialect = {
  float: (value) => `cast(${value} as float64)`,
  date: (placeholder) => `cast(${placeholder} as date)`,
  instant: {
    timestamp: (placeholder) => `cast(${placeholder} as datetime)`,
    timestamptz: (placeholder) => `cast(${placeholder} as timestamp)`,
  },
  instantText: (text, type) => (type === "timestamp" ? plainInstant(text) : `${plainInstant(text)}+00:00`),
  slackMicros: 0n,
  dates: COMMON_DATE,
  hasBytes: false,
};

const WRITERS: Readonly<Partial<Record<SourceKind, Writer>>> = {
  [SourceKind.SQLITE]: inSqlite,
  [SourceKind.POSTGRESQL]: inPostgres,
  [SourceKind.MYSQL]: inMysql,
  [SourceKind.CLICKHOUSE]: inCasts(CLICKHOUSE),
  [SourceKind.DUCKDB]: inCasts(DUCKDB),
  [SourceKind.SNOWFLAKE]: inCasts(SNOWFLAKE),
  [SourceKind.BIGQUERY]: inCasts(BIGQUERY),
};

/** `2024-05-01T12:00:00.000000Z` without its letters. */
function plainInstant(text: string): string {
  return text.replace("T", " ").replace("Z", "");
}

/** Comparisons in a database whose parameters have the types of their values. */
function inCasts(dialect: CastDialect): Writer {
  return (comparison, add) => {
    const { column, type, feature, operator, values } = comparison;
    const plain = (side: string, cast: (placeholder: string) => string, bound = values) => {
      const placeholders = bound.map((value) => cast(add(value)));
      return letNullThrough(compared(side, operator, placeholders), comparison);
    };
    switch (feature) {
      case PrimitiveType.INT64:
        return type === "int" ? plain(column, same) : undefined;
      case PrimitiveType.FLOAT64: {
        const asFloat = dialect.float(column);
        if (type === "decimal") return withSlack({ ...comparison, column: asFloat }, (value) => dialect.float(add(value)));
        return type === "int" || type === "float" ? plain(asFloat, dialect.float) : undefined;
      }
      case PrimitiveType.BOOL:
        return type === "bool" && !isOrder(operator) ? plain(column, same) : undefined;
      case PrimitiveType.STRING: {
        const isText = !values.some((value) => dialect.unlikeText?.test(value as string));
        const isExact = dialect.hasBytes || operator !== "ne";
        return type === "text" && isText && isExact && !isOrder(operator) ? plain(column, same) : undefined;
      }
      case PrimitiveType.DATE: {
        const isKnown = values.every((value) => dialect.dates.test(value as string));
        return type === "date" && isKnown ? plain(column, dialect.date) : undefined;
      }
      case PrimitiveType.DATETIME:
        if (type !== "timestamp" && type !== "timestamptz") return undefined;
        if (!values.every((value) => dialect.dates.test(value as string))) return undefined;
        return dialect.slackMicros === 0n
          ? plain(
              column,
              dialect.instant[type],
              values.map((value) => dialect.instantText(value as string, type)),
            )
          : aroundInstants(comparison, type, dialect, add);
      default:
        return undefined;
    }
  };
}

/** A comparison of instants, widened on each bounded side by what is not read of them. */
function aroundInstants(
  comparison: ColumnComparison,
  type: "timestamp" | "timestamptz",
  dialect: CastDialect,
  add: AddParameter,
): string | undefined {
  const { column, operator } = comparison;
  const all = (comparison.values as string[]).flatMap((text) => parseInstant(text)?.micros ?? []).sort((a, b) => (a < b ? -1 : 1));
  const [first, last] = [all[0], all.at(-1)];
  if (first === undefined || last === undefined || all.length < comparison.values.length || operator === "ne") return undefined;
  const at = (micros: bigint) => dialect.instant[type](add(dialect.instantText(formatMicros(micros), type)));
  const from = () => `${column} >= ${at(first - dialect.slackMicros)}`;
  const to = () => `${column} <= ${at(last + dialect.slackMicros)}`;
  if (operator === "gt" || operator === "ge") return letNullThrough(from(), comparison);
  return letNullThrough(operator === "lt" || operator === "le" ? to() : `(${from()} and ${to()})`, comparison);
}

/** A comparison of a decimal column with floats, widened by a tolerance. */
function withSlack(comparison: ColumnComparison, bind: (value: number) => string): string | undefined {
  const { column, operator, values } = comparison;
  const numbers = values as number[];
  const slack = (value: number) => Math.abs(value) * DECIMAL_SLACK + Number.MIN_VALUE;
  const from = () => `${column} >= ${bind(Math.min(...numbers.map((value) => value - slack(value))))}`;
  const to = () => `${column} <= ${bind(Math.max(...numbers.map((value) => value + slack(value))))}`;
  if (operator === "ne") return undefined;
  if (operator === "gt" || operator === "ge") return letNullThrough(from(), comparison);
  return letNullThrough(operator === "lt" || operator === "le" ? to() : `(${from()} and ${to()})`, comparison);
}
