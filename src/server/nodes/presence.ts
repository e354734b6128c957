/** Presence: the row in the metadata store by which other nodes know that this one runs. */

import type { Clock } from "../../context/clock.ts";
import type { Log } from "../log.ts";
import type { NodeRecord, NodeStore } from "../stores/metadata/nodes.ts";

const HEARTBEAT_MS = 10_000;
/** Milliseconds without a heartbeat after which a node counts as gone. */
export const GONE_AFTER_MS = 3 * HEARTBEAT_MS;
/**
 * Difference in milliseconds between the clocks of a node and the store from which it is logged.
 */
const MOST_SKEW_MS = 1_000;

/** The presence of this node. */
export interface Presence {
  /** Nodes that run, including this one once its row is written. */
  nodes(): Promise<NodeRecord[]>;
  /** Writes that this node takes on no more work. */
  drain(): Promise<void>;
  /** Removes the row. */
  leave(): Promise<void>;
}

/**
 * Writes the row and renews it. Failed writes are not reported: the next heartbeat makes up for
 * them.
 */
export function startPresence(options: {
  readonly nodes: NodeStore;
  readonly id: string;
  readonly url: string;
  /** See `NodeState`. */
  readonly gatewayUrl: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}): Presence {
  const { nodes, id, gatewayUrl, url, version, clock, log } = options;
  const stopping = new AbortController();
  let isDraining = false;
  let isSkewed = false;

  const writeRow = async (how: "join" | "heartbeat"): Promise<void> => {
    const before = clock.now();
    const storeTime = await nodes[how]({ id, url, gatewayUrl, version, isDraining }).catch(() => undefined);
    if (storeTime === undefined) return;
    const skewMs = storeTime < before ? storeTime - before : Math.max(0, storeTime - clock.now());
    if (Math.abs(skewMs) > MOST_SKEW_MS && !isSkewed)
      log.warning("the clock of this node is not that of the metadata store", { skew_ms: skewMs });
    isSkewed = Math.abs(skewMs) > MOST_SKEW_MS;
  };

  const run = async (): Promise<void> => {
    await writeRow("join");
    while (!stopping.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, stopping.signal).catch(() => undefined);
      if (!stopping.signal.aborted) await writeRow("heartbeat");
    }
  };
  const running = run();

  return {
    nodes: () => nodes.list(GONE_AFTER_MS),
    async drain() {
      isDraining = true;
      await writeRow("heartbeat");
    },
    async leave() {
      stopping.abort();
      await running;
      await nodes.leave(id).catch(() => undefined);
    },
  };
}
