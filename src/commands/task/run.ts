import type { LogLine } from "../../../gen/svc/v1/log_pb.ts";
import { type Task, TaskState } from "../../../gen/svc/v1/task_pb.ts";
import { defineCommand, type InputOf } from "../../cli/command.ts";
import { arg, bool, int, list, path, text } from "../../cli/flag.ts";
import { currentBranch } from "../../config/branch.ts";
import type { Context } from "../../context/context.ts";
import { escapeControls } from "../../domain/name.ts";
import { parseTarget, targetProblem } from "../../domain/task-target.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { type Style, textView } from "../../output/view.ts";
import { argumentsOfLines, argumentsOfTexts } from "../../task-client/arguments.ts";
import { followTask } from "../../task-client/follow-task.ts";
import { lineText } from "../logs/line-view.ts";
import { taskState } from "./task-view.ts";

/** What there is to show: the tasks that were asked for, a line of one, and its end. */
type Shown =
  | { readonly kind: "asked"; readonly ids: readonly string[]; readonly workflowId: string; readonly url: string }
  | { readonly kind: "line"; readonly line: LogLine }
  | { readonly kind: "ended"; readonly task: Task };

const MAX_RETRIES = 20;

const flags = {
  module: bool("treat the target as a module", { aliases: ["-m"] }),
  resourceGroup: text("resource group of the environment in which the task runs; default: `default`", { placeholder: "<group>" }),
  enableProfiling: bool("sample what the task does, for `svc task profile`", { aliases: ["--profile"] }),
  maxRetries: int("further attempts after one that fails, with growing pauses", { default: 0, aliases: ["--retries"] }),
  arg: list(text("argument: name=value, or a positional one; values stay texts", { placeholder: "<[name=]value>" })),
  argsFile: path("file of JSON lines, each the arguments of one task: a list, or an object by name", { placeholder: "<file>" }),
  skipApply: bool("with --branch: run what is live there, do not deploy first"),
  skipValidation: bool("do not look for the target in the deployment's source"),
  venv: text("run with the requirements of this venv of svc.yaml", { placeholder: "<name>" }),
  watch: bool("follow the task until it ends: what it prints, and how"),
};

export default defineCommand({
  summary: "Run a script, module, function or method in the deployment",
  description:
    "The target is a file of the project (scripts/report.py), a module (scripts.report), or a function in one (scripts/report.py::main, " +
    "scripts.report::Report.send or ::Report::send; for a method an object of its class is made). It runs on the server, in a process of its own with the " +
    "deployment's source, packages and variables: in what is live, or with --branch in that branch, to which the project is deployed first. A function's " +
    "parameters that --arg fills must be of type str; --args-file keeps the types of JSON and runs one task per line. Scripts get arguments with names as " +
    "--name=value. What a task prints is in `svc logs --query operation_id:<id>`. A server that is stopped begins its running tasks again when it starts.",
  examples: [
    "svc task run scripts/report.py",
    { run: "svc task run scripts/report.py::main --arg day=2026-01-31 --watch", does: "A function, followed until it ends" },
    { run: "svc task run -m scripts.report --max-retries 3", does: "A module, as python -m runs it" },
    {
      run: "svc task run scripts/report.py --resource-group big",
      does: "With the limits that the environment's group `big` sets for tasks",
    },
    { run: "svc task run scripts/report.py::main --args-file days.jsonl", does: "One task per line of a file" },
  ],
  needs: ["session"],
  args: { target: arg("file.py, module, file.py::function, or file.py::Class::method") },
  flags,
  check({ target, module, resourceGroup, maxRetries, arg: texts, argsFile, skipApply, watch }, context) {
    const parsed = parseTarget(target, module);
    const problem = targetProblem(parsed);
    if (problem !== undefined) throw new UsageError(`'${target}' ${problem}`);
    if (skipApply && context.flags.branch === undefined) throw new UsageError("--skip-apply needs --branch");
    if (texts.length > 0 && argsFile !== undefined) throw new UsageError("--arg and --args-file do not go together");
    if (watch && argsFile !== undefined) throw new UsageError("--watch follows one task, and --args-file begins many");
    if (resourceGroup === "") throw new UsageError("--resource-group is the name of a group");
    if (maxRetries < 0 || maxRetries > MAX_RETRIES) throw new UsageError(`--max-retries takes 0 to ${MAX_RETRIES}`);
  },
  run(context, input): AsyncIterable<Shown> | Promise<Shown> {
    return context.flags.json ? lastOf(eventsOf(context, input)) : eventsOf(context, input);
  },
  mayEndAfter: () => false,
  view: textView(asText, asJson),
});

type Input = InputOf<typeof flags> & { readonly target: string };

async function* eventsOf(context: Context, input: Input): AsyncGenerator<Shown> {
  const {
    target: wanted,
    module,
    maxRetries,
    arg: texts,
    argsFile,
    enableProfiling,
    skipValidation,
    resourceGroup = "",
    venv = "",
    watch,
  } = input;
  const given = argsFile === undefined ? [argumentsOfTexts(texts)] : argumentsOfLines(await fileText(context, argsFile), argsFile);
  if (context.flags.branch !== undefined && !input.skipApply) {
    const { deployBranch } = await import("../../deploy/deploy-branch.ts");
    await deployBranch(context, await currentBranch(context));
  }
  const { path: file, module: name, callable } = parseTarget(wanted, module);
  const { ids, workflowId, url } = await (await context.api.tasks()).runTasks({
    target: { callable, code: file === "" ? { case: "module", value: name } : { case: "path", value: file } },
    arguments: given,
    texts: argsFile === undefined,
    ...{ maxRetries, skipValidation, profiling: enableProfiling, venv, resourceGroup },
  });
  yield { kind: "asked", ids, workflowId, url };
  if (!watch) return;
  for await (const event of followTask(context, ids[0] as string)) {
    if (event.kind === "ended" && event.task.state !== TaskState.SUCCEEDED) throw notSucceeded(event.task);
    yield event;
  }
}

async function lastOf(events: AsyncIterable<Shown>): Promise<Shown> {
  let last: Shown | undefined;
  for await (const event of events) if (event.kind !== "line") last = event;
  if (!last) throw new CliError("no task was begun", { code: "broken_answer" });
  return last;
}

function notSucceeded(task: Task): CliError {
  const why = task.error === "" ? "" : `: ${task.error}`;
  return new CliError(`Task ${task.id} ${task.state === TaskState.CANCELLED ? "was cancelled" : "failed"}${why}`, {
    code: "task_failed",
    hint: `\`svc task rerun ${task.id}\` runs it once more.`,
  });
}

async function fileText({ machine }: Pick<Context, "machine">, file: string): Promise<string> {
  const content = await machine.readText(file);
  if (content === undefined) throw new CliError(`there is no file ${file}`, { code: "not_found" });
  return content;
}

function asText(shown: Shown, style: Style): string {
  switch (shown.kind) {
    case "line":
      return lineText(shown.line, style);
    case "ended": {
      const returned = shown.task.resultJson === "" ? "" : `, and returned ${escapeControls(shown.task.resultJson)}`;
      return `Task ${escapeControls(shown.task.id)} succeeded${returned}`;
    }
    default: {
      const [id = ""] = shown.ids;
      const what = shown.ids.length === 1 ? `Task ${id}` : `${shown.ids.length} tasks: svc task list --workflow ${shown.workflowId}`;
      return [what, shown.url]
        .filter((line) => line !== "")
        .map(escapeControls)
        .join("\n");
    }
  }
}

function asJson(shown: Shown): unknown {
  if (shown.kind === "line") return undefined;
  if (shown.kind === "asked") return { task_ids: shown.ids, workflow_id: shown.workflowId, url: shown.url };
  const { id, exitCode, error, resultJson, url } = shown.task;
  return {
    ...{ task_id: id, state: taskState(shown.task).toLowerCase(), exit_code: exitCode ?? null, error, url },
    result: resultJson === "" ? null : JSON.parse(resultJson),
  };
}
