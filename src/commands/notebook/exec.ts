import type { CellOutput, NotebookCell } from "../../../gen/svc/v1/notebook_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { executeCode, joined } from "../../notebook-client/execute-code.ts";
import { textView } from "../../output/view.ts";
import { namedId, namingFlags } from "./notebook-flags.ts";
import { errorLine, outputText } from "./notebook-view.ts";

/** A part of what a cell gave, and with `--json` the cell with all of it. */
type Shown = { readonly output: CellOutput } | { readonly cell: NotebookCell };

export default defineCommand({
  summary: "Append a Python cell and run it",
  description:
    "What the cell gives is shown as it comes, and kept with the notebook. The kernel is a process of the live deployment's source, packages and variables, " +
    "or with --branch of that branch; it starts with the first cell, and its names stay until it is stopped or nothing ran for an hour. Ctrl-C interrupts the cell.",
  examples: [
    "svc notebook exec '1 + 1' --name \"First look\"",
    { run: 'svc notebook exec - --name "First look" < look.py', does: "The code of a file" },
  ],
  needs: ["session"],
  args: { code: arg("Python code; - reads stdin") },
  flags: namingFlags,
  check({ id, name }) {
    if (id !== undefined && name !== undefined) throw new UsageError("a notebook is named once: with --id or --name");
  },
  run(context, input): AsyncIterable<Shown> | Promise<Shown> {
    return context.flags.json ? wholeCell(context, input) : shownOutputs(context, input);
  },
  exitCode(data) {
    if ("cell" in data) requireSuccess(data.cell);
    return 0;
  },
  mayEndAfter: () => false,
  view: textView(
    (shown: Shown, style) => ("output" in shown ? outputText(shown.output, style) : ""),
    async (shown) => {
      const { messageJson } = await import("../../contract/message-json.ts");
      return "cell" in shown ? messageJson(shown.cell) : undefined;
    },
  ),
});

interface Input {
  readonly code: string;
  readonly id: string | undefined;
  readonly name: string | undefined;
}

async function* shownOutputs(context: Context, input: Input): AsyncGenerator<Shown> {
  const errors: CellOutput[] = [];
  for await (const event of executeCode(context, await namedId(context, input), await sourceOf(context, input.code))) {
    if (event.kind === "ended") {
      requireSuccess({ ...event.cell, outputs: errors });
      return;
    }
    const { output } = event;
    if (output.content.case !== "error") yield { output };
    else {
      errors.push(output);
      context.progress.note(output.content.value.traceback);
    }
  }
}

async function wholeCell(context: Context, input: Input): Promise<Shown> {
  const outputs: CellOutput[] = [];
  for await (const event of executeCode(context, await namedId(context, input), await sourceOf(context, input.code))) {
    if (event.kind === "ended") return { cell: { ...event.cell, outputs: joined(outputs) } };
    outputs.push(event.output);
  }
  throw new CliError("the server did not say how the cell ended", { code: "broken_answer" });
}

async function sourceOf({ io }: Context, code: string): Promise<string> {
  return code === "-" ? new TextDecoder().decode(await io.readAll()) : code;
}

/** Throws CliError for a cell that failed or was interrupted. */
function requireSuccess(cell: NotebookCell): void {
  const failure = cell.outputs.find(({ content }) => content.case === "error")?.content;
  if (failure?.case !== "error") return;
  throw new CliError(errorLine(failure.value.name, failure.value.message), { code: "cell_failed" });
}
