/**
 * Single files of deployments' sources, as text for people. They are read from the bundle, never
 * from the folder that workers run in: their code could have changed that.
 */

import { readArchivedFile } from "../../disk/unpack.ts";
import { ARCHIVE_LIMITS, ArchiveRefused } from "../../domain/tar/reader.ts";
import type { DeploymentRecord } from "../stores/metadata/deployments.ts";
import { ObjectMismatch, type ObjectStore } from "../stores/objects/store.ts";
import { verified } from "../stores/objects/verified.ts";

/** Largest bundle that is searched for a file, in bytes as it is stored. */
const MOST_BUNDLE_BYTES = 16 * 1024 * 1024;
/** Most bytes that are unpacked for one file. */
const MOST_UNPACKED_BYTES = 64 * 1024 * 1024;
/** Largest file. */
const MOST_FILE_BYTES = 512 * 1024;
/** Files that are remembered, with their texts. */
const MOST_KEPT = 16;

/** A file's text, or the reason why there is none; `isAbsent` when the source has no such file. */
export type SourceFile = { readonly text: string } | { readonly missing: string; readonly isAbsent?: boolean };

/** The files. */
export interface SourceFiles {
  /** A file of a deployment, by its path in the project. Never rejects for what a bundle holds. */
  read(deployment: Pick<DeploymentRecord, "id" | "layers" | "sourceSha256">, path: string): Promise<SourceFile>;
}

/** Makes the reader. Bundles are unpacked one after the other. */
export function createSourceFiles(objects: Pick<ObjectStore, "get" | "size">): SourceFiles {
  const kept = new Map<string, SourceFile>();
  let last: Promise<unknown> = Promise.resolve();

  const find = async (sha256: string, path: string, elsewhere: string): Promise<SourceFile> => {
    const size = await objects.size(sha256);
    const bundle = size === undefined ? undefined : await objects.get(sha256);
    if (size === undefined || !bundle) return { missing: "The source is no longer in the object store." };
    if (size > MOST_BUNDLE_BYTES) return { missing: `The source is too large to be shown; ${elsewhere}` };
    try {
      const limits = { ...ARCHIVE_LIMITS, maxBytes: MOST_UNPACKED_BYTES };
      const bytes = await readArchivedFile(verified(bundle, sha256), path, MOST_FILE_BYTES, limits);
      return bytes instanceof Uint8Array
        ? { text: new TextDecoder().decode(bytes) }
        : { missing: `The source has no file ${path} that can be shown; ${elsewhere}`, isAbsent: bytes === undefined };
    } catch (error) {
      if (error instanceof ArchiveRefused) return { missing: `The source cannot be read here (${error.message}); ${elsewhere}` };
      if (error instanceof ObjectMismatch) return { missing: "The stored source is damaged. Deploy again with `svc apply`." };
      throw error;
    }
  };

  return {
    async read({ id, layers, sourceSha256 }, path) {
      const layer = layers.find((one) => one.path === path);
      if (layer) return { text: layer.text };
      const key = JSON.stringify([sourceSha256, path]);
      const turn = last.then(async () => {
        const known = kept.get(key);
        kept.delete(key);
        const file = known ?? (await find(sourceSha256, path, `\`svc source ${id}\` downloads it.`));
        kept.set(key, file);
        for (const oldest of [...kept.keys()].slice(0, -MOST_KEPT)) kept.delete(oldest);
        return file;
      });
      last = turn.catch(() => undefined);
      return turn;
    },
  };
}
