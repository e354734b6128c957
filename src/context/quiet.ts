/** Contexts without a user: background processes, and shells that complete words. */

import type { GlobalFlags } from "./flags.ts";
import type { Progress } from "./prompt.ts";

/** Progress that shows nothing. */
export const SILENT: Progress = { step: (_, work) => work(() => {}), note() {}, warn() {}, verbose() {}, debug() {} };

/** Flags for a context that prints nothing for people and asks nothing. */
export function quietFlags(dir: string): GlobalFlags {
  return { json: true, spinners: false, verbose: false, debug: false, updateCheck: false, color: "never", pager: false, dir };
}
