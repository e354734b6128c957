/** Threads that leave the processor to others. */

import { readlinkSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { basename } from "node:path";

/**
 * Has the thread that calls it run when others of this machine do not want to, where the system
 * knows priorities of threads: Linux. Elsewhere, and where it is not allowed, nothing changes.
 */
export function yieldToOthers(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(Number(basename(readlinkSync("/proc/thread-self"))), constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    return;
  }
}
