/** What a probe is given and what it comes to. */

import type { Clock } from "../../context/clock.ts";
import type { Variables } from "../../domain/integrations.ts";

/** The outcome of a probe. */
export interface ProbeResult {
  /** `untested` = nothing was called. */
  readonly status: "ok" | "failed" | "untested";
  /** What was called and what it answered, or why nothing was called; never has a secret. */
  readonly message: string;
}

/** What probes use. */
export interface ProbeContext {
  readonly clock: Clock;
  /** Aborted when the time is up. */
  readonly signal: AbortSignal;
}

/** Makes one call that changes nothing. Throws ProbeFailed or SqlError with the reason. */
export type Probe = (variables: Variables, context: ProbeContext) => Promise<ProbeResult>;

/** Nothing was called, for a reason. */
export function untested(reason: string): ProbeResult {
  return { status: "untested", message: reason };
}
