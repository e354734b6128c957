/**
 * Volumes: folders of a node that outlive the containers which have them. What is in one is the
 * containers' own: the server measures it and removes it, and reads nothing of it.
 */

import { chmod, lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Collection, type CollectionParts, createCollection, type Document } from "../documents/collection.ts";
import { Failure, outOfSpace } from "../failure.ts";
import { checkName } from "./container-spec.ts";

/** A volume. */
export interface Volume {
  readonly id: string;
  readonly environmentId: string;
  readonly name: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Node that has it. */
  readonly node: string;
}

/** A volume, measured. */
export interface MeasuredVolume extends Volume {
  /** Bytes of its files; undefined where another node has it. */
  readonly sizeBytes: number | undefined;
  /** Names of containers that have it and have not ended. */
  readonly usedBy: readonly string[];
}

/** The capability. */
export interface Volumes {
  /** Makes one. Rejects with Failure already_exists. */
  create(environmentId: string, name: string): Promise<Volume>;
  /** By name. */
  list(environmentId: string): Promise<Volume[]>;
  /** Rejects with Failure not_found. */
  get(environmentId: string, idOrName: string): Promise<MeasuredVolume>;
  /** Deletes one with its files. Rejects with Failure not_found, or failed_precondition in use. */
  delete(environmentId: string, idOrName: string): Promise<MeasuredVolume>;
  /**
   * The folder of a volume. Rejects with Failure not_found, or failed_precondition where another
   * node has it.
   */
  folder(environmentId: string, name: string): Promise<string>;
  /** Deletes all of an environment. */
  forget(environmentId: string): Promise<void>;
  close(): Promise<void>;
}

interface VolumeContent {
  readonly node: string;
}

/** Most files that are counted for a size. */
const MOST_FILES = 1_000_000;

/** Makes the capability. */
export function createVolumes(
  options: CollectionParts & {
    /** Folder of all of them on this node. */
    readonly folder: string;
    readonly node: string;
    /** Names of the containers of an environment that have a volume and have not ended. */
    readonly users: (environmentId: string, volume: string) => Promise<readonly string[]>;
  },
): Volumes {
  const { folder, node, users } = options;
  const volumes: Collection<VolumeContent> = createCollection(options, {
    ...{ kind: "volume", noun: "volume", idPrefix: "vol", listedBy: "svc volume list" },
  });
  const pathOf = ({ id, scope }: Pick<Document<VolumeContent>, "id" | "scope">): string => join(folder, scope, id);
  const shown = ({ id, scope, name, createdAt, content }: Document<VolumeContent>): Volume => ({
    ...{ id, environmentId: scope, name, createdAt, node: content.node },
  });
  const measured = async (document: Document<VolumeContent>): Promise<MeasuredVolume> => ({
    ...shown(document),
    sizeBytes: document.content.node === node ? await sizeOf(pathOf(document)) : undefined,
    usedBy: await users(document.scope, document.name),
  });
  const remove = async (document: Document<VolumeContent>): Promise<void> => {
    if (document.content.node !== node) return;
    const path = pathOf(document);
    // Out of the way at once: a removal that is cut off leaves nothing that looks like a volume.
    const leaving = `${path}.removed`;
    await rename(path, leaving).catch(() => undefined);
    await rm(leaving, { recursive: true, force: true });
  };

  return {
    async create(environmentId, name) {
      checkName(name, "volume");
      const document = await volumes.create(environmentId, name, { node });
      try {
        await makeFolder(pathOf(document));
      } catch (error) {
        await volumes.delete(environmentId, document.id);
        throw outOfSpace(error, folder) ?? error;
      }
      return shown(document);
    },
    list: async (environmentId) => (await volumes.list(environmentId)).map(shown),
    get: async (environmentId, idOrName) => measured(await volumes.get(environmentId, idOrName)),
    async delete(environmentId, idOrName) {
      const document = await volumes.get(environmentId, idOrName);
      const before = await measured(document);
      if (before.usedBy.length > 0)
        throw new Failure("failed_precondition", `Volume '${before.name}' is in use by ${before.usedBy.slice(0, 5).join(", ")}.`, {
          hint: "End what uses it first; `svc container list` and `svc scaling-group list` show what runs.",
        });
      if (before.node !== node) throw elsewhere(before);
      await volumes.delete(environmentId, document.id);
      await remove(document);
      return before;
    },
    async folder(environmentId, name) {
      const document = await volumes.get(environmentId, name);
      if (document.content.node !== node) throw elsewhere(shown(document));
      const path = pathOf(document);
      await makeFolder(path);
      return path;
    },
    async forget(environmentId) {
      for (const { id } of await volumes.list(environmentId)) await volumes.delete(environmentId, id).catch(() => undefined);
      await rm(join(folder, environmentId), { recursive: true, force: true });
    },
    close: () => volumes.close(),
  };
}

/** Makes a folder that any user may write to, in one that the server alone may enter. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  if (await mkdir(path).then(() => true, isThere)) await chmod(path, 0o777);
}

/** False for a folder that is there already; throws any other error. */
function isThere(error: unknown): false {
  if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
  throw error;
}

function elsewhere({ name, node }: Volume): Failure {
  return new Failure("failed_precondition", `Volume '${name}' is on another node, ${node}.`, {
    hint: "Ask that node; `svc clusters describe` shows the addresses of all.",
  });
}

/** Bytes of the files below a folder; links are not followed. */
async function sizeOf(path: string): Promise<number> {
  let bytes = 0;
  let count = 0;
  const folders = [path];
  for (let at = folders.pop(); at !== undefined && count < MOST_FILES; at = folders.pop())
    for (const entry of await readdir(at, { withFileTypes: true }).catch(() => [])) {
      count++;
      const own = join(at, entry.name);
      if (entry.isDirectory()) folders.push(own);
      else if (entry.isFile()) bytes += (await lstat(own).catch(() => undefined))?.size ?? 0;
    }
  return bytes;
}
