/** The columns of a query's files: the rows that are asked about, and the answer. */

import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { ComputedSpine, SpineRun } from "../query/spine/spine-run.ts";
import type { OfflineQueryRecord } from "../stores/metadata/offline-queries.ts";
import type { TableColumn } from "../tables/engine.ts";
import { primitive } from "../tables/inferred-type.ts";
import { isTestKey, keyText, SPLIT_COLUMN } from "./division.ts";
import { OBSERVED_AT_COLUMN, TIME_COLUMN } from "./spine-plan.ts";

/** What a column of the answer has of a row. */
export type Has =
  /** A value that was given, by the position of its input. */
  | { readonly has: "given"; readonly input: number }
  /** An output's value, or the time of its observation, by the output's position. */
  | { readonly has: "value" | "observed"; readonly output: number }
  /** The row's time, the newest of its observations' times, and whether it is for tests. */
  | { readonly has: "time" | "newest" | "part" };

/** A column of the answer. */
export type LayoutColumn = TableColumn & Has;

/** Rows as they were computed. */
export interface DoneRows {
  readonly times: readonly bigint[];
  readonly given: readonly (readonly FeatureValue[])[];
  readonly computed: ComputedSpine;
}

/** The type of columns of times. */
export const DATETIME = primitive(PrimitiveType.DATETIME);
/** The type of columns of words. */
export const TEXT = primitive(PrimitiveType.STRING);

/** The columns of the file with the rows. */
export function givenColumns(run: SpineRun): readonly TableColumn[] {
  return [{ name: TIME_COLUMN, dtype: DATETIME }, ...run.inputs.map(({ path, feature }) => ({ name: path, dtype: feature.dtype }))];
}

/** The columns of the answer: what was given, the outputs, times, and the part of a row. */
export function layoutOf(run: SpineRun, { request }: OfflineQueryRecord): readonly LayoutColumn[] {
  const outputs = new Set(run.outputs.map(({ path }) => path));
  return [
    ...run.inputs.flatMap(({ path, feature }, input): LayoutColumn[] =>
      outputs.has(path) ? [] : [{ name: path, dtype: feature.dtype, has: "given", input }],
    ),
    ...run.outputs.flatMap(({ path, dtype }, output): LayoutColumn[] => [
      { name: path, dtype, has: "value", output },
      ...(request.includeObservedAt ? [{ name: observedName(path), dtype: DATETIME, has: "observed" as const, output }] : []),
    ]),
    { name: TIME_COLUMN, dtype: DATETIME, has: "time" },
    { name: OBSERVED_AT_COLUMN, dtype: DATETIME, has: "newest" },
    ...(request.testFraction > 0 ? [{ name: SPLIT_COLUMN, dtype: TEXT, has: "part" as const }] : []),
  ];
}

/** The name of the column with the times of an output's observations. */
export function observedName(path: string): string {
  return `${path}.${OBSERVED_AT_COLUMN}`;
}

/** Some of the computed rows, by their positions, as columns of a layout. */
export function laidOut(
  layout: readonly LayoutColumn[],
  run: SpineRun,
  { request, splitAt }: OfflineQueryRecord,
  { times, given, computed }: DoneRows,
  rows: readonly number[],
): readonly (readonly FeatureValue[])[] {
  const cellOf = (column: LayoutColumn): ((row: number) => FeatureValue) => {
    switch (column.has) {
      case "given":
        return (row) => given[column.input]?.[row] ?? null;
      case "value":
        return (row) => computed.columns[column.output]?.values[row] ?? null;
      case "observed":
        return (row) => timeOf(computed.columns[column.output]?.observedAt[row] ?? Number.NaN);
      case "time":
        return (row) => formatMicros(times[row] as bigint);
      case "newest":
        return (row) => timeOf(newestOf(computed, row));
      case "part":
        return (row) => {
          const isTest =
            request.splitBy === "time"
              ? Number(times[row]) / 1000 >= (splitAt ?? Number.POSITIVE_INFINITY)
              : isTestKey(request.testFraction, rowKey(run, given, row));
          return isTest ? "test" : "train";
        };
    }
  };
  return layout.map((column) => rows.map(cellOf(column)));
}

/** The key of a row as text: that of its key columns, or where there is none of all. */
export function rowKey(run: SpineRun, values: readonly (readonly FeatureValue[])[], row: number): string {
  const keys = run.inputs.flatMap(({ isKey }, at) => (isKey ? [values[at]?.[row] ?? null] : []));
  return keys.length > 0 ? keyText(keys) : JSON.stringify(values.map((column) => String(column[row])));
}

function timeOf(ms: number): FeatureValue {
  return Number.isNaN(ms) ? null : formatMicros(BigInt(Math.round(ms * 1000)));
}

/** Epoch milliseconds; NaN where nothing was observed. */
function newestOf({ columns }: ComputedSpine, row: number): number {
  let newest = Number.NaN;
  for (const { observedAt } of columns) {
    const at = observedAt[row] as number;
    if (!(newest >= at) && !Number.isNaN(at)) newest = at;
  }
  return newest;
}
