/** Presence: the row by which other nodes know that this one runs. */

import type { Clock } from "../../context/clock.ts";
import type { Log } from "../log.ts";
import type { NodeRecord, NodeStore } from "../stores/metadata/nodes.ts";

const HEARTBEAT_MS = 10_000;
/** Milliseconds without a heartbeat after which a node is taken for gone. */
export const GONE_AFTER_MS = 3 * HEARTBEAT_MS;
/** How far the clock of a node may be from the store's before the log says so. */
const MOST_SKEW_MS = 1_000;

/** The presence of this node. */
export interface Presence {
  /** Nodes that run, this one among them once its first heartbeat was taken. */
  nodes(): Promise<NodeRecord[]>;
  /** Says that this node takes up no more work. */
  drain(): Promise<void>;
  /** Removes the row. */
  leave(): Promise<void>;
}

/**
 * Makes the row and keeps it. While the store cannot be used, nothing is said; the next heartbeat
 * makes good for it.
 */
export function startPresence(options: {
  readonly nodes: NodeStore;
  readonly id: string;
  readonly url: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}): Presence {
  const { nodes, id, url, version, clock, log } = options;
  const stopping = new AbortController();
  let isDraining = false;
  let isSkewed = false;

  const say = async (how: "join" | "heartbeat"): Promise<void> => {
    const before = clock.now();
    const said = await nodes[how]({ id, url, version, isDraining }).catch(() => undefined);
    if (said === undefined) return;
    const skewMs = said < before ? said - before : Math.max(0, said - clock.now());
    if (Math.abs(skewMs) > MOST_SKEW_MS && !isSkewed)
      log.warning("the clock of this node is not that of the metadata store", { skew_ms: skewMs });
    isSkewed = Math.abs(skewMs) > MOST_SKEW_MS;
  };

  const run = async (): Promise<void> => {
    await say("join");
    while (!stopping.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, stopping.signal).catch(() => undefined);
      if (!stopping.signal.aborted) await say("heartbeat");
    }
  };
  const running = run();

  return {
    nodes: () => nodes.list(GONE_AFTER_MS),
    async drain() {
      isDraining = true;
      await say("heartbeat");
    },
    async leave() {
      stopping.abort();
      await running;
      await nodes.leave(id).catch(() => undefined);
    },
  };
}
