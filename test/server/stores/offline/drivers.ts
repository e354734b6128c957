import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type HistoryLink, startHistory } from "../../../../src/server/stores/offline/history/link.ts";
import { createSqliteOfflineStore } from "../../../../src/server/stores/offline/sqlite.ts";
import type { OfflineStore } from "../../../../src/server/stores/offline/store.ts";
import { withHistory } from "../../../../src/server/stores/offline/with-history.ts";
import { databaseConfig } from "../../../../src/server/tables/duckdb/limits.ts";
import type { Driver } from "../driver.ts";

const GIB = 1024 ** 3;

/** What a history of the tests is made of. */
export interface HistoryOptions {
  readonly now?: () => number;
  /** Default 100,000. */
  readonly rowsPerMove?: number;
  /** Default 10,000,000. */
  readonly unorderedRows?: number;
  readonly memoryBytes?: number;
  /** Default: all that the store's own calls need. */
  readonly wrap?: (link: HistoryLink) => HistoryLink;
  readonly onStart?: (pid: number) => void;
}

/** A store with a history, in files of a folder. */
export function openWithHistory(folder: string, { now = Date.now, wrap = (link) => link, ...options }: HistoryOptions = {}) {
  const temporary = join(folder, "temporary");
  mkdirSync(temporary, { recursive: true });
  const landing = join(folder, "offline.db");
  const path = join(folder, "offline.duckdb");
  const { memoryBytes = GIB, rowsPerMove = 100_000, unorderedRows = 10_000_000, onStart } = options;
  const link = startHistory({
    settings: {
      libraryFolders: [],
      file: path,
      config: databaseConfig({ memoryBytes, threads: 2 }, temporary),
      landing,
      rowsPerMove,
      unorderedRows,
    },
    limits: { residentBytes: memoryBytes + GIB, dataBytes: memoryBytes * 2 + 4 * GIB },
    folder,
    idleMs: 60_000,
    ...(onStart && { onStart }),
  });
  return withHistory({
    landing: createSqliteOfflineStore({ path: landing, programVersion: "1.0.0", now }),
    path,
    link: wrap(link),
    moveRows: rowsPerMove,
    onUnavailable: (reason) => {
      throw new Error(reason);
    },
    onMoveFailure: (error) => console.error(error),
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
      const store = openWithHistory(folder, options);
      await store.exportKeys({ environmentId: "env_0", namespace: "none" }, join(folder, "none.parquet"));
      return store;
    },
  },
];
