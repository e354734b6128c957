/**
 * Renames that put a file in its place. On Windows one is refused while another program has the old
 * or the new file open, as a virus scanner, an indexer or another svc does for a moment; it is
 * tried again until they let go.
 */

import { promises, renameSync } from "node:fs";
import { systemCode } from "./disk-error.ts";

/** Longest time to wait for other programs, in milliseconds. */
export const RENAME_PATIENCE_MS = 2_000;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 200;

/** Renames, also over a file that is there. Rejects with the system's error. */
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

/** The same, without giving up the thread. Throws the system's error. */
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
 * How long to wait after an error; throws the error when waiting would not help or has lasted long
 * enough.
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
