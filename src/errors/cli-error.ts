/** Errors that reach the user: what happened, why, and what to do next. */

/** Options of a CliError beside its message. */
export interface CliErrorOptions {
  /** Machine-readable, snake_case; printed with --json. */
  readonly code?: string;
  /** Next step, printed on a line of its own. */
  readonly hint?: string;
  /** 1 failure, 2 usage, 4 not logged in, 130 interrupted. Default 1. */
  readonly exitCode?: number;
  /** Printed with --json, and with -vv. */
  readonly details?: unknown;
  readonly cause?: unknown;
}

/**
 * A failure that the user can understand. `main` prints its message and hint, and exits with its
 * code.
 */
export class CliError extends Error {
  override readonly name: string = "CliError";
  readonly code: string;
  readonly hint: string | undefined;
  readonly exitCode: number;
  readonly details: unknown;
  constructor(message: string, options: CliErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = options.code ?? "failed";
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? 1;
    this.details = options.details;
  }
}

const UNANSWERED: readonly string[] = ["unreachable", "timeout", "connection_lost"];

/**
 * Whether an error means that there was no answer, or a truncated one: the request may have been
 * carried out or not.
 */
export function isUnanswered(error: unknown): error is CliError {
  return error instanceof CliError && UNANSWERED.includes(error.code);
}

/** A wrong command line: exit 2. */
export class UsageError extends CliError {
  override readonly name = "UsageError";
  constructor(message: string, options: Omit<CliErrorOptions, "exitCode"> = {}) {
    super(message, { code: "usage", ...options, exitCode: 2 });
  }
}

/** Missing or refused credentials: exit 4. */
export class AuthError extends CliError {
  override readonly name = "AuthError";
  constructor(message: string, options: Omit<CliErrorOptions, "exitCode"> = {}) {
    super(message, {
      code: "unauthenticated",
      hint: "Run `svc login`.",
      ...options,
      exitCode: 4,
    });
  }
}

/** A refused question, or one that nobody could answer, as the hint says. Exit 1. */
export class AbortedError extends CliError {
  override readonly name = "AbortedError";
  constructor(options: Pick<CliErrorOptions, "hint"> = {}) {
    super("Aborted.", { code: "aborted", ...options });
  }
}

/**
 * An interruption: Ctrl-C, or a signal to end. It is also the reason of the aborted
 * `context.signal`.
 */
export class InterruptedError extends CliError {
  override readonly name = "InterruptedError";
  constructor(exitCode: number) {
    super("Interrupted.", { code: "interrupted", exitCode });
  }
}

/**
 * The end of stdout's reader (`svc ...
 * head -1`): the command ends quietly, with exit code 0.
 */
export class OutputClosedError extends CliError {
  override readonly name = "OutputClosedError";
  constructor() {
    super("stdout was closed", { code: "output_closed", exitCode: 0 });
  }
}
