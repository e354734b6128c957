/** How the first rows of a dataset are shown. */

import type { PreviewDatasetResponse } from "../../../gen/svc/v1/dataset_pb.ts";
import { fromProtoValue } from "../../domain/proto-value.ts";
import { type FeatureValue, toPlainJson, typeName } from "../../domain/value.ts";
import { type Column, tableView, type View } from "../../output/view.ts";

/** The rows of a preview, whose columns are those of the dataset. */
export function previewView({ columns }: PreviewDatasetResponse): View<PreviewDatasetResponse> {
  const values = columns.map((column) => column.values.map((value) => fromProtoValue(value)));
  const typeOf = ({ dtype }: PreviewDatasetResponse["columns"][number]): string => (dtype ? typeName(dtype) : "");
  return tableView<PreviewDatasetResponse, number>({
    things: "rows",
    rows: ({ rows }) => Array.from({ length: rows }, (_, row) => row),
    long: true,
    columns: columns.map(
      (column, at): Column<number> => ({
        header: column.name,
        cell: (row) => cellText(values[at]?.[row] ?? null),
        ...(/^(int|float|Decimal)$/.test(typeOf(column)) && { align: "right" as const }),
        style: (shown, style, row) => ((values[at]?.[row] ?? null) === null ? style.dim(shown) : shown),
      }),
    ),
    json: ({ hiddenColumns, revisionId, rows, truncated }) => ({
      revision_id: revisionId,
      columns: columns.map((column) => ({ name: column.name, type: typeOf(column) })),
      rows: Array.from({ length: rows }, (_, row) =>
        Object.fromEntries(
          columns.map(({ dtype, name }, at) => [name, toPlainJson(values[at]?.[row] ?? null, dtype, { largeNumbers: true })]),
        ),
      ),
      hidden_columns: hiddenColumns,
      truncated,
    }),
  });
}

function cellText(value: FeatureValue): string {
  if (typeof value === "string") return value;
  return typeof value === "object" ? JSON.stringify(toPlainJson(value, undefined, { largeNumbers: true })) : String(value);
}
