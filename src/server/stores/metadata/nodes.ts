/**
 * The nodes of a platform: one row for each server that runs. Times are epoch milliseconds of the
 * store's own clock.
 */

/** A node as it says of itself. */
export interface NodeState {
  readonly id: string;
  /** Its address on its own machine. */
  readonly url: string;
  readonly version: string;
  /** Whether it takes up no more work, because it is about to stop. */
  readonly isDraining: boolean;
}

/** A node as it is kept. */
export interface NodeRecord extends NodeState {
  readonly startedAt: number;
  /** When it was last heard of. */
  readonly heartbeatAt: number;
}

/** The nodes. */
export interface NodeStore {
  /** Says that a node starts: its row is new. Gives the store's time. */
  join(node: NodeState): Promise<number>;
  /**
   * Says that a node runs, and how; a row that was removed meanwhile is made again. Gives the
   * store's time.
   */
  heartbeat(node: NodeState): Promise<number>;
  /** Removes a node that stopped. */
  leave(id: string): Promise<void>;
  /**
   * Nodes that were heard of within this time, by start; a node that is not heard of for longer is
   * gone, whatever its row says.
   */
  list(withinMs: number): Promise<NodeRecord[]>;
  /** Removes the rows of nodes that were not heard of for longer than this; gives their number. */
  purge(olderThanMs: number): Promise<number>;
}
