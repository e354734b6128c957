/**
 * Deletion of deployments and branches. The records go in one step, together with the job that
 * removes what other stores hold of them; the job is of the scope's group, so that a branch that is
 * deployed again begins after its old values are gone.
 */

import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import type { JobHandler } from "../jobs/runner.ts";
import type { DeploymentRecord, DeploymentStore } from "../stores/metadata/deployments.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import { scopeGroup } from "./builds.ts";
import { onlineScope } from "./live-scopes.ts";
import type { Traffic } from "./traffic.ts";
import { isWarm, leadingDeployment, weightsText } from "./traffic-rules.ts";

/** The kind of the jobs that remove what is left of deleted deployments. */
export const CLEANUP_JOB = "deployment-cleanup";

const MAX_ATTEMPTS = 10;
const ATTEMPT_TIMEOUT_MS = 600_000;

/** The capability to delete deployments. */
export interface Removals {
  /**
   * Deletes a deployment. Rejects with Failure failed_precondition when it is live, has traffic, or
   * is being deployed. One that was live before queries were shared by weights is no longer.
   */
  delete(deployment: DeploymentRecord): Promise<void>;
  /**
   * Deletes a branch with its deployments and online values; returns the number of deployments.
   * Rejects with Failure not_found, or failed_precondition while something is being deployed to it.
   */
  deleteBranch(environmentId: string, branch: string): Promise<number>;
  /** The handler of CLEANUP_JOB jobs. */
  readonly cleanups: JobHandler;
}

interface Cleanup {
  readonly environmentId: string;
  /** Branch that was deleted; empty = none was. */
  readonly branch: string;
  /** Digests of the deployments' sources. */
  readonly sources: readonly string[];
}

/** Makes the capability. */
export function createRemovals(options: {
  readonly metadata: Pick<DeploymentStore, "deleteDeployments" | "deployments" | "isSourceUsed" | "promote">;
  readonly online: Pick<OnlineStore, "dropScope">;
  readonly objects: Pick<ObjectStore, "delete">;
  readonly traffic: Pick<Traffic, "weighted" | "forget">;
  readonly now: () => number;
  /** Stops a deployment on this node. */
  readonly retire: (id: string) => Promise<void>;
  /** Makes all nodes read again what is live in an environment. */
  readonly announceLive: (environmentId: string) => Promise<void>;
  readonly bus: Bus;
}): Removals {
  const { metadata, online, objects, traffic, now, retire, announceLive, bus } = options;

  const job = (payload: Cleanup, branch: string): NewJob => ({
    id: newId("job", now()),
    kind: CLEANUP_JOB,
    payload,
    group: scopeGroup(payload.environmentId, branch),
    scope: payload.environmentId,
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  });

  const remove = async (
    environmentId: string,
    what: Parameters<DeploymentStore["deleteDeployments"]>[0],
    cleanup: NewJob,
  ): Promise<readonly DeploymentRecord[]> => {
    const outcome = await metadata.deleteDeployments(what, cleanup);
    if ("refused" in outcome)
      throw outcome.refused === "live"
        ? new Failure("failed_precondition", `Deployment ${outcome.id} is live, so it was not deleted.`, {
            hint: "Make another one live first: `svc deployment promote` or `svc deployment rollback`.",
          })
        : new Failure("failed_precondition", `Deployment ${outcome.id} is being deployed, so nothing was deleted.`, {
            hint: "Try again when it is live or has failed; `svc deployment list` shows that. What waits for approval ends with `svc approval withdraw`.",
          });
    const ids = outcome.deleted.map(({ id }) => id);
    bus.publish("jobs");
    await announceLive(environmentId);
    await traffic.forget(environmentId, ids);
    await Promise.all(ids.map(retire));
    return outcome.deleted;
  };

  return {
    async delete({ id, environmentId, branch, sourceSha256 }) {
      const weighted = await traffic.weighted(environmentId);
      const tags = weighted.filter((one) => one.deploymentId === id && isWarm(one));
      if (tags.length > 0)
        throw new Failure("failed_precondition", `Deployment ${id} has traffic (${weightsText(tags)}), so it was not deleted.`, {
          hint: "Take its traffic away first: `svc traffic suspend --deployment-tag=<tag>`.",
        });
      const leading = branch === "" ? leadingDeployment(weighted) : undefined;
      if (leading !== undefined) await metadata.promote(leading, now());
      await remove(environmentId, { ids: [id] }, job({ environmentId, branch: "", sources: [sourceSha256] }, branch));
    },

    async deleteBranch(environmentId, branch) {
      const deployments = await metadata.deployments({ environmentId, branch, limit: Number.MAX_SAFE_INTEGER });
      if (deployments.length === 0)
        throw new Failure("not_found", `There is no branch '${branch}' in this environment.`, {
          hint: "`svc branch list` shows the branches.",
        });
      const sources = [...new Set(deployments.map(({ sourceSha256 }) => sourceSha256))];
      return (await remove(environmentId, { environmentId, branch }, job({ environmentId, branch, sources }, branch))).length;
    },

    cleanups: {
      async run({ payload }) {
        const { environmentId, branch, sources } = payload as Cleanup;
        if (branch !== "") await online.dropScope(onlineScope(environmentId, branch));
        for (const source of sources) if (!(await metadata.isSourceUsed(source))) await objects.delete(source);
      },
      giveUp: () => Promise.resolve(),
    },
  };
}
