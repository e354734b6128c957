import type { ContainerJson } from "../../../../gen/svc/v1/container_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { State } from "../run/state.tsx";
import { type RecentUse, useColumns, useRecentUse } from "./use-now.tsx";

const columnsOf = (recent: RecentUse): readonly Column<ContainerJson>[] => [
  {
    name: "name",
    title: "Replica",
    width: "14rem",
    cell: ({ id = "", name = "" }) => (
      <a class="name" href={href("container", { name: id })}>
        {escapeControls(name)}
      </a>
    ),
  },
  { name: "status", title: "State", width: "7rem", cell: ({ status }) => <State of={status} prefix="CONTAINER_STATUS_" isService /> },
  {
    name: "health",
    title: "Health",
    width: "7rem",
    cell: ({ ready }) => ready !== undefined && <Status tone={ready ? "good" : "warn"}>{ready ? "ready" : "not ready"}</Status>,
  },
  ...useColumns(recent),
  { name: "message", title: "Message", wraps: true, width: "9rem", cell: ({ message = "" }) => escapeControls(message) },
  { name: "created", title: "Created", width: "7rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** The replicas of a group: those that run, then the last ones that have ended. */
export function Replicas({ rows }: { readonly rows: readonly ContainerJson[] }) {
  const recent = useRecentUse("container");
  useLive(["metrics"], recent.reload);
  if (rows.length === 0) return <p class="dim">There is none; the next request starts one.</p>;
  return <WindowTable label="Replicas" columns={columnsOf(recent)} rows={rows} keyOf={({ id = "" }) => id} />;
}
