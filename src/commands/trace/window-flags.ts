/** Which traces or spans a command is about: times, and what a span is like. */

import { text, timestamp } from "../../cli/flag.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";

/** Most rows of one answer. */
export const MOST_ROWS = 1_000;

/** The flags. */
export const windowFlags = {
  startTime: timestamp("start of the time range; default: an hour before its end", { aliases: ["--start"] }),
  endTime: timestamp("end of the time range; default: now", { aliases: ["--end"] }),
  serviceName: text("only with a span of this service: svc, or svc-python for code of the project", { placeholder: "<name>" }),
  spanName: text("only with a span of this name; * stands for anything", { placeholder: "<name>" }),
};

interface WindowInput {
  readonly startTime: number | undefined;
  readonly endTime: number | undefined;
  readonly serviceName: string | undefined;
  readonly spanName: string | undefined;
}

/** Throws UsageError for a range in which nothing lies, and a length that no answer has. */
export function checkWindow({ startTime, endTime, limit }: Pick<WindowInput, "startTime" | "endTime"> & { readonly limit: number }): void {
  if (startTime !== undefined && endTime !== undefined && startTime >= endTime)
    throw new UsageError("--end-time is not after --start-time");
  if (limit < 1 || limit > MOST_ROWS) throw new UsageError(`--limit takes 1 to ${MOST_ROWS}`);
}

/** The fields of a call. */
export function windowOf({ startTime, endTime, serviceName = "", spanName = "" }: WindowInput) {
  return {
    ...(startTime !== undefined && { startTime: msToTimestamp(startTime) }),
    ...(endTime !== undefined && { endTime: msToTimestamp(endTime) }),
    ...{ serviceName, spanName },
  };
}
