/** Errors of the operating system (files, streams) as errors for the user. */

import { DiskError, systemCode, systemWords } from "../disk/disk-error.ts";
import { CliError } from "./cli-error.ts";

/**
 * The error for the user when `error` is a system error, else undefined. `what` names the action
 * that failed, for example "write to stdout".
 */
export function fromSystem(error: unknown, what?: string): CliError | undefined {
  if (error instanceof DiskError) return new CliError(error.message, { code: error.code, hint: error.hint, cause: error });
  const words = systemWords(error);
  if (!(error instanceof Error) || !words) return undefined;
  const path = "path" in error && typeof error.path === "string" ? error.path : undefined;
  const subject = what ? `cannot ${what}` : path ? `cannot use ${path}` : "a file could not be used";
  return new CliError(`${subject}: ${words}`, { code: systemCode(error)?.toLowerCase(), cause: error });
}
