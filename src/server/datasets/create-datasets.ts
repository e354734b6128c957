/** The capabilities for datasets. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { once } from "../../domain/once.ts";
import type { RecurringJob } from "../jobs/recurring.ts";
import type { TableEngine } from "../tables/engine.ts";
import { createDatasets, type Datasets } from "./datasets.ts";
import { createDatasetPreviews, type DatasetPreviews } from "./preview.ts";
import { createRevisionMaker, type RevisionMakerParts, type Revisions } from "./revision-maker.ts";
import { createDatasetStatistics, type DatasetStatistics } from "./statistics.ts";
import { datasetUpkeep } from "./upkeep.ts";
import { createDatasetUploads, type DatasetUploads } from "./uploads.ts";

/** Datasets. */
export interface DatasetCapabilities {
  /** Revisions as those see them who make them. */
  readonly revisions: Revisions;
  readonly datasets: Datasets;
  readonly uploads: DatasetUploads;
  readonly statistics: DatasetStatistics;
  readonly previews: DatasetPreviews;
  /** What is done now and then, once for all nodes. */
  readonly upkeep: Pick<RecurringJob, "run">;
  /** Waits for what was begun. */
  close(): Promise<void>;
}

/** What datasets need beside what their revisions do. */
export interface DatasetParts extends RevisionMakerParts {
  readonly tables: () => Promise<TableEngine>;
  /** The features of an environment that are tagged as personal, by FQN. */
  readonly personal: (environmentId: string) => Promise<ReadonlySet<string>>;
  /** Folder for temporary files, which is emptied at its first use. */
  readonly folder: string;
}

/** Makes the capabilities. */
export function createDatasetCapabilities({ folder, ...parts }: DatasetParts): DatasetCapabilities {
  const emptied = once(async () => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
  });
  const workFolder = async (): Promise<string> => {
    await emptied();
    return mkdtemp(join(folder, "work-"));
  };
  const maker = createRevisionMaker(parts);
  const statistics = createDatasetStatistics({ ...parts, workFolder, revisions: maker });
  const revisions: Revisions = {
    ...maker,
    async complete(revisionId, columns) {
      await maker.complete(revisionId, columns);
      statistics.soon(revisionId);
    },
  };
  const datasets = createDatasets(parts);
  return {
    revisions,
    datasets,
    previews: createDatasetPreviews({ ...parts, datasets, revisions: maker, workFolder }),
    uploads: createDatasetUploads({ ...parts, workFolder, revisions }),
    statistics,
    upkeep: datasetUpkeep({ ...parts, revisions, profile: statistics.catchUp }),
    close: statistics.close,
  };
}
