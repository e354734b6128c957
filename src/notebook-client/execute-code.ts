/** Running code in a notebook, and following it to its end. */

import type { CellOutput, NotebookCell } from "../../gen/svc/v1/notebook_pb.ts";
import { CellState } from "../../gen/svc/v1/notebook_pb.ts";
import type { Context } from "../context/context.ts";
import { CliError } from "../errors/cli-error.ts";

/** What happens while code runs: something that it gave, text in whole lines, or its end. */
export type ExecutionEvent =
  | { readonly kind: "output"; readonly output: CellOutput }
  | { readonly kind: "ended"; readonly cell: NotebookCell };

/** Milliseconds to ask for the interruption of a cell, once the command is interrupted. */
const LAST_CALL_MS = 5_000;

/**
 * Adds a cell to a notebook, runs it and tells what it gives. When the command is interrupted, so
 * is the cell; one that cannot be run is removed. Throws CliError when its run was taken back.
 */
export async function* executeCode(context: Context, notebookId: string, source: string): AsyncGenerator<ExecutionEvent> {
  const notebooks = await context.api.notebooks();
  const { cell: { id: cellId = "" } = {} } = await notebooks.addCell({ notebookId, source });
  const lines = new WholeLines();
  let last: NotebookCell | undefined;
  try {
    await notebooks.runCell({ notebookId, cellId }).catch(async (error: unknown) => {
      await notebooks.removeCell({ notebookId, cellId }).catch(() => undefined);
      throw error;
    });
    for await (const { cell, outputs } of notebooks.watchCell({ notebookId, cellId })) {
      last = cell ?? last;
      for (const output of outputs) yield* lines.add(output);
    }
  } finally {
    if (context.signal.aborted) await interrupt(context, notebookId, cellId);
  }
  yield* lines.rest();
  if (!last || last.state === CellState.IDLE) throw new CliError("the cell was taken back before it ran", { code: "cell_interrupted" });
  yield { kind: "ended", cell: last };
}

/** Interrupts a cell by a call of its own, because those of the command have ended. */
async function interrupt(context: Context, notebookId: string, cellId: string): Promise<void> {
  const { createContext } = await import("../context/create-context.ts");
  const own = createContext({ ...context, signal: AbortSignal.timeout(LAST_CALL_MS) });
  await (await own.api.notebooks()).interruptKernel({ notebookId, cellId }).catch(() => undefined);
}

/** Outputs in which text that goes on where the one before ended is a part of that one. */
export function joined(outputs: readonly CellOutput[]): CellOutput[] {
  const whole: CellOutput[] = [];
  for (const output of outputs) {
    const { content } = output;
    const before = whole.at(-1)?.content;
    if (content.case === "stream" && before?.case === "stream" && before.value.name === content.value.name)
      whole[whole.length - 1] = withText(output, before.value.text + content.value.text);
    else whole.push(output);
  }
  return whole;
}

/** Text of streams, passed on when its line is complete or something else comes. */
class WholeLines {
  private open: CellOutput | undefined;

  *add(output: CellOutput): Generator<ExecutionEvent> {
    const [first, ...others] = joined(this.open ? [this.open, output] : [output]);
    this.open = undefined;
    for (const one of [...(first ? [first] : []), ...others]) yield* this.split(one, one === (others.at(-1) ?? first));
  }

  *rest(): Generator<ExecutionEvent> {
    if (this.open) yield { kind: "output", output: this.open };
    this.open = undefined;
  }

  private *split(output: CellOutput, isLast: boolean): Generator<ExecutionEvent> {
    if (output.content.case !== "stream" || !isLast) {
      yield { kind: "output", output };
      return;
    }
    const { text } = output.content.value;
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) yield { kind: "output", output: withText(output, text.slice(0, end)) };
    if (end < text.length) this.open = withText(output, text.slice(end));
  }
}

/** An output of a stream with another text. */
function withText(output: CellOutput, text: string): CellOutput {
  if (output.content.case !== "stream") return output;
  return { ...output, content: { case: "stream", value: { ...output.content.value, text } } };
}
