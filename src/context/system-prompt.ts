/** Questions on stderr, answered on stdin. */

import { escapeControls } from "../domain/name.ts";
import { AbortedError, InterruptedError, UsageError } from "../errors/cli-error.ts";
import { exitCodes } from "../errors/exit-codes.ts";
import type { GlobalFlags } from "./flags.ts";
import type { Io } from "./io.ts";
import type { Prompt } from "./prompt.ts";

const NO_ANSWER = "Nobody answered: stdin ended. Pass --yes where there is nobody to ask.";

/** Longest secret that is accepted, in bytes. */
const MAX_SECRET_BYTES = 64 * 1024;

/** The prompts of one command. */
export function createPrompt(
  io: Pick<Io, "writeErr" | "readLine" | "readChunk" | "stdinIsTTY" | "stderrIsTTY">,
  flags: Pick<GlobalFlags, "json">,
  signal: AbortSignal,
): Prompt {
  const requireTerminal = (flag: string): void => {
    if (!io.stdinIsTTY || !io.stderrIsTTY || flags.json) throw new UsageError(`${flag} is required when there is no terminal to ask on`);
  };

  return {
    async confirm(question) {
      io.writeErr(`${question} [y/n] `);
      const answer = await io.readLine().catch((error: unknown) => {
        io.writeErr("\n");
        throw error;
      });
      if (answer === undefined || !io.stdinIsTTY) io.writeErr("\n");
      if (answer === undefined) throw new AbortedError({ hint: NO_ANSWER });
      return /^\s*y(es)?\s*$/i.test(answer);
    },
    async secret(what) {
      const given = io.stdinIsTTY ? await askSecret(what, io, signal) : await readSecret(what, io);
      if (given === "") throw new UsageError(`the ${what} that was given is empty`);
      if (/[\r\n]/.test(given)) throw new UsageError(`the ${what} on stdin has more than one line`);
      return given;
    },
    async text(what, flag) {
      requireTerminal(flag);
      const { isCancel, text } = await import("@clack/prompts");
      const given = await text({ message: what, input: process.stdin, output: process.stderr, signal });
      if (isCancel(given)) throw signal.aborted ? signal.reason : new InterruptedError(exitCodes.interrupted);
      return given ?? "";
    },
    async pick(question, offered, flag) {
      requireTerminal(flag);
      const options = typeof offered === "function" ? await offered() : offered;
      if (options.length === 0) throw new UsageError(`there is nothing to pick from: ${question}`);
      const { isCancel, select } = await import("@clack/prompts");
      const chosen = await select<number>({
        message: question,
        options: options.map(({ label, hint }, value) => ({ label: escapeControls(label), hint, value })),
        input: process.stdin,
        output: process.stderr,
        signal,
      });
      if (isCancel(chosen)) throw signal.aborted ? signal.reason : new InterruptedError(exitCodes.interrupted);
      const option = options[chosen];
      if (!option) throw new UsageError(`${flag} is required`);
      return option.value;
    },
    async pickMany(question, offered, flag) {
      requireTerminal(flag);
      const options = typeof offered === "function" ? await offered() : offered;
      if (options.length === 0) throw new UsageError(`there is nothing to pick from: ${question}`);
      const { autocompleteMultiselect, isCancel } = await import("@clack/prompts");
      const chosen = await autocompleteMultiselect<number>({
        message: question,
        options: options.map(({ label, hint }, value) => ({ label: escapeControls(label), hint: hint && shortened(hint), value })),
        filter: (typed, { value }) => isFound(typed, options[value]),
        placeholder: "type to filter",
        maxItems: 12,
        required: true,
        input: process.stdin,
        output: process.stderr,
        signal,
      });
      if (isCancel(chosen)) throw signal.aborted ? signal.reason : new InterruptedError(exitCodes.interrupted);
      return chosen.flatMap((at) => (options[at] ? [options[at].value] : []));
    },
  };
}

/** Most characters of a hint: the terminal shows it on the line of its option. */
const MAX_HINT = 48;

function shortened(hint: string): string {
  const safe = escapeControls(hint);
  return safe.length > MAX_HINT ? `${safe.slice(0, MAX_HINT - 1)}…` : safe;
}

/** Whether an option has all the words that were typed; a slash in front only begins the search. */
function isFound(typed: string, option: { readonly label: string; readonly hint?: string } | undefined): boolean {
  const text = `${option?.label} ${option?.hint ?? ""}`.toLowerCase();
  return typed
    .replace(/^\//, "")
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

async function askSecret(what: string, io: Pick<Io, "stderrIsTTY">, signal: AbortSignal): Promise<string> {
  if (!io.stderrIsTTY)
    throw new UsageError(`there is no terminal to ask for the ${what} on`, { hint: "Pipe it in, or let stderr be a terminal." });
  const { isCancel, password } = await import("@clack/prompts");
  const given = await password({ message: `Enter the ${what}`, mask: "", input: process.stdin, output: process.stderr, signal });
  if (isCancel(given)) throw signal.aborted ? signal.reason : new InterruptedError(exitCodes.interrupted);
  return given;
}

async function readSecret(what: string, io: Pick<Io, "readChunk">): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (let size = 0, chunk = await io.readChunk(); chunk !== undefined; chunk = await io.readChunk()) {
    size += chunk.length;
    if (size > MAX_SECRET_BYTES) throw new UsageError(`the ${what} on stdin is longer than ${MAX_SECRET_BYTES / 1024} KiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}
