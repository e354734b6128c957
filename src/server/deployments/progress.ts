/** Progress of deployments: followers receive every state and every line as it comes. */

import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import type { Clock } from "../../context/clock.ts";
import type { DeploymentRecord } from "../stores/metadata/deployments.ts";

/** A state of a deployment, or a line about what is being done; an empty line is a heartbeat. */
export interface ProgressEvent {
  readonly deployment: DeploymentRecord;
  readonly progress: string;
}

/**
 * Whether a deployment's build has ended: its status then changes only when another deployment
 * replaces it.
 */
export function isSettled(status: DeploymentStatus): boolean {
  return status === DeploymentStatus.LIVE || status === DeploymentStatus.FAILED || status === DeploymentStatus.INACTIVE;
}

/** The events of all deployments that this node knows of. */
export interface ProgressBoard {
  publish(event: ProgressEvent): void;
  /**
   * The deployments that are not settled, in the order of their first events, each with its last
   * line.
   */
  underway(): readonly ProgressEvent[];
  /**
   * The last event of a deployment that is not settled, another object after each event. Undefined
   * when there was none, or the deployment is settled.
   */
  known(id: string): ProgressEvent | undefined;
  /**
   * The current state, then every event until the deployment is settled. While there are no events,
   * the state is read again and sent as a heartbeat. Ends early, without an error, when the signal
   * is aborted.
   */
  follow(current: () => Promise<DeploymentRecord>, deploymentId: string, signal: AbortSignal): AsyncIterable<ProgressEvent>;
}

const HEARTBEAT_MS = 10_000;

/** Makes the board. */
export function createProgressBoard(clock: Clock, heartbeatMs = HEARTBEAT_MS): ProgressBoard {
  const followers = new Map<string, Set<(event: ProgressEvent) => void>>();
  const unsettled = new Map<string, ProgressEvent>();
  return {
    publish(event) {
      const { deployment, progress } = event;
      if (isSettled(deployment.status)) unsettled.delete(deployment.id);
      else unsettled.set(deployment.id, { deployment, progress: progress || (unsettled.get(deployment.id)?.progress ?? "") });
      for (const tell of followers.get(deployment.id) ?? []) tell(event);
    },
    underway: () => [...unsettled.values()],
    known: (id) => unsettled.get(id),
    async *follow(current, deploymentId, signal) {
      const waiting: ProgressEvent[] = [];
      let wake: (() => void) | undefined;
      const tell = (event: ProgressEvent): void => {
        waiting.push(event);
        wake?.();
      };
      const group = followers.get(deploymentId) ?? new Set();
      followers.set(deploymentId, group.add(tell));
      const stop = (): void => wake?.();
      signal.addEventListener("abort", stop);
      try {
        let last = await current();
        yield { deployment: last, progress: "" };
        while (!isSettled(last.status) && !signal.aborted) {
          const event = waiting.shift();
          if (event) {
            last = event.deployment;
            yield event;
            continue;
          }
          const pause = new AbortController();
          await Promise.race([
            new Promise<void>((resolve) => {
              wake = resolve;
            }),
            clock.sleep(heartbeatMs, pause.signal).catch(() => undefined),
          ]);
          pause.abort();
          wake = undefined;
          if (waiting.length > 0 || signal.aborted) continue;
          last = await current().catch(() => last);
          yield { deployment: last, progress: "" };
        }
      } finally {
        signal.removeEventListener("abort", stop);
        group.delete(tell);
        if (group.size === 0) followers.delete(deploymentId);
      }
    },
  };
}
