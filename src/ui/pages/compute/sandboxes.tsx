import type { SandboxJson } from "../../../../gen/svc/v1/sandbox_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { State } from "../run/state.tsx";
import { ImageName } from "./image-name.tsx";
import { type RecentUse, useColumns, useRecentUse } from "./use-now.tsx";

const columnsOf = (recent: RecentUse): readonly Column<SandboxJson>[] => [
  {
    name: "name",
    title: "Sandbox",
    width: "14rem",
    cell: ({ id = "", name = "" }) => (
      <a class="name" href={href("sandbox", { id })}>
        {escapeControls(name)}
      </a>
    ),
  },
  { name: "status", title: "State", width: "7rem", cell: ({ status }) => <State of={status} prefix="CONTAINER_STATUS_" isService /> },
  { name: "image", title: "Image", width: "15rem", cell: ({ image = "" }) => <ImageName image={image} /> },
  ...useColumns(recent),
  { name: "created", title: "Created", width: "8rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** Containers without a network that wait for commands. */
export default function Sandboxes() {
  const command = useCommand();
  const answer = useAnswer("SandboxService/ListSandboxes", {}, environmentScope.value);
  const recent = useRecentUse("sandbox");
  useLive(["runs", "metrics"], () => {
    answer.reload();
    recent.reload();
  });
  return (
    <Page title="Sandboxes" command={command("sandbox", "list")}>
      <Loading of={answer}>
        {({ sandboxes: rows = [] }) =>
          rows.length === 0 ? (
            <Empty command={command("sandbox", "create", "--image", "IMAGE")}>
              There are none yet. A sandbox is a container without a network that waits for commands.
            </Empty>
          ) : (
            <WindowTable label="Sandboxes" columns={columnsOf(recent)} rows={rows} keyOf={({ id = "" }) => id} />
          )
        }
      </Loading>
    </Page>
  );
}
