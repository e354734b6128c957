import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { go, href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";

/** Runs a resolver now. */
export function RunResolver({ resolver }: { readonly resolver: string }) {
  const trigger = async () => {
    const { run } = await call("ResolverRunService/TriggerResolver", { resolver }, environmentScope.value);
    if (run?.id) go(href("run", { id: run.id }));
    return `${resolver} runs.`;
  };
  return (
    <Action
      verb="Run now"
      question={`Run ${escapeControls(resolver)} now?`}
      permission="deploy"
      words={["trigger", "--resolver", resolver]}
      act={trigger}
    >
      <p>It computes its features for every row that it is for, and stores the values. Its schedule stays.</p>
    </Action>
  );
}

/** Runs a scheduled query now. */
export function RunQuery({ name }: { readonly name: string }) {
  const trigger = async () => {
    const { id } = await call("ScheduledQueryService/TriggerScheduledQuery", { name }, environmentScope.value);
    if (id) go(href("run", { id }));
    return `${name} runs.`;
  };
  return (
    <Action
      verb="Run now"
      question={`Run ${escapeControls(name)} now?`}
      permission="deploy"
      words={["scheduled-query", "trigger", "--name", name]}
      act={trigger}
    >
      <p>It becomes an offline query of its own. Its schedule stays.</p>
    </Action>
  );
}

interface Pausable {
  readonly paused: boolean;
  readonly onDone: () => void;
}

/** Pauses the schedule of a resolver, or has it run again. */
export function PauseResolver({ onDone, paused, resolver }: Pausable & { readonly resolver: string }) {
  const act = () =>
    call(
      paused ? "ResolverRunService/ResumeScheduledResolver" : "ResolverRunService/PauseScheduledResolver",
      { resolver },
      environmentScope.value,
    );
  return <Pause {...{ name: resolver, paused, onDone, act }} command={["scheduled-resolver", paused ? "resume" : "pause", resolver]} />;
}

/** Pauses the schedule of a query, or has it run again. */
export function PauseQuery({ name, onDone, paused }: Pausable & { readonly name: string }) {
  const act = () =>
    call(
      paused ? "ScheduledQueryService/ResumeScheduledQuery" : "ScheduledQueryService/PauseScheduledQuery",
      { name },
      environmentScope.value,
    );
  return <Pause {...{ name, paused, onDone, act }} command={["scheduled-query", paused ? "resume" : "pause", name]} />;
}

interface PauseParts extends Pausable {
  readonly name: string;
  readonly act: () => Promise<unknown>;
  /** The words of the command that does the same. */
  readonly command: readonly string[];
}

function Pause({ act, command, name, onDone, paused }: PauseParts) {
  const lineOf = useCommand();
  const verb = paused ? "Resume" : "Pause";
  const said = paused ? `${name} runs by its schedule again.` : `${name} is paused.`;
  return (
    <Action
      verb={verb}
      question={`${verb} ${escapeControls(name)}?`}
      permission="deploy"
      act={() => act().then(() => said)}
      onDone={onDone}
    >
      <p>
        {paused
          ? "It runs when it next comes due. Runs that were left out are not made up for."
          : "Its schedule runs nothing until it is resumed, also after a new deployment. A run that has begun goes on."}
      </p>
      <Command line={lineOf(...command)} />
    </Action>
  );
}
