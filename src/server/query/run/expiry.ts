/** How long the online store keeps what a query hands to it. */

import { expiryOf } from "../../writes/policy.ts";
import type { PlanSlot } from "../plan/plan.ts";
import type { Run } from "./run.ts";

/** When the online store may forget a slot's value. */
export function expiryOfSlot({ context }: Run, { feature, readMs }: PlanSlot, observedAt: number): { readonly expiresAt?: number } {
  const ofGraph = context.deployment.longestStaleness?.get(feature.featureId as number) ?? feature.stalenessMs;
  return expiryOf(observedAt, Math.max(readMs, ofGraph));
}
