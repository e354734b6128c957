/** `svc query --bulk`: many rows in one query, as tables and in the form of the JSON query API. */

import { ErrorCategory } from "../../../gen/svc/v1/error_pb.ts";
import type { BulkTable, QueryBulkResponse, TraceSpan } from "../../../gen/svc/v1/query_pb.ts";
import type { DataType, Value } from "../../../gen/svc/v1/value_pb.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { visibleLines } from "../../domain/visible.ts";
import { TableLayout } from "../../output/table.ts";
import { type Column, type Style, textView } from "../../output/view.ts";
import { waterfall } from "../trace/waterfall-view.ts";
import { errorJson, type FailureStyle, failureText, metaJson, type NameFormat, runLine, valuesJson, valueText } from "./answer-view.ts";
import type { GivenColumn } from "./bulk-flags.ts";
import { unrooted } from "./flags.ts";

/** An answer, and how to show it. */
export interface BulkAnswer {
  readonly kind: "bulk";
  readonly response: QueryBulkResponse;
  readonly given: readonly GivenColumn[];
  readonly translate: boolean;
  readonly includeMeta: boolean;
  /** Empty unless the query was traced. */
  readonly spans: readonly TraceSpan[];
}

/** One row of a table: its number, its cells, and which of the cells are stored values. */
interface Row {
  readonly number: number;
  readonly cells: readonly (Value | "failed" | undefined)[];
  readonly hits?: readonly boolean[];
}

/** The answer in the form of the JSON query API: a list of values per output. */
export function bulkJson({ response, translate, includeMeta, spans }: BulkAnswer): Record<string, unknown> {
  const name: NameFormat = translate ? readableName : (field) => field;
  const { columns, errors, meta, rows, tables } = response;
  const types = meta?.types ?? {};
  return {
    data: Object.fromEntries([
      ...columns.map(({ field, values }) => [name(field), valuesJson(values, types[field])]),
      ...tables.map((table) => [name(table.field), childrenJson(table, rows, types[table.field], name)]),
    ]),
    hits: includeMeta
      ? Object.fromEntries(columns.map(({ field, hits, values }) => [name(field), values.map((_, at) => hits[at] ?? false)]))
      : undefined,
    errors: errors.length > 0 ? errors.map(({ row, error }) => ({ row, ...(error ? errorJson(error, name) : {}) })) : undefined,
    meta: { rows, ...metaJson(response, name, spans) },
  };
}

function childrenJson({ columns, parents }: BulkTable, rows: number, type: DataType | undefined, name: NameFormat): unknown[][] {
  const lists: unknown[][] = Array.from({ length: rows }, () => []);
  const row = type?.kind.case === "list" ? type.kind.value.element : undefined;
  const types = new Map(row?.kind.case === "struct" ? row.kind.value.fields.map((field) => [field.name, field.dtype]) : []);
  const children = columns.map(({ field, values }) => [name(field), valuesJson(values, types.get(field))] as const);
  for (const [at, parent] of parents.entries())
    lists[parent]?.push(Object.fromEntries(children.map(([field, values]) => [field, values[at]])));
  return lists;
}

/**
 * The answer as tables: one for the rows, below their inputs, and one for the rows of each
 * relation.
 */
export const bulkView = textView<BulkAnswer>(({ given, response, spans }, style) => {
  const { columns, errors, explainOutput, meta, rows, tables } = response;
  const failed = new Set(errors.map(({ row, error }) => `${row} ${error?.feature}`));
  const refused = new Set(errors.flatMap(({ row, error }) => (error?.category === ErrorCategory.REQUEST ? row : [])));
  const parts: string[] = [];
  const answered = new Set(columns.map(({ field }) => readableName(field)));
  const keys = given.filter(({ feature }) => !answered.has(unrooted(feature)));
  const numbered = Array.from({ length: rows }, (_, number) => ({
    number,
    cells: columns.map(({ field, values }) =>
      refused.has(number) || failed.has(`${number} ${field}`) ? ("failed" as const) : values[number],
    ),
    hits: columns.map(({ hits }) => hits[number] ?? false),
  }));
  const names = columns.map(({ field }) => field);
  if (columns.length > 0 || tables.length === 0) parts.push(rowTable(keys, names, numbered, style));
  for (const { columns: children, field, parents } of tables) {
    const cells = parents.map((number, at) => ({ number, cells: children.map(({ values }) => values[at]) }));
    parts.push(
      `\n${style.bold(escapeControls(readableName(field)))}\n`,
      rowTable(
        given,
        children.map((child) => child.field),
        cells,
        style,
      ),
    );
  }
  return parts.join("") + runLine(meta, style) + visibleLines(explainOutput) + waterfall(spans, style);
}, bulkJson);

function rowTable(given: readonly GivenColumn[], names: readonly string[], rows: readonly Row[], style: Style): string {
  const columns: Column<Row>[] = [
    { header: "Row", align: "right", cell: ({ number }) => String(number) },
    ...given.map(({ feature, values }) => ({
      header: escapeControls(feature),
      cell: ({ number }: Row) => (values.length === 1 ? values[0] : values[number]) ?? "",
      style: (text: string, marks: Style) => marks.dim(text),
    })),
    ...names.map((name, at) => ({
      header: escapeControls(readableName(name)),
      flexible: true,
      cell: ({ cells, hits }: Row) =>
        cells[at] === "failed" ? "(failed)" : `${valueText(cells[at] as Value | undefined)}${hits?.[at] ? " ✓" : ""}`,
      style: (text: string, marks: Style, { cells, hits }: Row) =>
        cells[at] === "failed" ? marks.red(text) : hits?.[at] ? marks.green(text) : text,
    })),
  ];
  return new TableLayout<Row>(columns, style).rows(rows);
}

/** The failures, one line each; rows that failed for the same reason share a line. */
export function bulkFailureLines({ errors }: QueryBulkResponse, style: FailureStyle): string[] {
  const rowsOf = new Map<string, number[]>();
  for (const { error, row } of errors) {
    if (!error) continue;
    const failure = failureText(error, style);
    const text =
      error.feature && !failure.startsWith(error.feature) ? `${escapeControls(readableName(error.feature))}: ${failure}` : failure;
    const rows = rowsOf.get(text) ?? [];
    rows.push(row);
    rowsOf.set(text, rows);
  }
  return [...rowsOf].map(([text, rows]) => `${rows.length === 1 ? "row" : "rows"} ${listed(rows)}: ${text}`);
}

function listed(rows: readonly number[]): string {
  const shown = [...new Set(rows)].sort((left, right) => left - right);
  return shown.length > 5 ? `${shown.slice(0, 5).join(", ")} and ${shown.length - 5} more` : shown.join(", ");
}
