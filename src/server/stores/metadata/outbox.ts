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

/** What the receiver of a delivery answered. */
export interface DeliveryAnswer {
  /** Status of HTTP. */
  readonly status: number;
  /** The beginning of its body. */
  readonly body: string;
  readonly isCut: boolean;
  /** When it came, epoch milliseconds. */
  readonly at: number;
}

/** An open outbox. */
export interface OutboxQueue extends JobStore {
  /**
   * Keeps an answer to the job of a kind and idempotency key in place of the one before it, as long
   * as there is the job.
   */
  keepAnswer(kind: string, idempotencyKey: string, answer: DeliveryAnswer): Promise<void>;
  /** The last answer to a job; undefined = none is kept. */
  answer(kind: string, idempotencyKey: string): DeliveryAnswer | undefined;
  /** Commits pending writes and closes the database. */
  close(): void;
}
