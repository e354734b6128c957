/**
 * The upkeep of datasets: removes the files of revisions that were archived some days ago or never
 * completed, what writing revisions left, and computes statistics of columns. Each step may be
 * repeated.
 */

import type { Clock } from "../../context/clock.ts";
import { DAY_MS } from "../../domain/day.ts";
import type { RecurringJob } from "../jobs/recurring.ts";
import type { Log } from "../log.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import { deleteObjects, revisionPrefix } from "./dataset-objects.ts";
import { ARCHIVED_KEPT_MS } from "./datasets.ts";
import type { Revisions } from "./revision-maker.ts";

/** Milliseconds after which a revision to which nothing was added counts as given up. */
export const ABANDONED_AFTER_MS = 3 * DAY_MS;
const BATCH = 100;

/** The job that keeps datasets in order, once for all nodes. */
export function datasetUpkeep({
  metadata: { datasets },
  objects,
  revisions,
  profile,
  clock,
  log,
}: {
  readonly metadata: Pick<MetadataStore, "datasets">;
  readonly objects: ObjectStore;
  readonly revisions: Revisions;
  /** Computes the statistics of revisions that have none. */
  readonly profile: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}): Pick<RecurringJob, "run"> {
  const remove = async (signal: AbortSignal): Promise<void> => {
    for (;;) {
      const now = clock.now();
      const overdue = await datasets.overdue({
        endedBefore: now - ARCHIVED_KEPT_MS,
        untouchedSince: now - ABANDONED_AFTER_MS,
        limit: BATCH,
      });
      for (const revision of overdue) {
        signal.throwIfAborted();
        if (revision.state === "writing") {
          await revisions.abandon(revision.id);
          log.info("a revision was never completed and is given up", { revision: revision.id, dataset: revision.datasetId });
          continue;
        }
        await deleteObjects(objects, revisionPrefix(revision), { signal });
        await datasets.remove(revision.id);
      }
      if (overdue.length < BATCH) return;
    }
  };
  const sweep = async (signal: AbortSignal): Promise<void> => {
    for (;;) {
      const unswept = await datasets.unswept(BATCH);
      for (const revision of unswept) await revisions.sweep(revision, signal);
      if (unswept.length < BATCH) return;
    }
  };
  return {
    async run(signal) {
      await remove(signal);
      await sweep(signal);
      await profile(signal);
    },
  };
}
