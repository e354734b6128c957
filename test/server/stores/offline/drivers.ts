import { join } from "node:path";
import { createSqliteOfflineStore } from "../../../../src/server/stores/offline/sqlite.ts";
import type { OfflineStore } from "../../../../src/server/stores/offline/store.ts";
import type { Driver } from "../driver.ts";

/** Every driver of the offline store. */
export const OFFLINE_DRIVERS: readonly Driver<OfflineStore>[] = [
  {
    name: "SQLite",
    open: (folder, { now = Date.now } = {}) => createSqliteOfflineStore({ path: join(folder, "offline.db"), programVersion: "1.0.0", now }),
  },
];
