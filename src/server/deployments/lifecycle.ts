/**
 * The states of deployments: stored in the metadata store, published to followers, written to the
 * log.
 */

import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { isDeviceFailure, systemWords } from "../../disk/disk-error.ts";
import type { Log } from "../log.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import type { DeploymentPatch, DeploymentRecord, DeploymentStore } from "../stores/metadata/deployments.ts";
import type { ProgressEvent } from "./progress.ts";

/**
 * The writer of deployments' states. Every change waits while the disk cannot take it; otherwise a
 * deployment would stay in a state that it left long ago.
 */
export interface Lifecycle {
  /** Publishes a line of progress, and keeps it in the deployment's log. */
  note(deployment: DeploymentRecord, text: string, level?: "info" | "error"): void;
  /**
   * Changes a deployment and returns its new record. Rejects when the signal is aborted while it
   * waits.
   */
  move(id: string, patch: DeploymentPatch, signal: AbortSignal): Promise<DeploymentRecord>;
  /**
   * Makes a deployment the live one of its scope. Returns the id of the one that was; undefined
   * when none or the same was. Rejects like `move`.
   */
  promote(deployment: DeploymentRecord, signal: AbortSignal): Promise<string | undefined>;
}

const DISK_RETRY_MS = 1_000;

/** Makes the lifecycle of deployments. */
export function createLifecycle(options: {
  readonly metadata: DeploymentStore;
  readonly logs: LogRecorder;
  /** Sends an event to the followers of a deployment on all nodes. */
  readonly publish: (event: ProgressEvent) => void;
  /**
   * Makes the nodes switch to an environment's live deployment; called before its state LIVE is
   * published.
   */
  readonly promoted: (environmentId: string) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}): Lifecycle {
  const { metadata, logs, publish, promoted, clock, log } = options;

  const keep = async <T>(id: string, signal: AbortSignal, write: () => Promise<T>): Promise<T> => {
    for (let isWaiting = false; ; isWaiting = true) {
      try {
        return await write();
      } catch (error) {
        if (!isDeviceFailure(error) || signal.aborted) throw error;
        if (!isWaiting) {
          log.error("a deployment waits for the disk", { deployment: id, error: String(error) });
          const deployment = await metadata.deployment(id);
          if (deployment) publish({ deployment, progress: `waiting for the disk: ${systemWords(error) ?? error}` });
        }
        await clock.sleep(DISK_RETRY_MS, signal);
      }
    }
  };

  return {
    note(deployment, text, level = "info") {
      publish({ deployment, progress: text });
      logs.record({
        at: clock.now() * 1_000,
        level,
        component: "build",
        environmentId: deployment.environmentId,
        deploymentId: deployment.id,
        branch: deployment.branch,
        operationId: deployment.id,
        logger: "deployment",
        message: text,
      });
    },

    async move(id, patch, signal) {
      const deployment = await keep(id, signal, () => metadata.updateDeployment(id, patch, clock.now()));
      publish({ deployment, progress: "" });
      log.info("deployment", {
        deployment: id,
        status: DeploymentStatus[deployment.status],
        branch: deployment.branch,
        ...(patch.error ? { error: patch.error } : {}),
      });
      return deployment;
    },

    async promote({ id, branch, environmentId }, signal) {
      const replaced = await keep(id, signal, () => metadata.promote(id, clock.now()));
      await promoted(environmentId);
      const live = await metadata.deployment(id);
      if (live) publish({ deployment: live, progress: "" });
      log.info("deployment", { deployment: id, status: "LIVE", branch, replaced });
      return replaced;
    },
  };
}
