/** Calls and results between the engine's values and a worker's frames. */

import { type FeatureValue, tagged, untagged } from "../../domain/value.ts";
import { type RaisedError, raised } from "./failures.ts";
import { encodeFrame, MAX_FRAME, type Message } from "./frames.ts";
import type { ResolverCall, ResolverResult, RowGroups } from "./pool.ts";

type Columns = Readonly<Record<string, readonly FeatureValue[]>>;

/**
 * The CALL frame. Throws RangeError when it is longer than a worker reads.
 * @param usesNow whether the resolver is told the query's time
 */
export function encodeCall(id: number, call: ResolverCall, usesNow: boolean): Buffer {
  const { queryContext, ...context } = call.context;
  const frame = encodeFrame({
    type: "CALL",
    id,
    resolver: call.resolver,
    rows: call.rows,
    columns: taggedColumns(call.columns),
    ...(call.groups && { groups: mapValues(call.groups, ({ offsets, columns }) => ({ offsets, columns: taggedColumns(columns) })) }),
    ...(call.tables && { tables: mapValues(call.tables, taggedColumns) }),
    now: usesNow ? call.now : [],
    context: { ...context, queryContext: tagged(queryContext as { [name: string]: FeatureValue }) },
  });
  if (frame.length > MAX_FRAME) throw new RangeError(`the inputs take ${frame.length} bytes; a call may have ${MAX_FRAME}`);
  return frame;
}

/** The result in a RESULT frame. Throws when a value in it looks like a tag but is none. */
export function decodeResult(call: ResolverCall, message: Message): ResolverResult {
  const columns = untaggedColumns(message.columns as Record<string, unknown[]>);
  const rows = message.groups as { offsets: number[]; columns: Record<string, unknown[]> } | undefined;
  const groups: RowGroups | undefined = rows && { offsets: rows.offsets, columns: untaggedColumns(rows.columns) };
  const errors = (message.errors as RaisedError[] | undefined) ?? [];
  return { columns, ...(groups && { groups }), errors: errors.map((error) => raised(call, error)), ranMs: Number(message.ranMs) };
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

/** Text, booleans, null and ordinary numbers are said as they are; a column of nothing else is not copied. */
function taggedColumns(columns: Columns): Record<string, readonly unknown[]> {
  return mapValues(columns, (values) => (values.every(isPlain) ? values : values.map(tagged)));
}

function isPlain(value: FeatureValue): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  return value === null || typeof value === "string" || typeof value === "boolean";
}

/** A column without objects is taken as it is. */
function untaggedColumns(columns: Readonly<Record<string, unknown[]>>): Record<string, FeatureValue[]> {
  return mapValues(columns, (values) =>
    values.every((value) => value === null || typeof value !== "object") ? (values as FeatureValue[]) : values.map(untagged),
  );
}
