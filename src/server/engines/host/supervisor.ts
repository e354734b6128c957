/**
 * The process that starts a program of this machine and stays with it: it takes its output, waits
 * for its end and writes both down, whether or not the server still runs.
 */

import { writeSync } from "node:fs";
import { errorText } from "../../../domain/error-text.ts";
import { within, withPrivateUmask } from "../../../python/subprocess.ts";
import { exitCodeOf } from "../../shells/shell-process.ts";
import type { EngineOutput } from "../container-engine.ts";
import { OutputLines } from "../output-lines.ts";
import { type HostState, writeState } from "./host-files.ts";
import { OutputWriter } from "./output-files.ts";
import { identityOf, killMarked, type ProcessIdentity } from "./process-table.ts";

/** The verb of the process. */
export const SUPERVISOR_VERB = "__supervise";
/** The variable by which a program and what it starts are found. */
export const HOST_MARK = "SVC_HOST_PROCESS";

/** What a supervisor is told on its stdin. */
export interface Supervised {
  /** Id of the program. */
  readonly id: string;
  /** Where its state and output are written. */
  readonly folder: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** What it answers with, on a line: nothing when the program runs, or why it does not. */
export interface SupervisorAnswer {
  readonly error?: string;
}

/** Longest wait for the rest of the output of a program that has ended. */
const REST_MS = 2_000;

/** Runs the process. Resolves when the program has ended. */
export async function supervise(): Promise<void> {
  // Whoever ends all processes of a service lets it write how its program ended.
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"] as const) process.on(name, () => undefined);
  const { argv, cwd, env, folder, id } = JSON.parse(await Bun.stdin.text()) as Supervised;
  const answer = (one: SupervisorAnswer): void => void writeSync(1, `${JSON.stringify(one)}\n`);
  let child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  let state: HostState;
  try {
    child = withPrivateUmask(() =>
      Bun.spawn([...argv], { cwd, env: { ...env }, stdin: "ignore", stdout: "pipe", stderr: "pipe", detached: true }),
    );
    state = { supervisor: identityOf(process.pid) as ProcessIdentity, program: identityOf(child.pid), startedAt: Date.now() };
    writeState(folder, state);
  } catch (error) {
    killMarked(HOST_MARK, id);
    answer({ error: errorText(error) });
    return;
  }
  answer({});
  const writer = new OutputWriter(folder);
  const take = async (stream: EngineOutput["stream"]): Promise<void> => {
    const lines = new OutputLines();
    // A full disk must not stop a program: what cannot be written is lost.
    const write = (line: string): void => {
      try {
        writer.write(stream, line);
      } catch {}
    };
    for await (const bytes of child[stream]) for (const line of lines.read(bytes)) write(line);
    if (lines.rest() !== "") write(lines.rest());
  };
  const output = Promise.all([take("stdout"), take("stderr")]).catch(() => undefined);
  const code = await child.exited;
  killMarked(HOST_MARK, id);
  await within(REST_MS, output);
  writer.close();
  writeState(folder, { ...state, exitCode: exitCodeOf(child, code), endedAt: Date.now() });
}
