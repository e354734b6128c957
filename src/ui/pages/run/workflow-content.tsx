import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { Subject } from "./job-content.tsx";
import { RunLines } from "./run-lines.tsx";
import { enumWord, isGoingOn } from "./run-state.ts";
import { State } from "./state.tsx";
import { workflowLayers } from "./workflow-layers.ts";

/** A workflow: its operations as a graph. */
export function WorkflowContent({ id }: { readonly id: string }) {
  const answer = useAnswer("WorkflowService/GetWorkflow", { id }, environmentScope.value);
  const isOpen = isGoingOn(enumWord(answer.data?.workflow?.status, "WORKFLOW_STATUS_"));
  useLive(["runs"], answer.reload, isOpen);
  return (
    <Loading of={answer} lines={8}>
      {({ workflow: { createdAt, deploymentId = "", endedAt, kind, startedAt, status, subject = "" } = {} }) => (
        <>
          <Facts
            facts={[
              ["State", <State key="" of={status} prefix="WORKFLOW_STATUS_" />],
              ["About", subject !== "" && <Subject subject={subject} />],
              ["Cause", enumWord(kind, "WORKFLOW_KIND_")],
              ["Deployment", deploymentId !== "" && <DeploymentLink id={deploymentId} />],
              ["Asked for", <Time key="" at={createdAt} />],
              ["Began", startedAt && <Time at={startedAt} />],
              ["Ended", endedAt && <Time at={endedAt} />],
            ]}
          />
          <WorkflowGraph id={id} isOpen={isOpen} />
          <RunLines ids={[subject.startsWith("ofq_") ? subject : id]} createdAt={createdAt} endedAt={endedAt} />
        </>
      )}
    </Loading>
  );
}

/** The operations of a workflow from left to right, each behind those that it waits for. */
export function WorkflowGraph({ id, isOpen }: { readonly id: string; readonly isOpen: boolean }) {
  const answer = useAnswer("WorkflowService/GetWorkflowGraph", { id }, environmentScope.value);
  useLive(["runs"], answer.reload, isOpen);
  return (
    <>
      <h2>Operations</h2>
      <Loading of={answer}>
        {({ edges = [], nodes = [] }) => (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls
          <section class="workflow" aria-label="Operations" tabIndex={0}>
            {workflowLayers(nodes, edges).map((layer) => (
              <ul key={layer[0]?.node.id}>
                {layer.map(
                  ({
                    node: { canceled = 0, completed = 0, failed = 0, jobs = 0, kind = "", name = "", running = 0, status, ...node },
                    waitsFor,
                  }) => (
                    <li key={node.id}>
                      <strong>{escapeControls(name || kind)}</strong>
                      <State of={status} prefix="WORKFLOW_STATUS_" />
                      <progress max={Math.max(jobs, 1)} value={completed} aria-label={`${completed} of ${jobs} jobs done`} />
                      <span class="dim">
                        {[
                          `${completed} of ${jobs} done`,
                          running > 0 && `${running} run`,
                          failed > 0 && `${failed} failed`,
                          canceled > 0 && `${canceled} canceled`,
                        ]
                          .filter(Boolean)
                          .join(", ")}
                      </span>
                      {waitsFor.length > 0 && <span class="dim">after {waitsFor.map(escapeControls).join(", ")}</span>}
                    </li>
                  ),
                )}
              </ul>
            ))}
          </section>
        )}
      </Loading>
    </>
  );
}
