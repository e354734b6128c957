import { join } from "node:path";
import { createSqliteLogStore } from "../../../../src/server/stores/logs/sqlite.ts";
import type { LogStore } from "../../../../src/server/stores/logs/store.ts";
import type { Driver } from "../driver.ts";

/** Longest time that records are kept, milliseconds. */
export const KEPT_MS = 24 * 3_600_000;

/** A driver of the log store, opened with the bound of `KEPT_MS`. */
export interface LogDriver extends Driver<LogStore> {
  /** Whether records outlive `close`. */
  readonly isDurable: boolean;
}

function open(path: string, now: () => number): LogStore {
  return createSqliteLogStore({ path, programVersion: "1", clock: { now, sleep: (ms) => Bun.sleep(ms) }, ttlMs: KEPT_MS });
}

/** Every driver of the log store. */
export const LOG_DRIVERS: readonly LogDriver[] = [
  { name: "SQLite file", isDurable: true, open: (folder, { now = Date.now } = {}) => open(join(folder, "logs.db"), now) },
  { name: "SQLite in memory", isDurable: false, open: (_, { now = Date.now } = {}) => open(":memory:", now) },
];
