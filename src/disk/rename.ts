/**
 * Atomic renames. On Windows a rename fails while another program has the old or the new file open,
 * as a virus scanner, an indexer or another svc briefly does; it is retried until they close it.
 */

import { promises, renameSync } from "node:fs";
import { systemCode } from "./disk-error.ts";

/** Longest time of retries, in milliseconds. */
export const RENAME_PATIENCE_MS = 2_000;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 200;

/** Renames a file, replacing an existing one. Rejects with the system's error. */
export async function renameInPlace(from: string, to: string): Promise<void> {
  for (const pauses = pausesBetween(); ; ) {
    try {
      await promises.rename(from, to);
      return;
    } catch (error) {
      await Bun.sleep(pauses.next(error));
    }
  }
}

/** Renames a file, replacing an existing one; blocks the thread. Throws the system's error. */
export function renameInPlaceSync(from: string, to: string): void {
  for (const pauses = pausesBetween(); ; ) {
    try {
      renameSync(from, to);
      return;
    } catch (error) {
      Bun.sleepSync(pauses.next(error));
    }
  }
}

/**
 * The pauses between attempts, in milliseconds: `next` throws the error when another attempt would
 * not help or too much time has passed.
 */
function pausesBetween(): { next(error: unknown): number } {
  const until = performance.now() + RENAME_PATIENCE_MS;
  let pause = FIRST_PAUSE_MS;
  return {
    next(error) {
      const isHeld = process.platform === "win32" && ["EPERM", "EACCES", "EBUSY"].includes(systemCode(error) ?? "");
      if (!isHeld || performance.now() > until) throw error;
      const now = pause;
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
      return now;
    },
  };
}
