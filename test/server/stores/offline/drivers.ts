import { join } from "node:path";
import { createEmbeddedOfflineStore, type EmbeddedOfflineOptions } from "../../../../src/server/stores/offline/embedded.ts";
import { createSqliteOfflineStore } from "../../../../src/server/stores/offline/sqlite.ts";
import type { OfflineStore } from "../../../../src/server/stores/offline/store.ts";
import type { Driver } from "../driver.ts";

/** A store with a history, in files of a folder. */
export function openEmbedded(folder: string, options: Partial<EmbeddedOfflineOptions> = {}) {
  return createEmbeddedOfflineStore({
    path: join(folder, "offline.db"),
    programVersion: "1.0.0",
    libraryFolders: [],
    limits: { memoryBytes: 512 * 1024 ** 2, threads: 2 },
    now: Date.now,
    onUnavailable: console.error,
    onMoveFailure: console.error,
    ...options,
  });
}

/** Every driver of the offline store. */
export const OFFLINE_DRIVERS: readonly Driver<OfflineStore>[] = [
  {
    name: "SQLite",
    open: (folder, { now = Date.now } = {}) => createSqliteOfflineStore({ path: join(folder, "offline.db"), programVersion: "1.0.0", now }),
  },
  {
    name: "SQLite and its history",
    async open(folder, options = {}) {
      const store = openEmbedded(folder, options);
      await store.exportKeys({ environmentId: "env_0", namespace: "none" }, join(folder, "none.parquet"));
      return store;
    },
  },
];
