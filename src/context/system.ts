/** The real dependencies of `main`. */

import type * as os from "node:os";
import type { ServerName } from "../client/server-names.ts";
import type { ServerNoun } from "../domain/server-noun.ts";
import type { Context } from "./context.ts";
import type { GlobalFlags } from "./flags.ts";
import { internalCommands } from "./internal-commands.ts";
import type { Surroundings } from "./machine.ts";
import type { Progress } from "./prompt.ts";
import { quietFlags, SILENT } from "./quiet.ts";
import { listenForSignals } from "./signals.ts";
import { systemIo } from "./streams.ts";
import { systemClock } from "./system-clock.ts";

/** Milliseconds that completion waits for the server. */
const COMPLETION_LIMIT_MS = 100;

/** Loaded on first use: it takes longer than all of `svc --version`. */
const nodeOs = (): typeof os => require("node:os");

/** The surroundings of this process. */
export function systemSurroundings(): Surroundings {
  const { env, platform, arch, execPath, pid } = process;
  return {
    env,
    platform,
    arch,
    execPath,
    pid,
    get hostname() {
      return nodeOs().hostname();
    },
    get homeDir() {
      return (platform !== "win32" && env.HOME) || nodeOs().homedir();
    },
  };
}

/** The working directory; when it was deleted, the path that the shell remembers. */
function workingDirectory(env: Surroundings["env"]): string {
  try {
    return process.cwd();
  } catch {
    return env.PWD?.startsWith("/") ? env.PWD : "/";
  }
}

/** Everything that `main` needs from the machine. */
export function systemDeps() {
  const surroundings = systemSurroundings();
  let say: (text: string) => void = () => {};
  const { signal, crashed, interruptible } = listenForSignals((text) => say(text));
  const io = systemIo(signal);
  say = io.writeErr;
  let asked: GlobalFlags | undefined;
  const cwd = workingDirectory(surroundings.env);
  const contextOf = async (flags: GlobalFlags, signal: AbortSignal, progress?: Progress): Promise<Context> => {
    const [{ createContext }, { systemMachine }, { createPrompt }, { createProgress }] = await Promise.all([
      import("./create-context.ts"),
      import("./system-machine.ts"),
      import("./system-prompt.ts"),
      import("./progress.ts"),
    ]);
    return createContext({
      flags,
      io,
      clock: systemClock,
      surroundings,
      machine: systemMachine(surroundings, signal),
      prompt: createPrompt(io, flags, signal),
      progress: progress ?? (await createProgress(io, flags)),
      signal,
    });
  };
  return {
    internalCommands: internalCommands({ io, surroundings, clock: systemClock, signal }),
    io,
    surroundings,
    cwd,
    now: () => systemClock.now(),
    signal,
    crashed,
    interruptible,
    async createContext(flags: GlobalFlags): Promise<Context> {
      asked = flags;
      return contextOf(flags, signal);
    },
    /**
     * The server's names for completion, within a time limit that people do not notice; empty for a
     * command line that cannot be parsed.
     */
    async serverNames(thing: ServerNoun, given: Readonly<Record<string, string>>): Promise<readonly ServerName[]> {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(COMPLETION_LIMIT_MS)]);
      const { promise: timedOut, resolve } = Promise.withResolvers<readonly ServerName[]>();
      limit.addEventListener("abort", () => resolve([]), { once: true });
      const { serverNames } = await import("../client/server-names.ts");
      const context = await contextOf({ ...quietFlags(given.dir ?? cwd), ...given }, limit, SILENT);
      return Promise.race([serverNames(context, thing), timedOut]);
    },
    /** The reminder of a newer version after a command, for people only. */
    async afterwards(): Promise<void> {
      if (!asked?.updateCheck || signal.aborted || !io.stderrIsTTY) return;
      const { showReminder } = await import("../release/reminder.ts");
      await showReminder({ flags: asked, surroundings, now: systemClock.now(), writeErr: io.writeErr }).catch(() => undefined);
    },
    close: () => io.close(),
  };
}
