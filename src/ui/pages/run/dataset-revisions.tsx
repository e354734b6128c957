import type { DatasetRevisionJson } from "../../../../gen/svc/v1/dataset_pb.ts";
import { href } from "../../app/place.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { Time } from "../../parts/time.tsx";
import { WindowTable } from "../../parts/window-table.tsx";
import { enumWord } from "./run-state.ts";
import { State } from "./state.tsx";

/** Revisions of a dataset, newest first; each is shown by its link. */
export function DatasetRevisions({ revisions, dataset }: { readonly revisions: readonly DatasetRevisionJson[]; readonly dataset: string }) {
  const link = (id: string) => href("dataset", { name: dataset }, { query: new URLSearchParams({ revision: id }) });
  return (
    <WindowTable
      label="Revisions"
      rows={revisions}
      keyOf={({ id = "" }) => id}
      columns={[
        {
          name: "number",
          title: "Revision",
          width: "21rem",
          cell: ({ id = "", number = 0 }) => (
            <a href={link(id)} class="name">
              {number} {id}
            </a>
          ),
        },
        { name: "state", title: "State", width: "8rem", cell: ({ state }) => <State of={state} prefix="DATASET_REVISION_STATE_" /> },
        { name: "origin", title: "Made by", width: "10rem", cell: ({ origin }) => enumWord(origin, "DATASET_ORIGIN_") },
        { name: "rows", title: "Rows", width: "7rem", isNumber: true, cell: ({ rows = "0" }) => rows },
        { name: "bytes", title: "Size", width: "7rem", isNumber: true, cell: ({ bytes = "0" }) => <Bytes count={Number(bytes)} /> },
        { name: "completed", title: "Completed", width: "9.5rem", cell: ({ completedAt }) => <Time at={completedAt} /> },
      ]}
    />
  );
}
