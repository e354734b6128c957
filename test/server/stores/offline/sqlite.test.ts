import { join } from "node:path";
import { createSqliteOfflineStore } from "../../../../src/server/stores/offline/sqlite.ts";
import { TempFolder } from "../../running-server.ts";
import { offlineStoreConformance } from "../offline.conformance.ts";

offlineStoreConformance("SQLite", () => {
  const folder = new TempFolder();
  return {
    open: (now) => createSqliteOfflineStore({ path: join(folder.path, "offline.db"), programVersion: "1.0.0", now }),
    remove: () => folder[Symbol.dispose](),
  };
});
