/**
 * Statistics of revisions' columns: computed once after completion, in the background, and kept.
 * Values of features that are tagged as personal are never part of them.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../log.ts";
import type { RevisionRecord, StoredProfile } from "../stores/metadata/datasets.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { type TableEngine, TableError } from "../tables/engine.ts";
import type { Revisions } from "./revision-maker.ts";

/** Most bytes of a table whose statistics are computed. */
const MOST_BYTES = 8 * 1024 * 1024 * 1024;
const BATCH = 20;

/** Statistics of columns. */
export interface DatasetStatistics {
  /** Computes those of a complete revision soon; never rejects. */
  soon(revisionId: string): void;
  /** Computes those that are missing. */
  catchUp(signal: AbortSignal): Promise<void>;
  /** Statistics as they may be shown; undefined until they were computed. */
  shown(revision: RevisionRecord, options: { readonly values: boolean }): Promise<readonly StoredProfile[] | undefined>;
  /** Waits for what was begun, and begins no more. */
  close(): Promise<void>;
}

/** Makes the statistics. */
export function createDatasetStatistics({
  metadata: { datasets },
  revisions,
  tables,
  personal,
  workFolder,
  log,
}: {
  readonly metadata: Pick<MetadataStore, "datasets">;
  readonly revisions: Revisions;
  readonly tables: () => Promise<TableEngine>;
  /** The features of an environment that are tagged as personal, by FQN. */
  readonly personal: (environmentId: string) => Promise<ReadonlySet<string>>;
  /** Makes a folder for temporary files, which its user removes. */
  readonly workFolder: () => Promise<string>;
  readonly log: Log;
}): DatasetStatistics {
  let isClosed = false;
  let waiting: Promise<void> = Promise.resolve();

  const compute = async (revision: RevisionRecord): Promise<readonly StoredProfile[]> => {
    if (revision.bytes > MOST_BYTES || revision.rows === 0) return [];
    const work = await workFolder();
    try {
      const paths: string[] = [];
      for (const file of await datasets.files(revision.id)) {
        if (file.kind !== "output" || isClosed) continue;
        const path = join(work, String(paths.length));
        await revisions.fetch(file, path);
        paths.push(path);
      }
      const [profiles, hidden] = [await (await tables()).profile(paths), await personal(revision.environmentId)];
      return profiles.map((profile) => {
        const distinct = Math.min(profile.distinct, revision.rows - profile.nulls);
        return hidden.has(profile.name) ? withoutValues({ ...profile, distinct }) : { ...profile, distinct };
      });
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  };

  const one = async (id: string): Promise<void> => {
    const revision = await datasets.revision(id);
    if (isClosed || revision?.state !== "complete" || revision.statistics || revision.columns.length === 0) return;
    const statistics = await compute(revision).catch((error: unknown) => {
      if (isClosed || (error instanceof TableError && error.code === "unavailable")) return undefined;
      log.warning("the statistics of a dataset could not be computed", { revision: id, error: String(error) });
      return [];
    });
    if (statistics && !isClosed) await datasets.keepStatistics(id, statistics);
  };

  return {
    soon(revisionId) {
      waiting = waiting
        .then(() => one(revisionId))
        .catch((error: unknown) => log.warning("statistics could not be kept", { revision: revisionId, error: String(error) }));
    },

    async catchUp(signal) {
      for (const { id } of await datasets.unprofiled(BATCH)) {
        signal.throwIfAborted();
        await one(id);
      }
    },

    async shown({ environmentId, statistics }, { values }) {
      if (!statistics || statistics.length === 0) return undefined;
      if (!values) return statistics.map(withoutValues);
      const hidden = await personal(environmentId);
      return statistics.map((profile) => (hidden.has(profile.name) ? withoutValues(profile) : profile));
    },

    async close() {
      isClosed = true;
      await waiting;
    },
  };
}

function withoutValues({ name, nulls, distinct }: StoredProfile): StoredProfile {
  return { name, nulls, distinct };
}
