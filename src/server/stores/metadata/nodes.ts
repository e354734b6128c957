/**
 * The nodes of a platform: one row for each running server. Times are epoch milliseconds of the
 * store's own clock.
 */

/** The state that a node reports. */
export interface NodeState {
  readonly id: string;
  /** Its address, as seen on its own machine. */
  readonly url: string;
  /** Where gateways of other nodes reach its own; empty = nowhere. */
  readonly gatewayUrl: string;
  readonly version: string;
  /** Whether it accepts no new work because it is about to stop. */
  readonly isDraining: boolean;
}

/** A node as it is stored. */
export interface NodeRecord extends NodeState {
  readonly startedAt: number;
  /** Time of its last heartbeat. */
  readonly heartbeatAt: number;
}

/** The nodes. */
export interface NodeStore {
  /** Registers a node that starts; an earlier row of it is replaced. Returns the store's time. */
  join(node: NodeState): Promise<number>;
  /**
   * Records a heartbeat with the node's state; a row that was removed meanwhile is created again.
   * Returns the store's time.
   */
  heartbeat(node: NodeState): Promise<number>;
  /** Removes a node that stopped. */
  leave(id: string): Promise<void>;
  /**
   * Nodes whose last heartbeat is at most this old, ordered by start. A node with an older
   * heartbeat counts as gone.
   */
  list(withinMs: number): Promise<NodeRecord[]>;
  /** Removes the rows of nodes whose last heartbeat is older than this; returns their number. */
  purge(olderThanMs: number): Promise<number>;
}
