/** The parts of a context that requests use. */

import type { Clock } from "../context/clock.ts";
import type { GlobalFlags } from "../context/flags.ts";
import type { Surroundings } from "../context/machine.ts";
import type { Progress } from "../context/prompt.ts";

/** The parts of a context that sending a request uses. */
export interface RequestHost {
  readonly flags: GlobalFlags;
  readonly surroundings: Surroundings;
  readonly clock: Clock;
  readonly progress: Progress;
  /** Aborted when the command is interrupted. */
  readonly signal: AbortSignal;
}
