/**
 * The outbox of webhooks: a queue of jobs in a database of its own, which belongs to the metadata
 * store. Who delivers opens it in a thread, so that no query waits for its writes; nodes that share
 * the metadata store share the outbox too.
 */

import type { JobStore } from "./jobs.ts";

/** Where the outbox is. It can be sent to a thread. */
export interface OutboxPlace {
  /** Absolute path of its database, which exists from the first delivery on. */
  readonly path: string;
  /** Version of the program, for the message about a newer schema. */
  readonly programVersion: string;
}

/** An open outbox. */
export interface OutboxQueue extends JobStore {
  /** Commits pending writes and closes the database. */
  close(): void;
}
