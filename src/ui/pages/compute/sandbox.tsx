import type { SandboxJson } from "../../../../gen/svc/v1/sandbox_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { enumWord, isGoingOn } from "../run/run-state.ts";
import { State } from "../run/state.tsx";
import { ProcessEvents } from "./process-events.tsx";
import { SandboxCommand } from "./sandbox-command.tsx";
import { specFacts } from "./spec-facts.tsx";
import { UseCharts } from "./use-charts.tsx";
import { useFact } from "./use-now.tsx";

/** One sandbox: how it is, a command to run in it, what it uses, and what happened to it. */
export default function Sandbox({ place }: PageProps<"sandbox">) {
  const command = useCommand();
  const { id } = place.params;
  const answer = useAnswer("SandboxService/GetSandbox", { sandbox: id }, environmentScope.value);
  const { sandbox } = answer.data ?? {};
  const isOpen = isGoingOn(enumWord(sandbox?.status, "CONTAINER_STATUS_"));
  useLive(["runs", "metrics"], answer.reload, isOpen);
  return (
    <Page
      title={`Sandbox ${sandbox?.name ?? id}`}
      command={command("sandbox", "get", "--id", sandbox?.id ?? id)}
      actions={sandbox && isOpen && <Terminate sandbox={sandbox} onDone={answer.reload} />}
    >
      <Loading of={answer} lines={8}>
        {({ sandbox: shown = {} }) => (
          <>
            <SandboxFacts sandbox={shown} />
            {isOpen && <SandboxCommand id={shown.id ?? ""} name={shown.name ?? ""} />}
            <UseCharts of={{ label: "container", kind: "sandbox", name: shown.name ?? "" }} />
            <ProcessEvents names={[shown.name ?? ""]} since={shown.createdAt} />
          </>
        )}
      </Loading>
    </Page>
  );
}

function Terminate({ sandbox: { id = "", name = "" }, onDone }: { readonly sandbox: SandboxJson; readonly onDone: () => void }) {
  const act = async () => {
    await call("SandboxService/TerminateSandbox", { sandbox: id }, environmentScope.value);
    return `${name} was terminated.`;
  };
  return (
    <Action
      verb="Terminate"
      question={`Terminate ${escapeControls(name)}?`}
      permission="containers.write"
      typed={name}
      words={["sandbox", "terminate", "--id", id]}
      act={act}
      onDone={onDone}
    >
      <p>Everything that runs in it ends, and its files are gone.</p>
    </Action>
  );
}

function SandboxFacts({ sandbox }: { readonly sandbox: SandboxJson }) {
  const { cpu = "", createdAt, endedAt, environment = [], image = "", memory = "", message = "", node = "", status } = sandbox;
  return (
    <Facts
      facts={[
        ["State", <State key="" of={status} prefix="CONTAINER_STATUS_" isService />],
        ["Message", message !== "" && <span class="bad">{visibleLines(message)}</span>],
        ["Uses now", useFact(sandbox)],
        ...specFacts({ image, environment, resources: { cpu, memory } }),
        ["Network", "none"],
        ["Created", <Time key="" at={createdAt} />],
        ["Ended", endedAt && <Time at={endedAt} />],
        ["Node", node],
      ]}
    />
  );
}
