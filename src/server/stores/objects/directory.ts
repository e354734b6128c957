/**
 * The object store on a folder of files, `<first two characters>/<key>`: written to a temporary
 * file, flushed and renamed.
 */

import { constants, type Dirent, existsSync, mkdirSync, rmSync } from "node:fs";
import { link, open, readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCode } from "../../../disk/disk-error.ts";
import { makePrivateFolder, syncFolder } from "../../../disk/private-file.ts";
import { renameInPlace } from "../../../disk/rename.ts";
import {
  type ListedObject,
  MAX_OBJECT_BYTES,
  type ObjectAddresses,
  ObjectMismatch,
  type ObjectStore,
  type PutObject,
  type PutOptions,
} from "./store.ts";
import { readByDigest } from "./verified.ts";

const KEY = /^(?=.{2,512}$)[a-z0-9][a-z0-9._-]*[a-z0-9](?:\/[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)*$/;
/** Number of a key's first characters that name its top folder. */
const SHARD = 2;

/**
 * Opens or creates the store in a folder that no other process uses; remains of unfinished writes
 * are removed. Signed addresses lead to this server.
 */
export function createDirectoryObjectStore(folder: string, addresses: ObjectAddresses): ObjectStore {
  const incoming = join(folder, "incoming");
  makePrivateFolder(folder);
  rmSync(incoming, { recursive: true, force: true });
  makePrivateFolder(incoming);

  const pathOf = (key: string): string => {
    if (!KEY.test(key)) throw new Error(`not a key of an object: ${JSON.stringify(key)}`);
    return join(folder, key.slice(0, SHARD), ...key.split("/"));
  };

  const store: ObjectStore = {
    addresses,

    async put(key, body, options = {}) {
      const path = pathOf(key);
      if (options.ifAbsent && existsSync(path)) return undefined;
      const partial = join(incoming, crypto.randomUUID());
      try {
        const taken = await writeFlushed(partial, body, options);
        makeFolders(dirname(path));
        if (!options.ifAbsent) await renameInPlace(partial, path);
        else if (!(await linkInPlace(partial, path))) return undefined;
        syncFolder(dirname(path));
        return taken;
      } finally {
        await rm(partial, { force: true });
      }
    },

    async get(key, range) {
      const file = Bun.file(pathOf(key));
      if (!(await file.exists())) return undefined;
      return range ? file.slice(range.start, range.end) : file;
    },

    async size(key) {
      const file = Bun.file(pathOf(key));
      return (await file.exists()) ? file.size : undefined;
    },

    async list({ prefix = "", after = "", limit }) {
      const found: ListedObject[] = [];
      if (limit < 1) return found;
      for await (const object of walk(folder, prefix, after)) if (found.push(object) >= limit) break;
      return found;
    },

    async delete(key) {
      await rm(pathOf(key), { force: true });
    },

    sign: async (operation, key, size) => {
      pathOf(key);
      return addresses.sign(operation, key, size);
    },

    async probe() {
      const bytes = crypto.getRandomValues(new Uint8Array(32));
      const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      await store.put(sha256, new Blob([bytes]).stream(), { size: bytes.length, sha256 });
      if (!(await readByDigest(store, sha256))) throw new Error("an object that was written is not there");
      await store.delete(sha256);
    },
  };
  return store;
}

/**
 * Writes a new file and flushes it. On failure the incomplete file stays, for the caller to remove.
 */
async function writeFlushed(
  path: string,
  body: AsyncIterable<Uint8Array>,
  { size, sha256, most = MAX_OBJECT_BYTES }: PutOptions,
): Promise<PutObject> {
  const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW, 0o600);
  try {
    const hasher = new Bun.CryptoHasher("sha256");
    let length = 0;
    for await (const chunk of body) {
      length += chunk.length;
      if (size !== undefined && length > size) throw new ObjectMismatch(`more than the announced ${size} bytes came`);
      if (length > most) throw new ObjectMismatch(`more than ${most} bytes came`);
      hasher.update(chunk);
      await file.writeFile(chunk);
    }
    if (size !== undefined && length !== size) throw new ObjectMismatch(`${length} of the announced ${size} bytes came`);
    const digest = hasher.digest("hex");
    if (sha256 !== undefined && digest !== sha256) throw new ObjectMismatch(`the bytes have SHA-256 ${digest}, announced was ${sha256}`);
    await file.sync();
    return { size: length, sha256: digest };
  } finally {
    await file.close();
  }
}

/** Gives a file a second name; false when the name is taken. */
async function linkInPlace(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Makes a folder and its missing parents, and flushes their directory entries. */
function makeFolders(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) syncFolder(dirname(made));
}

/** Objects below the store's folder, in the order of their keys. */
async function* walk(folder: string, prefix: string, after: string): AsyncIterable<ListedObject> {
  for (const shard of (await entriesOf(folder)).filter(({ name }) => name.length === SHARD).sort(byName)) {
    if (mayHold(shard.name, prefix, after)) yield* walkFolder(join(folder, shard.name), "", prefix, after);
  }
}

/**
 * Objects below a folder, whose keys begin with `base`. A folder is ordered by its name followed by
 * `/`.
 */
async function* walkFolder(folder: string, base: string, prefix: string, after: string): AsyncIterable<ListedObject> {
  const entries = (await entriesOf(folder)).map((entry) => ({ entry, name: `${base}${entry.name}${entry.isDirectory() ? "/" : ""}` }));
  for (const { entry, name } of entries.sort(byName)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (mayHold(name, prefix, after)) yield* walkFolder(path, name, prefix, after);
    } else if (name.startsWith(prefix) && name > after) {
      const size = await sizeOf(path);
      if (size !== undefined) yield { key: name, size };
    }
  }
}

/** Whether keys that begin with `start` can begin with the prefix and come after a key. */
function mayHold(start: string, prefix: string, after: string): boolean {
  return (start.startsWith(prefix) || prefix.startsWith(start)) && (start > after || after.startsWith(start));
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/** Entries of a folder; none when it was removed meanwhile. */
function entriesOf(folder: string): Promise<Dirent[]> {
  return unlessGone(readdir(folder, { withFileTypes: true }), []);
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await unlessGone(stat(path), undefined))?.size;
}

/** The result of a file system call, or `absent` when its target was removed meanwhile. */
async function unlessGone<T>(look: Promise<T>, absent: T | undefined): Promise<T> {
  try {
    return await look;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return absent as T;
    throw error;
  }
}
