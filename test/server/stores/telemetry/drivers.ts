import { join } from "node:path";
import { createSqliteTelemetryStore, type TelemetryOptions } from "../../../../src/server/stores/telemetry/sqlite.ts";
import type { TelemetryStore } from "../../../../src/server/stores/telemetry/store.ts";
import type { Driver } from "../driver.ts";

/** Longest time that records are kept, milliseconds, and size of the stages that are. */
export const KEPT = { ttlMs: 24 * 3_600_000, spanTtlMs: 24 * 3_600_000, maxStageBytes: 450 };

/** A driver of the telemetry store, opened with the bounds of `KEPT`. */
export interface TelemetryDriver extends Driver<TelemetryStore> {
  /** Whether records outlive `close`. */
  readonly isDurable: boolean;
}

function open(path: string, now: () => number): TelemetryStore {
  const clock: TelemetryOptions["clock"] = { now, sleep: (ms) => Bun.sleep(ms) };
  return createSqliteTelemetryStore({ path, programVersion: "1", clock, ...KEPT });
}

/** Every driver of the telemetry store. */
export const TELEMETRY_DRIVERS: readonly TelemetryDriver[] = [
  { name: "SQLite file", isDurable: true, open: (folder, { now = Date.now } = {}) => open(join(folder, "telemetry.db"), now) },
  { name: "SQLite in memory", isDurable: false, open: (_, { now = Date.now } = {}) => open(":memory:", now) },
];
