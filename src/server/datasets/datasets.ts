/** Datasets as people see them: found, renamed, archived, and read by signed addresses. */

import type { Clock } from "../../context/clock.ts";
import { DAY_MS } from "../../domain/day.ts";
import { Failure } from "../failure.ts";
import type { DatasetFileRecord, DatasetFilter, DatasetRecord, RevisionRecord, ShownDataset } from "../stores/metadata/datasets.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { ObjectStore, SignedAddress } from "../stores/objects/store.ts";
import { revisionOfKey } from "./dataset-objects.ts";
import { checkDatasetName } from "./names.ts";
import { checkReadable } from "./revision-maker.ts";

/** Milliseconds that the files of an archived revision are kept. */
export const ARCHIVED_KEPT_MS = 7 * DAY_MS;

/**
 * Milliseconds between two looks at a revision that is being written, and between signs of life.
 */
const LOOK_MS = 1_000;
const HEARTBEAT_MS = 10_000;

/** A dataset with the revision that was asked for, else its latest complete one. */
export interface FoundDataset {
  readonly dataset: ShownDataset;
  readonly revision: RevisionRecord | undefined;
}

/** A file with its address. */
export interface DatasetLink {
  readonly file: DatasetFileRecord;
  readonly address: SignedAddress;
}

/** Which files of a revision are meant, beside those of its table and of errors. */
export interface WantedFiles {
  readonly includeGivens: boolean;
  readonly includeTraces: boolean;
}

/** The capability. */
export interface Datasets {
  /** Datasets that have a complete revision, newest first. */
  list(filter: DatasetFilter): Promise<ShownDataset[]>;
  /** The dataset of an id or name, or of a revision's id. Rejects with Failure not_found. */
  find(environmentId: string, wanted: string): Promise<FoundDataset>;
  /**
   * Complete and archived revisions of a dataset, newest first, after the one with the id `before`.
   */
  revisions(datasetId: string, limit: number, before: string | undefined): Promise<RevisionRecord[]>;
  /** Files of a revision; none of one that nobody can read. */
  files(revision: RevisionRecord): Promise<DatasetFileRecord[]>;
  /** Renames a dataset. Rejects with Failure not_found, already_exists, invalid_argument. */
  rename(environmentId: string, wanted: string, name: string): Promise<{ readonly dataset: ShownDataset; readonly oldName: string }>;
  /** Archives a revision. Rejects with Failure not_found, failed_precondition. */
  archive(environmentId: string, revisionId: string): Promise<RevisionRecord>;
  /**
   * Signed addresses of the files of a revision as they come, and undefined now and then while none
   * does. Throws Failure not_found, failed_precondition.
   */
  links(environmentId: string, revisionId: string, wanted: WantedFiles, signal: AbortSignal): AsyncIterable<DatasetLink | undefined>;
  /**
   * The name of the file whose object may be read; empty for one that has none, undefined when
   * nobody may read it.
   */
  nameOf(key: string): Promise<string | undefined>;
  /** Whether the object of a part may be put, which keeps its upload alive. */
  takesPart(key: string): Promise<boolean>;
}

/** Makes the capability. */
export function createDatasets({
  metadata: { datasets },
  objects,
  clock,
}: {
  readonly metadata: Pick<MetadataStore, "datasets">;
  readonly objects: Pick<ObjectStore, "sign">;
  readonly clock: Clock;
}): Datasets {
  const unknown = (wanted: string): Failure =>
    new Failure("not_found", `There is no dataset or revision '${wanted.slice(0, 200)}' in this environment.`, {
      hint: "`svc dataset list` shows the datasets, and `svc dataset get <dataset>` the revisions of one.",
    });
  const revisionOf = async (environmentId: string, id: string): Promise<RevisionRecord> => {
    const revision = await datasets.revision(id);
    if (revision?.environmentId === environmentId) return revision;
    const dataset = await datasets.dataset(environmentId, id);
    if (!dataset) throw unknown(id);
    const latest = await datasets.latest(dataset.id);
    throw new Failure("invalid_argument", `'${id}' is a dataset, and one of its revisions is wanted.`, {
      hint: latest ? `Its newest is ${latest.id}; \`svc dataset get ${id}\` shows all.` : "It has none yet.",
    });
  };
  const datasetOf = async (environmentId: string, wanted: string): Promise<ShownDataset> => {
    const dataset = await datasets.dataset(environmentId, wanted);
    if (!dataset) throw unknown(wanted);
    return dataset;
  };
  /** A revision whose files can be read. */
  const readable = async (environmentId: string, id: string): Promise<RevisionRecord> => {
    const revision = await revisionOf(environmentId, id);
    checkReadable(revision);
    return revision;
  };

  return {
    list: (filter) => datasets.list(filter),

    async find(environmentId, wanted) {
      if (wanted.startsWith("rev_")) {
        const revision = await revisionOf(environmentId, wanted);
        return { revision, dataset: await datasetOf(environmentId, revision.datasetId) };
      }
      const dataset = await datasetOf(environmentId, wanted);
      return { dataset, revision: await datasets.latest(dataset.id) };
    },

    async revisions(datasetId, limit, before) {
      const below = before === undefined ? undefined : (await datasets.revision(before))?.number;
      return datasets.revisions(datasetId, { below: before === undefined ? undefined : (below ?? 0), limit });
    },

    files: async ({ id, state }) => (state === "complete" || state === "writing" ? datasets.files(id) : []),

    async rename(environmentId, wanted, name) {
      checkDatasetName(name);
      const before = await datasetOf(environmentId, wanted);
      const renamed: DatasetRecord | "taken" | undefined = await datasets.rename(before.id, name);
      if (renamed === "taken")
        throw new Failure("already_exists", `There is a dataset '${name}' already.`, { hint: "`svc dataset list` shows all." });
      if (!renamed) throw unknown(wanted);
      return { dataset: { ...before, ...renamed }, oldName: before.name ?? "" };
    },

    async archive(environmentId, revisionId) {
      const { state } = await revisionOf(environmentId, revisionId);
      const archived = await datasets.archive(revisionId, clock.now());
      if (!archived)
        throw new Failure("failed_precondition", `Revision ${revisionId} is ${state}, and only complete revisions are archived.`);
      return archived;
    },

    async *links(environmentId, revisionId, { includeGivens, includeTraces }, signal) {
      const told = new Set<string>();
      for (let quietSince = clock.now(); ; ) {
        const { state } = await readable(environmentId, revisionId);
        for (const file of await datasets.files(revisionId)) {
          const { key, kind, name, bytes } = file;
          const isWanted = kind === "givens" ? includeGivens : kind === "trace" ? includeTraces : true;
          if (!isWanted || told.has(name)) continue;
          told.add(name);
          quietSince = clock.now();
          yield { file, address: await objects.sign("get", key, bytes) };
        }
        if (state === "complete") return;
        if (clock.now() - quietSince >= HEARTBEAT_MS) {
          quietSince = clock.now();
          yield undefined;
        }
        await clock.sleep(LOOK_MS, signal);
      }
    },

    async nameOf(key) {
      const id = revisionOfKey(key) ?? "";
      const revision = await datasets.revision(id);
      if (revision?.state !== "complete" && revision?.state !== "writing") return undefined;
      return (await datasets.fileOf(id, key))?.name ?? "";
    },

    takesPart: (key) => datasets.touch(revisionOfKey(key) ?? "", clock.now()),
  };
}
