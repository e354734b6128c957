/**
 * Rows of has-many relations in an answer: on a terminal as a table below that of the features,
 * elsewhere as JSON in the cell.
 */

import type { FeatureResult } from "../../../gen/svc/v1/query_pb.ts";
import type { StructValue, Value } from "../../../gen/svc/v1/value_pb.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { TableLayout } from "../../output/table.ts";
import type { Column, Style } from "../../output/view.ts";
import { valueText } from "./answer-view.ts";

/** Rows of one relation above which a terminal shows only the first ones and their number. */
const SHOWN_ROWS = 20;

function rowsOf(value: Value | undefined): StructValue[] {
  if (value?.kind.case !== "listValue") return [];
  return value.kind.value.values.flatMap(({ kind }) => (kind.case === "structValue" ? [kind.value] : []));
}

/** Whether a value is a list of rows. */
export function isRows(value: Value | undefined): boolean {
  return value?.kind.case === "listValue" && value.kind.value.values.length > 0 && rowsOf(value).length === value.kind.value.values.length;
}

/** The number of rows as text: `20 rows`. */
export function countText(value: Value | undefined): string {
  const { length } = rowsOf(value);
  return length === 1 ? "1 row" : `${length} rows`;
}

/**
 * A table for each relation of an answer, under its name; empty without relations or without a
 * terminal.
 */
export function relationTables(results: readonly FeatureResult[], style: Style): string {
  if (!style.isTTY) return "";
  return results
    .filter(({ value }) => isRows(value))
    .map(({ field, value }) => {
      const rows = rowsOf(value);
      const names = [...new Set(rows.flatMap(({ fields }) => fields.map(({ name }) => name)))];
      const columns = names.map(
        (name): Column<StructValue> => ({
          header: escapeControls(readableName(name)),
          flexible: true,
          cell: ({ fields }) => {
            const found = fields.find((one) => one.name === name)?.value;
            return isRows(found) ? countText(found) : valueText(found);
          },
        }),
      );
      const more = rows.length > SHOWN_ROWS ? style.dim(`... and ${rows.length - SHOWN_ROWS} more; a pipe or --json gets them all\n`) : "";
      const table = new TableLayout(columns, style).rows(rows.slice(0, SHOWN_ROWS));
      return `\n${style.bold(escapeControls(readableName(field)))}\n${table}${more}`;
    })
    .join("");
}
