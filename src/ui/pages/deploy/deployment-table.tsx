import type { DeploymentJson } from "../../../../gen/svc/v1/deployment_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { Badge } from "../../parts/badge.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { DeploymentLink } from "./deployment-link.tsx";
import { DeploymentState } from "./deployment-state.tsx";

const COLUMNS: readonly Column<DeploymentJson>[] = [
  {
    name: "id",
    title: "Deployment",
    width: "19rem",
    cell: ({ id = "" }) => <DeploymentLink id={id} />,
  },
  { name: "state", title: "State", width: "12rem", cell: (row) => <DeploymentState deployment={row} /> },
  { name: "tags", title: "Tags", width: "9rem", cell: ({ tags }) => tags?.map((tag) => <Badge key={tag} text={tag} />) },
  { name: "created", title: "Created", width: "11rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { name: "from", title: "Made from", cell: (row) => escapeControls(madeFrom(row)) },
];

/** Deployments, newest first. */
export function DeploymentTable({ deployments }: { readonly deployments: readonly DeploymentJson[] }) {
  return <WindowTable label="Deployments" columns={COLUMNS} rows={deployments} keyOf={({ id = "" }) => id} />;
}

/** What a deployment was made from: the commit, or what its author said. */
function madeFrom({ description = "", metadata = {} }: DeploymentJson): string {
  const commit = metadata.commit ?? metadata.git_commit ?? metadata.sha;
  return [commit, description.split("\n", 1)[0]].filter(Boolean).join(" ");
}
