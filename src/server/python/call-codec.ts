/** Conversion of calls and results between the engine's values and a worker's frames. */

import { CheckedValue } from "../../domain/validations.ts";
import { type FeatureValue, tagged, untagged } from "../../domain/value.ts";
import { type RaisedError, raised } from "./failures.ts";
import { encodeFrame, MAX_FRAME, type Message } from "./frames.ts";
import type { ModelUsage, ResolverCall, ResolverResult, ResultGroups, ResultValue, ReturnedStatement } from "./pool.ts";

type Columns = Readonly<Record<string, readonly FeatureValue[]>>;
/** A column on the wire: its values, or the index of its block. */
type WireColumn = readonly unknown[] | { readonly block: number };

/**
 * Shortest column that is sent as a block; JSON is no slower for shorter ones.
 * `svc/_worker/blocks.py` has the same bound.
 */
const SHORTEST_BLOCK = 256;

/**
 * The CALL frame. Throws RangeError when it is longer than `MAX_FRAME`.
 * @param usesNow whether the resolver takes the query's time
 */
export function encodeCall(id: number, call: ResolverCall, usesNow: boolean): Buffer {
  const { queryContext, ...context } = call.context;
  const blocks: Float64Array[] = [];
  const wire = (columns: Columns) => mapValues(columns, (values) => wireColumn(values, blocks));
  const message = {
    type: "CALL",
    id,
    resolver: call.resolver,
    rows: call.rows,
    columns: wire(call.columns),
    ...(call.groups && { groups: mapValues(call.groups, ({ offsets, columns }) => ({ offsets, columns: wire(columns) })) }),
    ...(call.tables && { tables: mapValues(call.tables, wire) }),
    now: usesNow ? call.now : [],
    context: { ...context, queryContext: tagged(queryContext as { [name: string]: FeatureValue }) },
  };
  const frame = encodeFrame(message, blocks);
  if (frame.length > MAX_FRAME) throw new RangeError(`the inputs take ${frame.length} bytes; a call may have ${MAX_FRAME}`);
  return frame;
}

/** The result in a RESULT frame. Throws when a value has an invalid tag. */
export function decodeResult(call: ResolverCall, message: Message): ResolverResult {
  const read = (columns: unknown) => mapValues(columns as Record<string, WireColumn>, (column) => readColumn(column, message.blocks));
  const broken = (message.broken ?? {}) as NonNullable<ResolverResult["broken"]>;
  const checked = (columns: unknown): Record<string, readonly ResultValue[]> =>
    message.broken === undefined
      ? read(columns)
      : Object.fromEntries(Object.entries(read(columns)).map(([name, values]) => [name, withBroken(values, broken[name] ?? [])]));
  const columns = checked(message.columns);
  const rows = message.groups as { offsets: number[]; columns: unknown } | undefined;
  const groups: ResultGroups | undefined = rows && { offsets: rows.offsets, columns: checked(rows.columns) };
  const errors = (message.errors as RaisedError[] | undefined) ?? [];
  const skipped = message.skipped as number[] | undefined;
  const usage = message.usage as ModelUsage | undefined;
  return {
    columns,
    ...(usage && { usage }),
    ...(groups && { groups }),
    errors: errors.map((error) => raised(call, error)),
    ...(skipped && { skipped }),
    ...(message.statements !== undefined && {
      statements: (message.statements as readonly object[]).map((one) => readStatement(call, one)),
    }),
    ...(message.broken !== undefined && { broken }),
    ...(message.counted !== undefined && { counted: message.counted as Record<string, number> }),
    ranMs: Number(message.ranMs),
  };
}

/** A statement that rows returned. Throws RangeError for rows that the call does not have. */
function readStatement(call: ResolverCall, given: object): ReturnedStatement {
  const { values, ...statement } = given as Omit<ReturnedStatement, "values"> & { readonly values: readonly (readonly unknown[])[] };
  const isKnown = (row: unknown) => Number.isInteger(row) && (row as number) >= 0 && (row as number) < call.rows;
  if (!statement.rows.every(isKnown)) throw new RangeError("the frame has a statement of a row that the call does not have");
  return { ...statement, values: values.map((row) => row.map(untagged)) };
}

/** A column whose values say which of them break a check. */
function withBroken(values: readonly FeatureValue[], broken: readonly (readonly [row: number, rule: string])[]): readonly ResultValue[] {
  const marked: ResultValue[] = [...values];
  for (const [row, rule] of broken) marked[row] = new CheckedValue(values[row] ?? null, rule);
  return marked;
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

/**
 * The wire form of a column: a long one of numbers alone becomes a block; one of text, booleans,
 * null and ordinary numbers is not copied; others are tagged.
 */
function wireColumn(values: readonly FeatureValue[], blocks: Float64Array[]): WireColumn {
  if (values.length >= SHORTEST_BLOCK && values.every((value) => typeof value === "number")) {
    blocks.push(Float64Array.from(values as readonly number[]));
    return { block: blocks.length - 1 };
  }
  return values.every(isPlain) ? values : values.map(tagged);
}

function isPlain(value: FeatureValue): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  return value === null || typeof value === "string" || typeof value === "boolean";
}

/** The values of a wire column; one without objects is not copied. */
function readColumn(column: WireColumn, blocks: Message["blocks"]): readonly FeatureValue[] {
  if ("block" in column) {
    const block = blocks?.[column.block];
    if (!block) throw new RangeError(`the frame has no block ${column.block}`);
    return Array.from(block);
  }
  return column.every((value) => value === null || typeof value !== "object") ? (column as FeatureValue[]) : column.map(untagged);
}
