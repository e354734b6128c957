/**
 * Objects of queries beside datasets, below `offline-inputs/` in the folder of their environment:
 * rows that came with queries, and tables put together for callers. What nobody needs any more is
 * removed.
 */

import { open } from "node:fs/promises";
import type { Clock } from "../../context/clock.ts";
import { deleteObjects } from "../datasets/dataset-objects.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { MAX_OBJECT_BYTES, ObjectMismatch, type ObjectStore, type SignedAddress } from "../stores/objects/store.ts";
import { verified } from "../stores/objects/verified.ts";

/** What the keys of all inputs begin with. */
const PREFIX = "offline-inputs/";
const UPLOAD_LIFETIME_MS = 3_600_000;
/** Milliseconds that a table is kept that was put together for a caller. */
const EXPORTS_KEPT_MS = 86_400_000;
/**
 * Milliseconds that rows are kept after the end of the last query that has them, for another try.
 */
const KEPT_MS = 7 * 86_400_000;
const PAGE = 1_000;

/** An uploaded file with rows. */
export interface UploadedRows {
  readonly key: string;
  readonly sha256: string;
}

/** The inputs. */
export interface Inputs {
  /** The key of new rows of an environment. */
  keyOf(environmentId: string, id: string): string;
  /** Announces a file. Rejects with Failure invalid_argument. */
  announce(
    environmentId: string,
    sha256: string,
    sizeBytes: number,
  ): Promise<{ readonly uploadId: string; readonly address: SignedAddress }>;
  /**
   * A file that was announced. Rejects with Failure not_found, and failed_precondition when its
   * bytes are not there.
   */
  upload(environmentId: string, uploadId: string): Promise<UploadedRows>;
  /**
   * Copies a file to this machine. Rejects with Failure failed_precondition when its bytes are not
   * those that were announced.
   */
  fetch(upload: UploadedRows, path: string): Promise<void>;
  /** The bytes of rows that came with a call. Rejects with Failure not_found. */
  read(key: string): Promise<Uint8Array>;
  /** Removes rows that no query needs. */
  sweep(signal: AbortSignal): Promise<void>;
  /** Removes all rows of an environment. */
  forget(environmentId: string, signal: AbortSignal): Promise<void>;
}

/** Makes the inputs. */
export function createInputs(options: {
  readonly metadata: Pick<MetadataStore, "createUpload" | "offlineQueries" | "upload">;
  readonly objects: ObjectStore;
  readonly clock: Clock;
}): Inputs {
  const { metadata, objects, clock } = options;
  const keyOf = (environmentId: string, id: string): string => `${PREFIX}${environmentId}/${id}`;
  const gone = (): Failure => new Failure("not_found", "The rows of the query were removed.", { hint: "Give them again." });

  return {
    keyOf,

    async announce(environmentId, sha256, sizeBytes) {
      if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Failure("invalid_argument", "sha256 must be 64 lower-case hex digits.");
      if (sizeBytes <= 0 || sizeBytes > MAX_OBJECT_BYTES)
        throw new Failure("invalid_argument", `A file with rows has between 1 and ${MAX_OBJECT_BYTES} bytes; this one has ${sizeBytes}.`, {
          hint: "Parquet is the shortest form; a larger spine can be split into several queries.",
        });
      const now = clock.now();
      const uploadId = newId("upl", now);
      await metadata.createUpload({ id: uploadId, sha256, sizeBytes, createdAt: now, expiresAt: now + UPLOAD_LIFETIME_MS });
      return { uploadId, address: await objects.sign("put", keyOf(environmentId, uploadId), sizeBytes) };
    },

    async upload(environmentId, uploadId) {
      const known = /^upl_[0-9a-f]+$/.test(uploadId) ? await metadata.upload(uploadId) : undefined;
      const key = known && keyOf(environmentId, known.id);
      const size = key === undefined ? undefined : await objects.size(key);
      if (!known || key === undefined || known.expiresAt <= clock.now())
        throw new Failure("not_found", "There is no such upload, or it has expired.", { hint: "Upload the file again." });
      if (size !== known.sizeBytes)
        throw new Failure("failed_precondition", "The file was not uploaded whole.", { hint: "Upload it again; nothing was begun." });
      return { key, sha256: known.sha256 };
    },

    async fetch({ key, sha256 }, path) {
      const body = await objects.get(key);
      if (!body) throw gone();
      const file = await open(path, "wx", 0o600);
      try {
        for await (const chunk of verified(body, sha256)) await file.writeFile(chunk);
      } catch (error) {
        if (!(error instanceof ObjectMismatch)) throw error;
        throw new Failure("failed_precondition", "The file that was uploaded is not the one that was announced.", {
          hint: "Upload it again.",
        });
      } finally {
        await file.close();
      }
    },

    async read(key) {
      const body = await objects.get(key);
      if (!body) throw gone();
      return new Response(body).bytes();
    },

    async sweep(signal) {
      const isOver = (key: string): boolean => bornAt(key) < clock.now() - (key.includes("/exp_") ? EXPORTS_KEPT_MS : KEPT_MS);
      for (let after = ""; ; ) {
        const page = (await objects.list({ prefix: PREFIX, after, limit: PAGE })).map(({ key }) => key);
        const used = new Set(await metadata.offlineQueries.inputsInUse(page, clock.now() - KEPT_MS));
        for (const key of page) {
          signal.throwIfAborted();
          if (!used.has(key) && isOver(key)) await objects.delete(key);
        }
        if (page.length < PAGE) return;
        after = page.at(-1) ?? "";
      }
    },

    forget: (environmentId, signal) => deleteObjects(objects, `${PREFIX}${environmentId}/`, { signal }),
  };
}

/** When the id at the end of a key was made, epoch milliseconds. */
function bornAt(key: string): number {
  const digits = /_([0-9a-f]{12})[0-9a-f]*$/.exec(key)?.[1];
  return digits === undefined ? 0 : Number.parseInt(digits, 16);
}
