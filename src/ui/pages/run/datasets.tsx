import type { DatasetJson } from "../../../../gen/svc/v1/dataset_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { usePages } from "../../api/pages.ts";
import { useCommand } from "../../app/command.ts";
import { href, queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

const COLUMNS: readonly Column<DatasetJson>[] = [
  {
    name: "name",
    title: "Dataset",
    width: "22rem",
    cell: ({ id = "", name = "" }) => (
      <a href={href("dataset", { name: name || id }, { deployment: "" })} class="name">
        {escapeControls(name || id)}
      </a>
    ),
  },
  { name: "revisions", title: "Revisions", width: "7rem", isNumber: true, cell: ({ revisions = 0 }) => revisions },
  { name: "updated", title: "Latest revision", width: "11rem", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
  { name: "created", title: "Made", width: "11rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** The datasets of the environment, newest first. */
export default function Datasets() {
  const command = useCommand();
  const search = queried("q");
  const pages = usePages(
    "DatasetService/ListDatasets",
    { search },
    environmentScope.value,
    ({ datasets = [] }) => datasets,
    ({ id = "" }) => id,
  );
  return (
    <Page title="Datasets" command={command("dataset", "list", ...(search === "" ? [] : ["--search", search]))}>
      <SearchBox label="Search datasets" placeholder="a part of the name" value={search} onSearch={(q) => setQueried({ q })} />
      <Paged
        of={pages}
        things="datasets"
        empty={
          search === "" ? (
            <Empty command="svc dataset upload sales.parquet --name sales">
              There are none yet: offline queries make them, and files can be uploaded.
            </Empty>
          ) : (
            <Empty>No name has this in it.</Empty>
          )
        }
      >
        {(rows) => <WindowTable label="Datasets" columns={COLUMNS} rows={rows} keyOf={({ id = "" }) => id} />}
      </Paged>
    </Page>
  );
}
