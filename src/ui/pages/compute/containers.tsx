import type { ContainerJson } from "../../../../gen/svc/v1/container_pb.ts";
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

const columnsOf = (recent: RecentUse): readonly Column<ContainerJson>[] => [
  {
    name: "name",
    title: "Container",
    width: "13rem",
    cell: ({ id = "", name = "" }) => (
      <a class="name" href={href("container", { name: id })}>
        {escapeControls(name)}
      </a>
    ),
  },
  { name: "status", title: "State", width: "7rem", cell: ({ status }) => <State of={status} prefix="CONTAINER_STATUS_" isService /> },
  { name: "image", title: "Image", width: "13rem", cell: ({ spec }) => <ImageName image={spec?.image ?? ""} /> },
  ...useColumns(recent),
  { name: "exit", title: "Exit", width: "3.5rem", isNumber: true, cell: ({ exitCode }) => (exitCode === undefined ? "" : exitCode) },
  { name: "created", title: "Created", width: "7.5rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** Programs of images that run in the environment, or did. */
export default function Containers() {
  const command = useCommand();
  const answer = useAnswer("ContainerService/ListContainers", {}, environmentScope.value);
  const recent = useRecentUse("container");
  useLive(["runs", "metrics"], () => {
    answer.reload();
    recent.reload();
  });
  return (
    <Page title="Containers" command={command("container", "list")}>
      <Loading of={answer}>
        {({ containers: rows = [] }) =>
          rows.length === 0 ? (
            <Empty command={command("container", "run", "--image", "IMAGE")}>
              There are none yet. A container runs a program of an image beside the platform.
            </Empty>
          ) : (
            <WindowTable label="Containers" columns={columnsOf(recent)} rows={rows} keyOf={({ id = "" }) => id} />
          )
        }
      </Loading>
    </Page>
  );
}
