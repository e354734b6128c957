/** Expiry of values that a query hands to the online store. */

import { expiryOf } from "../../writes/policy.ts";
import type { PlanSlot } from "../plan/plan.ts";
import type { Run } from "./run.ts";

/** The expiry of a slot's value in the online store. */
export function expiryOfSlot({ context }: Run, { feature, readMs }: PlanSlot, observedAt: number): { readonly expiresAt?: number } {
  const ofGraph = context.deployment.longestStaleness?.get(feature.featureId as number) ?? feature.stalenessMs;
  return expiryOf(observedAt, Math.max(readMs, ofGraph));
}
