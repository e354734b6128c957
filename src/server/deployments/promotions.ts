/** Promotion of deployments that were built before, and the way back. */

import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { Failure } from "../failure.ts";
import type { DeploymentRecord, DeploymentStore } from "../stores/metadata/deployments.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Lease } from "./running.ts";
import { READY, refuseShared, type Traffic } from "./traffic.ts";

/** A deployment that was made live. */
export interface Promotion {
  readonly deployment: DeploymentRecord;
  /** Id of the one that was live; undefined when none was, or this one was already. */
  readonly replaced: string | undefined;
}

/** The capability to promote. */
export interface Promotions {
  /**
   * Makes a ready deployment the live one of its scope as soon as its workers run. Rejects with
   * Failure failed_precondition or unavailable.
   */
  promote(deployment: DeploymentRecord): Promise<Promotion>;
  /** Promotes the deployment that was live before. Rejects with Failure failed_precondition. */
  rollBack(environmentId: string, branch: string): Promise<Promotion>;
}

/** Makes the capability. */
export function createPromotions(options: {
  readonly metadata: Pick<DeploymentStore, "deployment" | "livePointers">;
  readonly lifecycle: Pick<Lifecycle, "promote">;
  readonly traffic: Pick<Traffic, "weighted">;
  /** Rejects with Failure failed_precondition when a deployment still needs approval. */
  readonly requireApproved: (deployment: DeploymentRecord) => Promise<void>;
  /** A lease on a deployment, which is started if it does not run. Rejects with Failure. */
  readonly acquire: (deployment: DeploymentRecord) => Promise<Lease>;
  readonly signal: AbortSignal;
}): Promotions {
  const { metadata, lifecycle, traffic, requireApproved, acquire, signal } = options;

  const promote = async (deployment: DeploymentRecord): Promise<Promotion> => {
    const { id, environmentId, branch, status } = deployment;
    if (branch === "") refuseShared(await traffic.weighted(environmentId), "promoted");
    if (!READY.includes(status))
      throw new Failure(
        "failed_precondition",
        status === DeploymentStatus.FAILED
          ? `Deployment ${id} failed, so it cannot be live: ${deployment.error}`
          : `Deployment ${id} is still being deployed (${DeploymentStatus[status].toLowerCase()}).`,
        { hint: "`svc deployment list` shows which are ready." },
      );
    await requireApproved(deployment);
    const lease = await acquire(deployment);
    try {
      const replaced = await lifecycle.promote(deployment, signal);
      return { deployment: (await metadata.deployment(id)) ?? deployment, replaced };
    } finally {
      lease.release();
    }
  };

  return {
    promote,

    async rollBack(environmentId, branch) {
      if (branch === "") refuseShared(await traffic.weighted(environmentId), "rolled back");
      const pointer = (await metadata.livePointers()).find((one) => one.environmentId === environmentId && one.branch === branch);
      const previous = pointer?.previousId === undefined ? undefined : await metadata.deployment(pointer.previousId);
      if (previous) return promote(previous);
      throw new Failure("failed_precondition", "There is no deployment to go back to: none was live before, or it was deleted.", {
        hint: "`svc deployment list` shows what `svc deployment promote` can make live.",
      });
    },
  };
}
