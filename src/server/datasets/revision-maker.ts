/** Revisions as they are made: begun, given files, completed or abandoned. */

import { open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "../../context/clock.ts";
import { fileHash } from "../../disk/file-hash.ts";
import { syncFolder } from "../../disk/private-file.ts";
import { renameInPlace } from "../../disk/rename.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Log } from "../log.ts";
import type { DatasetLimits, NewRevisionRecord, RevisionRecord } from "../stores/metadata/datasets.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { MAX_LARGE_OBJECT_BYTES, ObjectMismatch, type ObjectStore } from "../stores/objects/store.ts";
import { verified } from "../stores/objects/verified.ts";
import { storedColumns } from "./columns.ts";
import { deleteObjects, environmentPrefix, fileKey, revisionPrefix } from "./dataset-objects.ts";
import { checkDatasetName, checkFileName } from "./names.ts";
import type { NewRevision, RevisionMaker } from "./revisions.ts";

/** Most files of a revision. */
export const MAX_FILES = 10_000;
/** How many an environment may have. */
export const DATASET_LIMITS: DatasetLimits = { datasets: 100_000, writing: 1_000 };

/** What revisions need. */
export interface RevisionMakerParts {
  readonly metadata: Pick<MetadataStore, "datasets">;
  readonly objects: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** A maker of revisions, and what others in this room need of it. */
export interface Revisions extends RevisionMaker {
  /** Removes what is left of a revision that is not being written any more, but its files. */
  sweep(revision: RevisionRecord, signal?: AbortSignal): Promise<void>;
  /** Removes the objects of all datasets of an environment, whose rows go with it. */
  forget(environmentId: string, signal: AbortSignal): Promise<void>;
}

/** The rows of a revision to be begun and of its dataset, which is made unless there is one. */
export function newRevision({ environmentId, dataset, origin, originId, createdBy }: NewRevision, now: number) {
  if (dataset !== "") checkDatasetName(dataset);
  const revision: NewRevisionRecord = { id: newId("rev", now), environmentId, origin, originId, createdBy, createdAt: now };
  return { revision, dataset: { id: newId("dst", now), name: dataset === "" ? undefined : dataset } };
}

/** Why no revision can be begun. */
export function tooManyDatasets(): Failure {
  const { datasets, writing } = DATASET_LIMITS;
  return new Failure(
    "resource_exhausted",
    `The environment has ${datasets} datasets, or ${writing} revisions that are being written, which is as many as it can have.`,
    { hint: "Try again when some are completed, or archive revisions that nobody needs." },
  );
}

/** Throws Failure failed_precondition for a revision whose files nobody can read. */
export function checkReadable({ id, datasetId, state }: RevisionRecord): void {
  if (state === "archived" || state === "failed")
    throw new Failure("failed_precondition", `Revision ${id} is ${state}, so its files cannot be read.`, {
      hint: `\`svc dataset get ${datasetId}\` shows the other revisions.`,
    });
}

/** Makes the maker. */
export function createRevisionMaker({ metadata: { datasets }, objects, clock, log }: RevisionMakerParts): Revisions {
  const found = async (revisionId: string): Promise<RevisionRecord> => {
    const revision = await datasets.revision(revisionId);
    if (!revision) throw new Failure("not_found", `There is no revision '${revisionId}'.`);
    return revision;
  };
  const notWriting = ({ id, state }: RevisionRecord): Failure =>
    new Failure("failed_precondition", `Revision ${id} is not being written any more: it is ${state}.`);

  const maker: Revisions = {
    async begin(wanted) {
      const { dataset, revision } = newRevision(wanted, clock.now());
      const begun = await datasets.begin(dataset, revision, DATASET_LIMITS);
      if (begun === "full") throw tooManyDatasets();
      return { revisionId: begun.id, datasetId: begun.datasetId };
    },

    async addFile(revisionId, { name, kind, rows, path, signal }) {
      checkFileName(name);
      const revision = await found(revisionId);
      if (revision.state !== "writing") throw notWriting(revision);
      const { bytes, sha256 } = await digestOf(path, signal);
      if (bytes > MAX_LARGE_OBJECT_BYTES)
        throw new Failure(
          "resource_exhausted",
          `A file of a dataset has at most ${MAX_LARGE_OBJECT_BYTES} bytes, and '${name}' has ${bytes}.`,
        );
      const key = fileKey(revision, name, sha256);
      const file = { name, kind, key, bytes, rows, sha256 };
      if ((await objects.size(key)) !== bytes)
        await objects.put(key, chunksOf(path, signal), { size: bytes, sha256, most: MAX_LARGE_OBJECT_BYTES });
      const before = await datasets.putFile({ ...file, revisionId }, clock.now(), MAX_FILES);
      if (before === "refused") {
        const { state } = await found(revisionId);
        if (state === "failed") await objects.delete(key);
        if (state !== "writing") throw notWriting({ ...revision, state });
        throw new Failure("resource_exhausted", `A revision has at most ${MAX_FILES} files.`);
      }
      if (before && before.key !== key) await objects.delete(before.key);
      return file;
    },

    begun: async (origin) => (await datasets.begun(origin))?.id,

    async complete(revisionId, columns) {
      const completed = await datasets.complete(revisionId, storedColumns(columns), clock.now());
      if (!completed) throw notWriting(await found(revisionId));
      if (completed.hasRemains)
        await maker.sweep(completed).catch((error: unknown) => {
          log.warning("what writing a revision left could not be removed yet", { revision: revisionId, error: String(error) });
        });
    },

    async abandon(revisionId) {
      if (!(await datasets.fail(revisionId, clock.now()))) return;
      await maker.sweep(await found(revisionId));
    },

    async files(revisionId) {
      checkReadable(await found(revisionId));
      return (await datasets.files(revisionId)).map(({ revisionId: _, ...file }) => file);
    },

    async fetch({ name, key, sha256, bytes }, path) {
      const lost = (how: string): Failure =>
        new Failure("failed_precondition", `The file '${name}' of a dataset is ${how} in the object store.`, {
          hint: "Restore the object from a backup, or make the revision again.",
        });
      const body = await objects.get(key);
      if (!body) throw lost("missing");
      const beside = `${path}.${crypto.randomUUID()}.tmp`;
      try {
        await writeSynced(beside, verified(body, sha256), bytes);
        await renameInPlace(beside, path);
        syncFolder(dirname(path));
      } catch (error) {
        throw error instanceof ObjectMismatch ? lost("damaged") : error;
      } finally {
        await rm(beside, { force: true });
      }
    },

    async sweep(revision, signal) {
      const files = revision.state === "failed" ? [] : await datasets.files(revision.id);
      const kept = new Set(files.map(({ key }) => key));
      await deleteObjects(objects, revisionPrefix(revision), { kept, ...(signal && { signal }) });
      await datasets.swept(revision.id);
    },

    forget: (environmentId, signal) => deleteObjects(objects, environmentPrefix(environmentId), { signal }),
  };
  return maker;
}

/** Size and SHA-256 of a file. */
async function digestOf(path: string, signal: AbortSignal | undefined): Promise<{ readonly bytes: number; readonly sha256: string }> {
  let bytes = 0;
  const sha256 = await fileHash(path, (read) => {
    signal?.throwIfAborted();
    bytes += read;
  });
  return { bytes, sha256 };
}

async function* chunksOf(path: string, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
  for await (const chunk of Bun.file(path).stream()) {
    signal?.throwIfAborted();
    yield chunk;
  }
}

/**
 * Writes a new file and flushes it. Throws ObjectMismatch when there are more bytes than `most`.
 */
async function writeSynced(path: string, body: AsyncIterable<Uint8Array>, most: number): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    let length = 0;
    for await (const chunk of body) {
      length += chunk.length;
      if (length > most) throw new ObjectMismatch(`more than ${most} bytes came`);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}
