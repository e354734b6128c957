import type { TaskJson } from "../../../../gen/svc/v1/task_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { go, href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { RunLines } from "./run-lines.tsx";
import { RunLink } from "./run-lists.tsx";
import { enumWord, isGoingOn } from "./run-state.ts";
import { State } from "./state.tsx";
import { taskTarget } from "./task-target-text.ts";

/** A task: how it stands, what it was given and returned, and what it printed. */
export function TaskContent({ id }: { readonly id: string }) {
  const command = useCommand();
  const answer = useAnswer("TaskService/GetTask", { id }, environmentScope.value);
  const isOpen = isGoingOn(enumWord(answer.data?.task?.state, "TASK_STATE_"));
  useLive(["runs", "logs"], answer.reload, isOpen);
  return (
    <Loading of={answer} lines={8}>
      {({ task = {} }) => (
        <>
          <p class="actions">{isOpen ? <Cancel id={id} onDone={answer.reload} /> : <Rerun id={id} />}</p>
          <TaskFacts task={task} />
          {task.profiling && !isOpen && (
            <>
              <h2>Profile</h2>
              <Command line={command("task", "profile", id, "--out", "task.svg")} />
            </>
          )}
          <RunLines ids={[id]} createdAt={task.createdAt} endedAt={task.endedAt} />
        </>
      )}
    </Loading>
  );
}

function TaskFacts({ task }: { readonly task: TaskJson }) {
  const { attempts = 0, branch = "", deploymentId = "", error = "", exitCode, maxRetries = 0, resultJson = "", workflowId = "" } = task;
  const { resourceGroup = "", venv = "" } = task;
  const { argsJson = "[]", kwargsJson = "{}" } = task.arguments ?? {};
  return (
    <Facts
      facts={[
        ["State", <State key="" of={task.state} prefix="TASK_STATE_" />],
        ["Error", error !== "" && <span class="bad">{visibleLines(error)}</span>],
        ["Target", <code key="">{escapeControls(taskTarget(task))}</code>],
        ["Arguments", argsJson !== "[]" && <code>{escapeControls(argsJson)}</code>],
        ["Arguments by name", kwargsJson !== "{}" && <code>{escapeControls(kwargsJson)}</code>],
        ["Returned", resultJson !== "" && <code>{escapeControls(resultJson)}</code>],
        ["Exit code", exitCode !== undefined && String(exitCode)],
        ["Attempts", `${attempts} of ${maxRetries + 1}`],
        ["Resource group", escapeControls(resourceGroup)],
        ["Venv", venv !== "" && escapeControls(venv)],
        ["Branch", branch !== "" && escapeControls(branch)],
        ["Deployment", deploymentId !== "" && <DeploymentLink id={deploymentId} />],
        ["Workflow", workflowId !== "" && <RunLink id={workflowId} />],
        ["Begun", <Time key="" at={task.createdAt} />],
        ["Ended", task.endedAt && <Time at={task.endedAt} />],
      ]}
    />
  );
}

function Cancel({ id, onDone }: { readonly id: string; readonly onDone: () => void }) {
  const cancel = async () => {
    await call("TaskService/CancelTask", { id }, environmentScope.value);
    return `${id} is cancelled.`;
  };
  return (
    <Action verb="End it" question={`End ${id}?`} permission="deploy" words={["task", "cancel", id]} act={cancel} onDone={onDone}>
      <p>It is asked to end, and killed after five seconds with everything that it started.</p>
    </Action>
  );
}

function Rerun({ id }: { readonly id: string }) {
  const rerun = async () => {
    const { task } = await call("TaskService/RerunTask", { id }, environmentScope.value);
    if (task?.id) go(href("run", { id: task.id }));
    return `It was begun again as ${task?.id ?? ""}.`;
  };
  return (
    <Action verb="Run again" question={`Run ${id} again?`} permission="deploy" words={["task", "rerun", id]} act={rerun}>
      <p>The same target, arguments and options, in what is live now unless a deployment was named.</p>
    </Action>
  );
}
