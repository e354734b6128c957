/** Lines as they are written, over breaks of the connection and restarts of the server. */

import type { Client } from "@connectrpc/connect";
import type { LogLine, LogService } from "../../gen/svc/v1/log_pb.ts";
import type { Context } from "../context/context.ts";
import { msToTimestamp } from "../domain/proto-time.ts";
import { CliError, isUnanswered } from "../errors/cli-error.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** What is followed. */
export interface Followed {
  readonly search: string;
  /** Lines of before to begin with. */
  readonly recent: number;
  /** Earliest time of those, epoch milliseconds. */
  readonly startTime?: number | undefined;
}

/**
 * The lines, until the signal is aborted. When the server goes away, it is asked again from the
 * last line on; no line comes twice, and what was skipped is told.
 */
export async function* followLines(
  { clock, progress, signal }: Pick<Context, "clock" | "progress" | "signal">,
  service: Client<typeof LogService>,
  { search, recent, startTime }: Followed,
): AsyncGenerator<LogLine> {
  let cursor = "";
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    const begin = cursor === "" ? { recent, ...(startTime !== undefined && { startTime: msToTimestamp(startTime) }) } : { cursor };
    try {
      for await (const message of service.tailLogs({ search, ...begin }, { signal })) {
        if (pauseMs > FIRST_PAUSE_MS) progress.note("The server is back.");
        pauseMs = FIRST_PAUSE_MS;
        cursor = message.cursor;
        if (message.skipped > 0n) progress.warn(`${message.skipped} lines were skipped: they came faster than they were read.`);
        yield* message.lines;
      }
    } catch (error) {
      if (signal.aborted || cursor === "" || !isGone(error)) throw error;
    }
    signal.throwIfAborted();
    if (pauseMs === FIRST_PAUSE_MS) progress.note("The connection ended; waiting for the server.");
    await clock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** Whether an error means that there is no server for now. */
function isGone(error: unknown): boolean {
  return isUnanswered(error) || (error instanceof CliError && error.code === "unavailable");
}
