import type { ScalingGroupJson } from "../../../../gen/svc/v1/scaling_group_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { ExternalLink } from "../../parts/external-link.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { State } from "../run/state.tsx";
import { ImageName } from "./image-name.tsx";
import { boundsText } from "./scaling-text.ts";

const COLUMNS: readonly Column<ScalingGroupJson>[] = [
  {
    name: "name",
    title: "Scaling group",
    width: "11rem",
    cell: ({ name = "" }) => (
      <a class="name" href={href("scalingGroup", { name })}>
        {escapeControls(name)}
      </a>
    ),
  },
  { name: "status", title: "State", width: "6.5rem", cell: ({ status }) => <State of={status} prefix="SCALING_GROUP_STATUS_" /> },
  {
    name: "replicas",
    title: "Ready",
    width: "5.5rem",
    isNumber: true,
    cell: ({ readyReplicas = 0, wantedReplicas = 0 }) => `${readyReplicas} of ${wantedReplicas}`,
  },
  { name: "bounds", title: "Bounds", width: "6rem", cell: ({ bounds = {} }) => boundsText(bounds) },
  { name: "image", title: "Image", width: "12.5rem", cell: ({ spec }) => <ImageName image={spec?.image ?? ""} /> },
  { name: "address", title: "Address", width: "15.5rem", cell: ({ url = "" }) => url !== "" && <ExternalLink address={url} /> },
  { name: "created", title: "Created", width: "7rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** Containers of one kind, as many as their load asks for. */
export default function ScalingGroups() {
  const command = useCommand();
  const answer = useAnswer("ScalingGroupService/ListScalingGroups", {}, environmentScope.value);
  useLive(["runs"], answer.reload);
  return (
    <Page title="Scaling groups" command={command("scaling-group", "list")}>
      <Loading of={answer}>
        {({ groups = [] }) =>
          groups.length === 0 ? (
            <Empty command={command("scaling-group", "create", "--image", "IMAGE", "--port", "8080")}>
              There are none yet. A scaling group is as many containers of one image as requests need, behind one address.
            </Empty>
          ) : (
            <WindowTable label="Scaling groups" columns={COLUMNS} rows={groups} keyOf={({ id = "" }) => id} />
          )
        }
      </Loading>
    </Page>
  );
}
