/** Ctrl-C and its like become an aborted signal; a second one ends the process at once. */

import { InterruptedError } from "../errors/cli-error.ts";
import { type EndingSignal, exitCodes, signalExitCode } from "../errors/exit-codes.ts";

/** How long a command may take to stop before the user is told how to stop it at once. */
const PATIENCE_MS = 1_500;

/** What `listenForSignals` gives. */
export interface Signals {
  /** Aborted with an InterruptedError. */
  readonly signal: AbortSignal;
  /** Rejects with an error that nobody waited for. */
  readonly crashed: Promise<never>;
}

/**
 * Listens for the signals that end a command, and for errors that nobody handled: those abort the
 * command too, and what then still keeps the process alive is cut off. `say` writes to stderr.
 */
export function listenForSignals(say: (text: string) => void): Signals {
  const controller = new AbortController();
  const { promise: crashed, reject } = Promise.withResolvers<never>();
  crashed.catch(() => {});
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const satisfies readonly EndingSignal[]) {
    process.on(name, () => {
      if (controller.signal.aborted) {
        process.removeAllListeners(name);
        process.kill(process.pid, name);
        return;
      }
      if (name === "SIGINT") {
        setTimeout(() => say("Stopping. Press Ctrl-C again to stop at once.\n"), PATIENCE_MS).unref();
      }
      controller.abort(new InterruptedError(signalExitCode(name)));
    });
  }
  const crash = (error: unknown) => {
    reject(error);
    controller.abort(error);
    setTimeout(() => process.exit(exitCodes.failure), PATIENCE_MS).unref();
  };
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  return { signal: controller.signal, crashed };
}
