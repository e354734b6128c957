/** The exit codes of `svc`. */
export const exitCodes = {
  ok: 0,
  /**
   * API errors, validation or lint errors, an aborted question, a failed test or wait; also a
   * failed network, where with --json the error's `code` says how (`unreachable`, `timeout`,
   * `connection_lost`).
   */
  failure: 1,
  /** Unknown command or flag, bad value, broken rule between flags. */
  usage: 2,
  /** Not logged in, or the credentials were refused. */
  auth: 4,
  /** A closed terminal. */
  hangup: 129,
  /** Ctrl-C. */
  interrupted: 130,
  terminated: 143,
} as const;

/** The meanings of the exit codes, as in help and the README. */
export const EXIT_CODE_MEANINGS: Readonly<Record<number, string>> = {
  [exitCodes.ok]: "done",
  [exitCodes.failure]: "failed",
  [exitCodes.usage]: "wrong usage",
  [exitCodes.auth]: "not logged in or refused",
  [exitCodes.hangup]: "terminal closed",
  [exitCodes.interrupted]: "interrupted",
  [exitCodes.terminated]: "terminated",
};

/** Signals that end a command early. */
export type EndingSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** The exit code after a signal: 128 and its number. */
export function signalExitCode(signal: EndingSignal): number {
  return signal === "SIGINT" ? exitCodes.interrupted : signal === "SIGTERM" ? exitCodes.terminated : exitCodes.hangup;
}
