import type { ContainerJson } from "../../../../gen/svc/v1/container_pb.ts";
import type { ScalingGroupJson } from "../../../../gen/svc/v1/scaling_group_pb.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { ExternalLink } from "../../parts/external-link.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { RunLines } from "../run/run-lines.tsx";
import { State } from "../run/state.tsx";
import { ProcessEvents } from "./process-events.tsx";
import { Replicas } from "./replicas.tsx";
import { DeleteGroup, RestartGroup, ScaleGroup } from "./scaling-group-actions.tsx";
import { replicasText } from "./scaling-text.ts";
import { specFacts, tagBadges } from "./spec-facts.tsx";
import { UseCharts } from "./use-charts.tsx";

/** One scaling group: its replicas, what they use, what happened to them and what they print. */
export default function ScalingGroup({ place }: PageProps<"scalingGroup">) {
  const command = useCommand();
  const { name } = place.params;
  const answer = useAnswer("ScalingGroupService/GetScalingGroup", { group: name }, environmentScope.value);
  useLive(["runs", "metrics"], answer.reload);
  const { group } = answer.data ?? {};
  return (
    <Page
      title={`Scaling group ${group?.name ?? name}`}
      command={command("scaling-group", "get", "--name", group?.name ?? name)}
      actions={group && <Actions group={group} onDone={answer.reload} />}
    >
      <Loading of={answer} lines={8}>
        {({ group: shown = {} }) => <Content group={shown} />}
      </Loading>
    </Page>
  );
}

function Actions({ group, onDone }: { readonly group: ScalingGroupJson; readonly onDone: () => void }) {
  return (
    <>
      <ScaleGroup {...{ group, onDone }} />
      <RestartGroup {...{ group, onDone }} />
      <DeleteGroup group={group} />
    </>
  );
}

function Content({ group }: { readonly group: ScalingGroupJson }) {
  const { createdAt, name = "", replicas = [] } = group;
  return (
    <>
      <GroupFacts group={group} />
      <h2>Replicas</h2>
      <Replicas rows={replicas} />
      <UseCharts of={{ label: "group", name }} />
      <ProcessEvents names={[`scaling-group/${name}`, ...replicas.map((one) => one.name ?? "")]} since={createdAt} />
      {replicas.length > 0 && <RunLines ids={idsOf(replicas)} createdAt={createdAt} endedAt={undefined} />}
    </>
  );
}

/** Ids of replicas whose lines are shown, the newest. */
function idsOf(replicas: readonly ContainerJson[]): readonly string[] {
  return replicas.slice(0, 20).map(({ id = "" }) => id);
}

function GroupFacts({ group }: { readonly group: ScalingGroupJson }) {
  const {
    bounds = {},
    createdAt,
    message = "",
    readyReplicas = 0,
    spec = {},
    status,
    tags = {},
    updatedAt,
    url = "",
    wantedReplicas = 0,
  } = group;
  return (
    <Facts
      facts={[
        ["State", <State key="" of={status} prefix="SCALING_GROUP_STATUS_" />],
        [
          "Message",
          message !== "" && <span class={status === "SCALING_GROUP_STATUS_FAILED" ? "bad" : "warn"}>{visibleLines(message)}</span>,
        ],
        ["Address", url !== "" && <ExternalLink address={url} />],
        ["Replicas", replicasText(readyReplicas, wantedReplicas, bounds)],
        ...specFacts(spec),
        ["Tags", tagBadges(tags)],
        ["Created", <Time key="" at={createdAt} />],
        ["Changed", updatedAt !== createdAt && <Time at={updatedAt} />],
      ]}
    />
  );
}
