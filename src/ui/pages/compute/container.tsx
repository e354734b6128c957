import type { ContainerJson } from "../../../../gen/svc/v1/container_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { ExternalLink } from "../../parts/external-link.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { RunLines } from "../run/run-lines.tsx";
import { enumWord, isGoingOn } from "../run/run-state.ts";
import { State } from "../run/state.tsx";
import { ProcessEvents } from "./process-events.tsx";
import { specFacts, tagBadges } from "./spec-facts.tsx";
import { UseCharts } from "./use-charts.tsx";
import { useFact } from "./use-now.tsx";

/** One container: how it is, what it was given, and what it printed. */
export default function Container({ place }: PageProps<"container">) {
  const command = useCommand();
  const { name } = place.params;
  const answer = useAnswer("ContainerService/GetContainer", { container: name }, environmentScope.value);
  const { container } = answer.data ?? {};
  const isOpen = isGoingOn(enumWord(container?.status, "CONTAINER_STATUS_"));
  useLive(["runs", "metrics"], answer.reload, isOpen);
  return (
    <Page
      title={`Container ${container?.name ?? name}`}
      command={command("container", "get", "--id", container?.id ?? name)}
      actions={container && isOpen && <Stop container={container} onDone={answer.reload} />}
    >
      <Loading of={answer} lines={8}>
        {({ container: shown = {} }) => (
          <>
            <ContainerFacts container={shown} />
            <UseCharts of={{ label: "container", kind: "container", name: shown.name ?? "" }} />
            <ProcessEvents names={[shown.name ?? ""]} since={shown.createdAt} />
            <RunLines ids={[shown.id ?? ""]} createdAt={shown.createdAt} endedAt={shown.endedAt} />
          </>
        )}
      </Loading>
    </Page>
  );
}

function Stop({ container: { id = "", name = "" }, onDone }: { readonly container: ContainerJson; readonly onDone: () => void }) {
  const act = async () => {
    await call("ContainerService/StopContainer", { container: id }, environmentScope.value);
    return `${name} was stopped.`;
  };
  return (
    <Action
      verb="Stop"
      question={`Stop ${escapeControls(name)}?`}
      permission="containers.write"
      words={["container", "stop", "--id", id]}
      act={act}
      onDone={onDone}
    >
      <p>Its program is told to end, and is killed five seconds later. Its disk is removed; volumes stay.</p>
    </Action>
  );
}

function ContainerFacts({ container }: { readonly container: ContainerJson }) {
  const {
    createdAt,
    endedAt,
    exitCode,
    lifetime = "0s",
    message = "",
    node = "",
    scalingGroup = "",
    spec = {},
    startedAt,
    status,
  } = container;
  const { tags = {}, url = "" } = container;
  return (
    <Facts
      facts={[
        ["State", <State key="" of={status} prefix="CONTAINER_STATUS_" isService />],
        ["Message", message !== "" && <span class="bad">{visibleLines(message)}</span>],
        ["Exit code", exitCode !== undefined && String(exitCode)],
        ["Address", url !== "" && <ExternalLink address={url} />],
        [
          "Scaling group",
          scalingGroup !== "" && (
            <a class="name" href={href("scalingGroup", { name: scalingGroup })}>
              {escapeControls(scalingGroup)}
            </a>
          ),
        ],
        ["Uses now", useFact(container)],
        ...specFacts(spec),
        ["Lifetime", lifetime !== "0s" && `at most ${formatDuration(Number.parseFloat(lifetime) * 1000)}`],
        ["Tags", tagBadges(tags)],
        ["Created", <Time key="" at={createdAt} />],
        ["Started", startedAt && <Time at={startedAt} />],
        ["Ended", endedAt && <Time at={endedAt} />],
        ["Node", node],
      ]}
    />
  );
}
