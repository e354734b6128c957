/** The object store in a folder: `<first two digits>/<digest>`, files written beside, flushed and renamed. */

import { constants, existsSync, mkdirSync, rmSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makePrivateFolder, syncFolder } from "../../../disk/private-file.ts";
import { renameInPlace } from "../../../disk/rename.ts";
import { ObjectMismatch, type ObjectStore } from "./store.ts";

const DIGEST = /^[0-9a-f]{64}$/;

/** Opens or creates the store in a folder; what unfinished writes of an earlier process left is removed. */
export function createDirectoryObjectStore(folder: string): ObjectStore {
  const incoming = join(folder, "incoming");
  makePrivateFolder(folder);
  rmSync(incoming, { recursive: true, force: true });
  makePrivateFolder(incoming);

  const pathOf = (sha256: string): string => {
    if (!DIGEST.test(sha256)) throw new Error(`not a SHA-256 digest: ${JSON.stringify(sha256)}`);
    return join(folder, sha256.slice(0, 2), sha256);
  };

  const store: ObjectStore = {
    async put(sha256, size, body) {
      const path = pathOf(sha256);
      const partial = join(incoming, crypto.randomUUID());
      const file = await open(partial, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW, 0o600);
      try {
        const hasher = new Bun.CryptoHasher("sha256");
        let length = 0;
        for await (const chunk of body) {
          length += chunk.length;
          if (length > size) throw new ObjectMismatch(`more than the announced ${size} bytes came`);
          hasher.update(chunk);
          await file.writeFile(chunk);
        }
        if (length !== size) throw new ObjectMismatch(`${length} of the announced ${size} bytes came`);
        const digest = hasher.digest("hex");
        if (digest !== sha256) throw new ObjectMismatch(`the bytes have SHA-256 ${digest}, announced was ${sha256}`);
        await file.sync();
      } catch (error) {
        await file.close();
        await rm(partial, { force: true });
        throw error;
      }
      await file.close();
      if (!existsSync(dirname(path))) {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        syncFolder(folder);
      }
      await renameInPlace(partial, path);
      syncFolder(dirname(path));
    },

    async size(sha256) {
      const file = Bun.file(pathOf(sha256));
      return (await file.exists()) ? file.size : undefined;
    },

    slice(sha256, start, end) {
      return Bun.file(pathOf(sha256)).slice(start, end);
    },

    async read(sha256) {
      const bytes = await Bun.file(pathOf(sha256)).bytes();
      if (new Bun.CryptoHasher("sha256").update(bytes).digest("hex") !== sha256)
        throw new ObjectMismatch(`the stored object ${sha256} is damaged`);
      return bytes;
    },

    async delete(sha256) {
      await rm(pathOf(sha256), { force: true });
    },

    async probe() {
      const bytes = crypto.getRandomValues(new Uint8Array(32));
      const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      await store.put(
        sha256,
        bytes.length,
        (async function* () {
          yield bytes;
        })(),
      );
      await store.read(sha256);
      await store.delete(sha256);
    },
  };
  return store;
}
