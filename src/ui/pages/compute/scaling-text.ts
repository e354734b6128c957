/** Scaling groups in words. */

import type { ScalingBoundsJson } from "../../../../gen/svc/v1/scaling_group_pb.ts";

/** How many replicas a group may have. */
export function boundsText({ maxReplicas = 0, minReplicas = 0 }: ScalingBoundsJson): string {
  return minReplicas === maxReplicas ? `always ${maxReplicas}` : `${minReplicas} to ${maxReplicas}`;
}

/** How many replicas there are, and what they follow from. */
export function replicasText(ready: number, wanted: number, bounds: ScalingBoundsJson): string {
  const { maxReplicas = 0, minReplicas = 0, targetCpu = 0 } = bounds;
  const by = minReplicas === maxReplicas ? "" : `, another one at ${targetCpu} % of their processors`;
  return `${ready} of ${wanted} ready; ${boundsText(bounds)}${by}`;
}
