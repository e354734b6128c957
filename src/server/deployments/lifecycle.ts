/** The states of deployments: kept in the metadata store, told to who follows them, written to the log. */

import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { isDeviceFailure, systemWords } from "../../disk/disk-error.ts";
import type { Log } from "../log.ts";
import type { DeploymentPatch, DeploymentRecord, DeploymentStore } from "../stores/metadata/deployments.ts";
import type { TelemetryStore } from "../stores/telemetry/store.ts";
import type { ProgressBoard } from "./progress.ts";

/** Changes what is known of deployments. Every change waits while the disk does not take it: a deployment would stay in a state that it left long ago. */
export interface Lifecycle {
  /** Tells a line of progress, and keeps it in the deployment's log. */
  note(deployment: DeploymentRecord, text: string, level?: "info" | "error"): void;
  /** Changes a deployment and gives it as it then is. Rejects when the signal is aborted while it waits. */
  move(id: string, patch: DeploymentPatch, signal: AbortSignal): Promise<DeploymentRecord>;
  /** Makes a deployment the live one of its scope; gives the id of the one that it replaced. Rejects like `move`. */
  promote(deployment: DeploymentRecord, signal: AbortSignal): Promise<string | undefined>;
}

const DISK_RETRY_MS = 1_000;

/** Makes the lifecycle of deployments. */
export function createLifecycle(options: {
  readonly metadata: DeploymentStore;
  readonly telemetry: TelemetryStore;
  readonly board: ProgressBoard;
  readonly clock: Clock;
  readonly log: Log;
}): Lifecycle {
  const { metadata, telemetry, board, clock, log } = options;

  const keep = async <T>(id: string, signal: AbortSignal, write: () => Promise<T>): Promise<T> => {
    for (let isWaiting = false; ; isWaiting = true) {
      try {
        return await write();
      } catch (error) {
        if (!isDeviceFailure(error) || signal.aborted) throw error;
        if (!isWaiting) {
          log.error("a deployment waits for the disk", { deployment: id, error: String(error) });
          const deployment = await metadata.deployment(id);
          if (deployment) board.publish({ deployment, progress: `waiting for the disk: ${systemWords(error) ?? error}` });
        }
        await clock.sleep(DISK_RETRY_MS, signal);
      }
    }
  };

  return {
    note(deployment, text, level = "info") {
      board.publish({ deployment, progress: text });
      telemetry.recordLog({
        environmentId: deployment.environmentId,
        deploymentId: deployment.id,
        timestampMs: clock.now(),
        level,
        logger: "deployment",
        resolver: "",
        queryId: "",
        text,
      });
    },

    async move(id, patch, signal) {
      const deployment = await keep(id, signal, () => metadata.updateDeployment(id, patch, clock.now()));
      board.publish({ deployment, progress: "" });
      log.info("deployment", {
        deployment: id,
        status: DeploymentStatus[deployment.status],
        branch: deployment.branch,
        ...(patch.error ? { error: patch.error } : {}),
      });
      return deployment;
    },

    async promote({ id, branch }, signal) {
      const replaced = await keep(id, signal, () => metadata.promote(id, clock.now()));
      const live = await metadata.deployment(id);
      if (live) board.publish({ deployment: live, progress: "" });
      log.info("deployment", { deployment: id, status: "LIVE", branch, replaced });
      return replaced;
    },
  };
}
