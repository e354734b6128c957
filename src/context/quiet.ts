/** Running where nobody looks: in the background, or for a shell that completes words. */

import type { GlobalFlags } from "./context.ts";
import type { Progress } from "./prompt.ts";

/** Progress that nobody is told. */
export const SILENT: Progress = { step: (_, work) => work(() => {}), note() {}, warn() {}, verbose() {}, debug() {} };

/** Flags of what prints nothing to people and asks for nothing. */
export function quietFlags(dir: string): GlobalFlags {
  return { json: true, spinners: false, verbose: false, debug: false, updateCheck: false, color: "never", pager: false, dir };
}
