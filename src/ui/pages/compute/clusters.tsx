import type { ClusterJson } from "../../../../gen/svc/v1/cluster_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

const COLUMNS: readonly Column<ClusterJson>[] = [
  {
    name: "name",
    title: "Cluster",
    width: "20rem",
    cell: ({ id = "", name = "" }) => (
      <a class="name" href={href("cluster", { name: id })}>
        {escapeControls(name)}
      </a>
    ),
  },
  { name: "id", title: "Id", width: "20rem", cell: ({ id = "" }) => <code>{escapeControls(id)}</code> },
  { name: "kind", title: "Kind", width: "12rem", cell: ({ kind = "" }) => escapeControls(kind) },
  { name: "created", title: "Created", width: "12rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** Where the platform runs. */
export default function Clusters() {
  const command = useCommand();
  const answer = useAnswer("ClusterService/ListClusters", {}, environmentScope.value);
  return (
    <Page title="Clusters" command={command("clusters", "list")}>
      <Loading of={answer}>
        {({ clusters = [] }) =>
          clusters.length === 0 ? (
            <Empty command={command("clusters", "list")}>The server names no cluster.</Empty>
          ) : (
            <WindowTable label="Clusters" columns={COLUMNS} rows={clusters} keyOf={({ id = "" }) => id} />
          )
        }
      </Loading>
    </Page>
  );
}
