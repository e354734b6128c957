/** The offline store of a data directory: `offline.db`, and its history beside it. */

import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { type DatabaseLimits, databaseConfig, machineLimits, processLimits } from "../../tables/duckdb/limits.ts";
import { type HistoryLink, startHistory } from "./history/link.ts";
import { createSqliteOfflineStore, type SqliteOfflineOptions } from "./sqlite.ts";
import { withHistory } from "./with-history.ts";

/** Options with which the store is opened. */
export interface EmbeddedOfflineOptions extends SqliteOfflineOptions {
  /** Where a binary unpacks the library of the engine, the first that can be written. */
  readonly libraryFolders: readonly string[];
  /** Called once when the engine cannot run on this machine, with the reason. */
  readonly onUnavailable: (reason: string) => void;
  /** Called when rows could not be moved to the history; the next move tries again. */
  readonly onMoveFailure: (error: Error) => void;
  /** Called when the history's process was started, with its id. */
  readonly onStart?: (pid: number) => void;
  /** Called when that process has ended by itself, with its last words. */
  readonly onEnd?: (reason: string) => void;
  /** Default: by the machine. */
  readonly limits?: DatabaseLimits;
  /** Rows of one move, and waiting rows that begin one; default: 100,000. */
  readonly rowsPerMove?: number;
  /** Rows out of order in a table that make it be written anew; default: 10,000,000. */
  readonly unorderedRows?: number;
  /** Calls of the history, for tests that come between; default: as they are. */
  readonly between?: (link: HistoryLink) => HistoryLink;
}

const ROWS_PER_MOVE = 100_000;
const UNORDERED_ROWS = 10_000_000;
/** Time without a call after which the history's process ends. */
const IDLE_MS = 60_000;

/** Path of the history of a store at `path`. */
export function historyPath(path: string): string {
  return `${path.replace(/\.db$/, "")}.duckdb`;
}

/** Makes the store. Nothing is opened yet. */
export function createEmbeddedOfflineStore(options: EmbeddedOfflineOptions) {
  const { path, libraryFolders, rowsPerMove = ROWS_PER_MOVE, unorderedRows = UNORDERED_ROWS, limits = machineLimits() } = options;
  const file = historyPath(path);
  const folder = dirname(path);
  const temporary = `${file}.tmp`;
  const between = options.between ?? ((link: HistoryLink) => link);
  const link = startHistory({
    settings: () => {
      rmSync(temporary, { recursive: true, force: true });
      mkdirSync(temporary, { mode: 0o700 });
      return { libraryFolders, file, config: databaseConfig(limits, temporary), landing: path, rowsPerMove, unorderedRows };
    },
    limits: processLimits(limits),
    folder,
    idleMs: IDLE_MS,
    ...(options.onStart && { onStart: options.onStart }),
    ...(options.onEnd && { onEnd: ({ message }) => options.onEnd?.(message) }),
  });
  return withHistory({
    landing: createSqliteOfflineStore(options),
    path: file,
    link: between(link),
    moveRows: rowsPerMove,
    onUnavailable: options.onUnavailable,
    onMoveFailure: options.onMoveFailure,
  });
}
