import type { DatasetColumnJson } from "../../../../gen/svc/v1/dataset_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { figureText } from "../../parts/figure-text.ts";
import { WindowTable } from "../../parts/window-table.tsx";

/** Columns with what their values are like. */
export function DatasetColumns({ columns, rows }: { readonly columns: readonly DatasetColumnJson[]; readonly rows: number }) {
  if (columns.length === 0) return <p class="dim">Its files are no tables.</p>;
  const isKnown = columns.some(({ statistics }) => statistics);
  return (
    <>
      {!isKnown && <p class="dim">What the values are like is known some seconds after the revision is complete.</p>}
      <WindowTable
        label="Columns"
        rows={columns}
        keyOf={({ name = "" }) => name}
        columns={[
          { name: "name", title: "Column", wraps: true, width: "14rem", cell: ({ name = "" }) => <code>{escapeControls(name)}</code> },
          { name: "type", title: "Type", wraps: true, width: "9rem", cell: ({ type = "" }) => <code>{escapeControls(type)}</code> },
          { name: "nulls", title: "Nulls", width: "6.5rem", isNumber: true, cell: ({ statistics }) => nullsText(statistics?.nulls, rows) },
          { name: "distinct", title: "Different", width: "6.5rem", isNumber: true, cell: ({ statistics }) => about(statistics?.distinct) },
          { name: "min", title: "Smallest", wraps: true, width: "10rem", cell: ({ statistics }) => escapeControls(statistics?.min ?? "") },
          { name: "max", title: "Largest", wraps: true, width: "10rem", cell: ({ statistics }) => escapeControls(statistics?.max ?? "") },
          {
            name: "mean",
            title: "Mean",
            width: "7rem",
            isNumber: true,
            cell: ({ statistics }) => (statistics?.mean === undefined ? "" : figureText(Number(statistics.mean))),
          },
        ]}
      />
    </>
  );
}

/** Nulls with their share of the rows. */
function nullsText(nulls: string | undefined, rows: number): string {
  if (nulls === undefined) return "0";
  return rows > 0 ? `${nulls} (${figureText((Number(nulls) / rows) * 100)} %)` : nulls;
}

function about(count: string | undefined): string {
  return count === undefined ? "" : `about ${figureText(Number(count))}`;
}
