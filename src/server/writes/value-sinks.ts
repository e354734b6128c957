/** The sinks of a server's deployments, which share one queue. */

import type { Log } from "../log.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import { OfflineQueue } from "./offline-queue.ts";
import { offlineVersions, type WrittenDeployment } from "./policy.ts";
import type { ValueSink } from "./sink.ts";

/** The sinks of all deployments and their shared queue. */
export interface ValueSinks {
  /** The sink of a deployment; undefined when none of its values is stored. */
  of(deployment: WrittenDeployment): ValueSink | undefined;
  /**
   * Resolves when everything that any sink took before is on the disk and survives a power cut.
   * Rejects as soon as a part of it could not be written.
   */
  flush(): Promise<void>;
  /** Number of values dropped since the start. */
  dropped(): number;
  /** Number of values that wait to be written. */
  pending(): number;
  /** Writes nothing until `resume`: values wait, and are dropped and counted beyond the bound. */
  suspend(): void;
  /** Writes again. */
  resume(): void;
  /** Writes the pending values unless that is suspended. The store stays open. */
  close(): Promise<void>;
}

/** Creates the sinks' queue on an offline store. */
export function createValueSinks(options: {
  readonly store: Pick<OfflineStore, "append">;
  readonly log: Log;
  /** See `OfflineQueueOptions`. */
  readonly maxPending?: number;
}): ValueSinks {
  const queue = new OfflineQueue(options);
  return {
    of(deployment) {
      const versions = offlineVersions(deployment);
      if (versions.size === 0) return undefined;
      return { take: (columns) => queue.take(deployment.id, versions, columns) };
    },
    flush: () => queue.flush(),
    dropped: () => queue.dropped,
    pending: () => queue.pending,
    suspend: () => queue.suspend(),
    resume: () => queue.resume(),
    close: () => queue.close(),
  };
}
