/** Ctrl-C, SIGTERM and SIGHUP abort the command's signal; a second one ends the process at once. */

import { InterruptedError } from "../errors/cli-error.ts";
import { type EndingSignal, exitCodes, signalExitCode } from "../errors/exit-codes.ts";

/** Milliseconds that a command may take to stop before the user is told how to stop it at once. */
const GRACE_MS = 1_500;

/** The results of `listenForSignals`. */
export interface Signals {
  /** Aborted with an InterruptedError. */
  readonly signal: AbortSignal;
  /** Rejects with the first error that no code handled. */
  readonly crashed: Promise<never>;
  /** Runs work that holds the process until it is done: meanwhile the signals end it. */
  interruptible<T>(work: () => Promise<T>): Promise<T>;
}

const NAMES = ["SIGINT", "SIGTERM", "SIGHUP"] as const satisfies readonly EndingSignal[];

/**
 * Listens for the signals that end a command, and for unhandled errors: those abort the command
 * too, and end the process soon after if something keeps it alive. `say` writes to stderr.
 */
export function listenForSignals(say: (text: string) => void): Signals {
  const controller = new AbortController();
  const { promise: crashed, reject } = Promise.withResolvers<never>();
  crashed.catch(() => {});
  const listen = (name: EndingSignal) => {
    process.on(name, () => {
      if (controller.signal.aborted) {
        process.removeAllListeners(name);
        process.kill(process.pid, name);
        return;
      }
      if (name === "SIGINT") {
        setTimeout(() => say("Stopping. Press Ctrl-C again to stop at once.\n"), GRACE_MS).unref();
      }
      controller.abort(new InterruptedError(signalExitCode(name)));
    });
  };
  NAMES.forEach(listen);
  const crash = (error: unknown) => {
    reject(error);
    controller.abort(error);
    setTimeout(() => process.exit(exitCodes.failure), GRACE_MS).unref();
  };
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  const interruptible = async <T>(work: () => Promise<T>): Promise<T> => {
    for (const name of NAMES) process.removeAllListeners(name);
    try {
      return await work();
    } finally {
      NAMES.forEach(listen);
    }
  };
  return { signal: controller.signal, crashed, interruptible };
}
