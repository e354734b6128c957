/** The period of commands that show usage. */

import { timestamp } from "../../cli/flag.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";

/** `--start`, `--end`; `start` is the default in words. */
export const periodFlags = (start: string) => ({
  start: timestamp("start of the time range", { aliases: ["--start-time"], defaultText: start }),
  end: timestamp("end of the time range", { aliases: ["--end-time"], defaultText: "now" }),
});

/** A given period. */
interface GivenPeriod {
  readonly start: number | undefined;
  readonly end: number | undefined;
}

/** Throws a UsageError when a period ends before it begins. */
export function checkPeriod({ end, start }: GivenPeriod): void {
  if (start !== undefined && end !== undefined && start >= end) throw new UsageError("--start is not before --end");
}

/** The period as fields of a request. */
export function periodFields({ end, start }: GivenPeriod) {
  return {
    ...(start !== undefined && { startTime: msToTimestamp(start) }),
    ...(end !== undefined && { endTime: msToTimestamp(end) }),
  };
}
