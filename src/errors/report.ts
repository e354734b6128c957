/** The report of an error on stderr: text with a hint, or one JSON object. Stacks only with -vv. */

import type { Io } from "../context/io.ts";
import { escapeUnseen, visibleLines } from "../domain/visible.ts";
import { CliError } from "./cli-error.ts";
import { exitCodes } from "./exit-codes.ts";
import { fromSystem } from "./from-system.ts";

/** Options of a report. */
export interface ReportOptions {
  readonly json: boolean;
  /** -vv: also stacks, causes and details. */
  readonly debug: boolean;
  /** Styles the word `Error` on a terminal. */
  readonly mark?: (text: string) => string;
}

/**
 * The error as one that the user can understand. An unexpected error is reported as a bug of svc.
 */
export async function toCliError(error: unknown): Promise<CliError> {
  if (error instanceof CliError) return error;
  if (error instanceof Error) {
    if (error.name === "ConnectError") {
      const { fromConnect, isConnectError } = await import("./from-connect.ts");
      if (isConnectError(error)) return fromConnect(error);
    }
    const system = fromSystem(error);
    if (system) return system;
    const { fromFetch } = await import("./from-fetch.ts");
    const network = fromFetch(error);
    if (network) return network;
  }
  const message = error instanceof Error ? error.message || error.name : String(error);
  return new CliError(`this is a fault in svc: ${message}`, {
    code: "internal",
    hint: "Run the command again with -vv to see where it happened, and report that.",
    cause: error,
  });
}

/** Writes an error to stderr and returns the exit code. */
export async function report(error: unknown, io: Pick<Io, "writeErr">, options: ReportOptions): Promise<number> {
  const known = await toCliError(error);
  if (known.code === "output_closed") return exitCodes.ok;
  io.writeErr(options.json ? `${asJson(known)}\n` : asText(known, options));
  if (options.debug) io.writeErr(stacks(error));
  return known.exitCode;
}

function asJson(error: CliError): string {
  const { code, message, hint, details } = error;
  const known = details === undefined || details === null ? {} : details;
  const extended = hint && typeof known === "object" && !Array.isArray(known) ? { ...known, hint } : details;
  const text = JSON.stringify({ error: { code, message, details: extended ?? undefined } }, (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  return escapeUnseen(text);
}

function asText(error: CliError, options: ReportOptions): string {
  const mark = options.mark ?? ((text: string) => text);
  const bare = error.code === "interrupted" || error.code === "aborted" || /^(Error|Warning)\[/.test(error.message);
  const message = bare ? visibleLines(error.message) : `${mark("Error:")} ${visibleLines(error.message)}`;
  const details = options.debug && error.details !== undefined ? `\n${asJson(error)}` : "";
  return `${message}${error.hint ? `\n${visibleLines(error.hint)}` : ""}${details}\n`;
}

function stacks(error: unknown): string {
  let text = "";
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    text += `${depth === 0 ? "" : "caused by "}${at.stack ?? at.message}\n`;
  }
  return visibleLines(text);
}
