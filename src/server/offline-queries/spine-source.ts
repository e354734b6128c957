/** The rows of a query as they are read: columns and times in chunks, values as they were given. */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { StartOfflineQueryRequestSchema } from "../../../gen/svc/v1/offline_query_pb.ts";
import { type BulkInput, BulkInputSchema } from "../../../gen/svc/v1/query_pb.ts";
import { type DataType, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { didYouMean } from "../../domain/closest.ts";
import { microsToTimestamp, timestampToMicros } from "../../domain/proto-time.ts";
import { parseInstant } from "../../domain/timestamp.ts";
import { describeValue, type FeatureValue, primitiveOf } from "../../domain/value.ts";
import { Failure } from "../failure.ts";
import { inputFromProto, type RequestInput } from "../query/request/request.ts";
import type { OfflineRowsFormat } from "../stores/metadata/offline-queries.ts";
import type { TableColumn, TableEngine } from "../tables/engine.ts";
import { primitive } from "../tables/inferred-type.ts";
import { rowsOf } from "./wish.ts";

/** Rows that are read together. */
export const READ_ROWS = 10_000;
/** The column of times where none is named. */
const TIME_COLUMN = "ts";

/** Some rows, in columns. */
export interface SourceChunk {
  readonly rows: number;
  /** In the order of the names. */
  readonly columns: readonly ((row: number) => RequestInput)[];
  /** Microseconds since 1970; undefined = the rows have none of their own. */
  readonly time: ((row: number) => bigint) | undefined;
}

/** Rows. */
export interface SpineSource {
  /** Names of the columns of features. */
  readonly names: readonly string[];
  chunks(signal: AbortSignal): AsyncIterable<SourceChunk>;
}

/** Columns and times that came with a call, as bytes to be kept. */
export function encodeInline(columns: readonly BulkInput[], times: readonly bigint[]): Uint8Array {
  const inputs = columns.map((column) => create(BulkInputSchema, column));
  return toBinary(StartOfflineQueryRequestSchema, create(StartOfflineQueryRequestSchema, { inputs, times: times.map(microsToTimestamp) }));
}

/** Rows that came with a call, from the bytes that were kept. */
export function inlineSource(bytes: Uint8Array): SpineSource {
  const { inputs, times } = fromBinary(StartOfflineQueryRequestSchema, bytes);
  return columnsSource(inputs, times.map(timestampToMicros));
}

/** Rows that came with a call. */
export function columnsSource(inputs: readonly BulkInput[], times: readonly bigint[]): SpineSource {
  const rows = rowsOf(inputs, times);
  return {
    names: inputs.map(({ feature }) => feature),
    async *chunks() {
      for (let from = 0; from < rows; from += READ_ROWS)
        yield {
          rows: Math.min(rows - from, READ_ROWS),
          columns: inputs.map(({ feature, values }) => (row: number) => {
            return inputFromProto(feature, values[values.length === 1 ? 0 : from + row]?.value);
          }),
          time: times.length === 0 ? undefined : (row) => times[times.length === 1 ? 0 : from + row] as bigint,
        };
    },
  };
}

/** Rows that are keys of a class. */
export function keysSource(name: string, keys: readonly FeatureValue[]): SpineSource {
  return {
    names: [name],
    async *chunks() {
      for (let from = 0; from < keys.length; from += READ_ROWS)
        yield {
          rows: Math.min(keys.length - from, READ_ROWS),
          columns: [(row) => ({ name, form: "typed", value: keys[from + row] })],
          time: undefined,
        };
    },
  };
}

/**
 * Rows of a file on this machine.
 * @param timeColumn empty = `ts` where there is one
 * @throws Failure invalid_argument when it has no columns of features, or not that of times
 */
export async function fileSource(
  tables: TableEngine,
  path: string,
  { format, timeColumn, hasTime }: { readonly format: OfflineRowsFormat; readonly timeColumn: string; readonly hasTime: boolean },
): Promise<SpineSource> {
  const { columns } = await tables.describe(path, format);
  const there = columns.map(({ name }) => name);
  const wanted = timeColumn || (there.includes(TIME_COLUMN) ? TIME_COLUMN : "");
  if (wanted !== "" && !there.includes(wanted))
    throw invalid(
      `The rows have no column '${timeColumn}' of times.`,
      didYouMean(timeColumn, there) || `They have: ${there.slice(0, 20).join(", ")}.`,
    );
  if (hasTime && timeColumn !== "") throw invalid("The time of the rows is given twice: for all of them, and as a column.");
  const others = columns.filter(({ name }) => name !== wanted);
  if (others.length === 0) throw invalid("The rows have no columns of features.", "Name each column after its feature, such as `user.id`.");
  // Text is read as the features are; what a CSV file looks like says nothing of them.
  const read = [...others, ...columns.filter(({ name }) => name === wanted)].map((column) => (format === "csv" ? asText(column) : column));
  const form = format === "csv" ? "raw" : "typed";
  return {
    names: others.map(({ name }) => name),
    async *chunks(signal) {
      let before = 0;
      for await (const chunk of tables.read(path, { format, columns: read, chunkRows: READ_ROWS, signal })) {
        const start = before;
        yield {
          rows: chunk.rows,
          columns: others.map(({ name, dtype }, at) => {
            const values = chunk.columns[at] ?? [];
            return (row: number): RequestInput => ({
              name,
              form: values[row] === null ? "typed" : form,
              value: marked(values[row], dtype),
            });
          }),
          time: wanted === "" || hasTime ? undefined : (row) => instant(chunk.columns[others.length]?.[row] ?? null, wanted, start + row),
        };
        before += chunk.rows;
      }
    },
  };
}

/** A duration as the coercion of given values knows it from a number of seconds. */
function marked(value: FeatureValue | undefined, dtype: DataType): unknown {
  const isDuration = primitiveOf(dtype) === PrimitiveType.TIMEDELTA && (typeof value === "number" || typeof value === "bigint");
  return isDuration ? { $micros: value } : value;
}

function asText({ name }: TableColumn): TableColumn {
  return { name, dtype: primitive(PrimitiveType.STRING) };
}

/** The time of a row, whose number is from 0. Throws Failure invalid_argument. */
function instant(value: FeatureValue, column: string, row: number): bigint {
  const found = typeof value === "string" ? parseInstant(value) : undefined;
  if (!found) throw invalid(`Row ${row + 1}, column ${column}: expected a time such as 2024-05-01T12:00:00Z, got ${describeValue(value)}.`);
  if (!found.zoned)
    throw invalid(
      `Row ${row + 1}, column ${column}: the time ${JSON.stringify(value)} has no zone.`,
      "Write it with its zone, such as 2024-05-01T12:00:00Z.",
    );
  return found.micros;
}

function invalid(message: string, hint?: string): Failure {
  return new Failure("invalid_argument", message, hint === undefined ? {} : { hint });
}
