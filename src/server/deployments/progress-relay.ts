/**
 * The relay of deployments' progress between nodes: events of one node are stored, and reach the
 * followers of the deployment on other nodes.
 */

import type { Clock } from "../../context/clock.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { Log } from "../log.ts";
import { followStore } from "../nodes/follow.ts";
import type { DeploymentRecord } from "../stores/metadata/deployments.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { isSettled, type ProgressBoard, type ProgressEvent } from "./progress.ts";

/** The relay of one node. */
export interface ProgressRelay {
  /**
   * Publishes an event of this node on all nodes. States are stored before this is called; a line
   * of progress is stored now, and other nodes never see it when that fails.
   */
  publish(event: ProgressEvent): void;
  /**
   * Resolves when the board knows all deployments that were not settled when this was called, or
   * when the store could not be read, which is tried again later.
   */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

/** Makes the relay between a node's board and the store. */
export function relayProgress(options: {
  readonly metadata: Pick<MetadataStore, "deployment" | "unfinishedDeployments" | "progress">;
  readonly board: ProgressBoard;
  /** Called with a deployment whose state was changed by another node. */
  readonly onRemoteChange: (deployment: DeploymentRecord) => void;
  readonly bus: Bus;
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
}): ProgressRelay {
  const { metadata, board, onRemoteChange, bus, node, clock, log } = options;
  /** Number of the last line that was read, by deployment. */
  const read = new Map<string, number>();

  /**
   * Publishes the new state and lines of a deployment in the store to the board. When this node
   * published an event meanwhile, which is newer, the store is read again.
   */
  const catchUp = async (id: string): Promise<void> => {
    for (;;) {
      const before = board.known(id);
      const deployment = await metadata.deployment(id);
      if (!deployment) return;
      const isOver = isSettled(deployment.status);
      const lines = isOver && !before ? [] : await metadata.progress.since(id, read.get(id) ?? 0);
      if (board.known(id) !== before) continue;
      for (const line of lines)
        if (line.node !== node) board.publish({ deployment: before?.deployment ?? deployment, progress: line.text });
      if (before?.deployment.status !== deployment.status) {
        board.publish({ deployment, progress: "" });
        if (before || !isOver) onRemoteChange(deployment);
      }
      const last = lines.at(-1);
      if (isOver) read.delete(id);
      else if (last) read.set(id, last.seq);
      return;
    }
  };

  const begin = async (): Promise<void> => {
    const unfinished = await metadata.unfinishedDeployments();
    const isNew = unfinished.filter(({ id }) => !board.known(id));
    const lines = new Map((await metadata.progress.last(isNew.map(({ id }) => id))).map((line) => [line.deploymentId, line]));
    for (const deployment of isNew) {
      const line = lines.get(deployment.id);
      if (board.known(deployment.id)) continue;
      board.publish({ deployment, progress: line?.text ?? "" });
      if (line) read.set(deployment.id, line.seq);
    }
  };

  const following = followStore({
    bus,
    topic: "progress",
    clock,
    log,
    async read(ids) {
      if (ids === undefined) await begin();
      for (const id of ids ?? board.underway().map(({ deployment }) => deployment.id)) await catchUp(id);
    },
  });

  return {
    publish(event) {
      board.publish(event);
      const { deployment, progress } = event;
      const isKept = progress !== "" && !isSettled(deployment.status);
      const kept = isKept ? metadata.progress.add({ deploymentId: deployment.id, node, text: progress }) : Promise.resolve();
      kept.then(
        () => {
          bus.publish("progress", deployment.id);
          noteChange(bus, "deployments", deployment.environmentId);
        },
        () => undefined,
      );
    },
    caughtUp: () => following.reread().catch(() => undefined),
    stop: () => following.stop(),
  };
}
