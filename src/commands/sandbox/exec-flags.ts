/** A command in a sandbox, with the streams of this one. */

import type { Context } from "../../context/context.ts";
import { TICKET_HEADER } from "../../domain/shell-frames.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { variablesOfLists } from "../container-flags.ts";

/** A command that is to be run. */
export interface WantedExec {
  /** Id or name. */
  readonly sandbox: string;
  readonly command: readonly string[];
  readonly workdir: string | undefined;
  readonly env: readonly (readonly [string, string])[];
  /** Seconds. */
  readonly timeout: number | undefined;
  readonly tty: boolean;
}

/** Throws UsageError for what cannot be run so. */
export function checkExec({ timeout, tty }: Pick<WantedExec, "timeout" | "tty">, { io, flags }: Context): void {
  if (timeout !== undefined && timeout < 1) throw new UsageError("--timeout is at least 1 second");
  if (tty && !(io.stdinIsTTY && io.stdoutIsTTY)) throw new UsageError("--tty needs a terminal; leave it out in a pipe");
  if (flags.json) throw new UsageError("--json is not for a command in a sandbox: its output is the program's");
}

/** Runs a command to its end; resolves with its exit code. */
export async function runExec({ api, attach, http, io, signal }: Context, wanted: WantedExec): Promise<number> {
  const { sandbox, command, workdir = "", env, timeout = 0, tty } = wanted;
  const [sandboxes, { runShell }, { NO_LOG }] = [
    await api.sandboxes(),
    await import("../../shell-client/run-shell.ts"),
    await import("../../shell-client/debug-log.ts"),
  ];
  const { path, ticket } = await sandboxes.openExec({
    ...{ sandbox, command: [...command], workdir, environment: variablesOfLists(env), timeoutSeconds: timeout },
    ...(tty && { terminal: true, columns: io.width, rows: io.height }),
  });
  const socket = await http.openSocket(path, { [TICKET_HEADER]: ticket });
  return attach((attached) => runShell(socket, attached, NO_LOG, signal), !tty);
}
