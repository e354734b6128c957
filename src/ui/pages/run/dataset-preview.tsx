import { useMemo } from "preact/hooks";
import type { PreviewDatasetResponseJson } from "../../../../gen/svc/v1/dataset_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Loading } from "../../parts/loading.tsx";
import { plainOf } from "../../parts/proto-value.ts";
import { Value } from "../../parts/values.tsx";
import { WindowTable } from "../../parts/window-table.tsx";

/** Numbers of rows that one can ask for. */
const COUNTS = ["20", "100", "1000"];

/** The first rows of a revision. */
export function DatasetPreview({ revision }: { readonly revision: string }) {
  const count = COUNTS.find((one) => one === queried("rows")) ?? "20";
  const answer = useAnswer("DatasetService/PreviewDataset", { dataset: revision, rows: Number(count) }, environmentScope.value);
  return (
    <>
      <label>
        Rows{" "}
        <select
          value={count}
          onChange={({ currentTarget }) => setQueried({ rows: currentTarget.value === "20" ? "" : currentTarget.value })}
        >
          {COUNTS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <Loading of={answer} lines={8}>
        {(preview) => <Rows preview={preview} />}
      </Loading>
    </>
  );
}

function Rows({ preview }: { readonly preview: PreviewDatasetResponseJson }) {
  const { columns = [], hiddenColumns = [], rows = 0, truncated } = preview;
  const shown = useMemo(
    () =>
      columns.map(({ name = "", values = [] }) => ({
        name,
        title: escapeControls(name),
        width: "14rem",
        cell: (row: number) => <Value value={plainOf(values[row])} />,
      })),
    [columns],
  );
  return (
    <>
      {hiddenColumns.length > 0 && (
        <p class="dim">Left out, because they hold features that are tagged pii: {hiddenColumns.map(escapeControls).join(", ")}</p>
      )}
      {rows === 0 ? (
        <p class="dim">It has no rows.</p>
      ) : (
        <WindowTable label="First rows" columns={shown} rows={Array.from({ length: rows }, (_, row) => row)} keyOf={String} />
      )}
      <p role="status" class="dim">{`${rows} ${rows === 1 ? "row" : "rows"}${truncated ? ": more would be too large to show" : ""}`}</p>
    </>
  );
}
