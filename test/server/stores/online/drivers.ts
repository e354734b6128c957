import { join } from "node:path";
import { openRenewableOnlineStore } from "../../../../src/server/stores/online/renewable.ts";
import { openSqliteOnlineStore, type SqliteOnlineOptions } from "../../../../src/server/stores/online/sqlite.ts";
import type { OnlineStore } from "../../../../src/server/stores/online/store.ts";
import type { Driver } from "../driver.ts";

/** A driver of the online store. */
export interface OnlineDriver extends Driver<OnlineStore> {
  /** Whether values outlive `close`. */
  readonly isDurable: boolean;
}

const onFile = (name: string, options: SqliteOnlineOptions = {}): OnlineDriver => ({
  name,
  isDurable: true,
  open: (folder, settings) => openSqliteOnlineStore(join(folder, "online.db"), { ...options, ...settings }),
});

/** Every driver of the online store. */
export const ONLINE_DRIVERS: readonly OnlineDriver[] = [
  onFile("SQLite file"),
  onFile("SQLite file, no room in memory", { cacheBytes: 0, maxPending: 3 }),
  { name: "SQLite in memory", isDurable: false, open: (_, settings) => openSqliteOnlineStore(":memory:", settings) },
  {
    name: "SQLite file that is begun anew when it is damaged",
    isDurable: true,
    open: (folder, settings) =>
      openRenewableOnlineStore(join(folder, "online.db"), {
        ...settings,
        onRenewal: (damage) => {
          throw damage;
        },
      }),
  },
];
