/**
 * The offline store in one SQLite file: WAL, synchronous=FULL. One thread writes and another reads,
 * so that they delay neither queries nor each other. One process owns the file (the server's lock
 * on its data directory ensures that). Threads are started and the file is opened with the first
 * call.
 */

import { existsSync } from "node:fs";
import { once } from "../../../domain/once.ts";
import { type MethodArguments, type MethodName, Thread } from "../../thread/rpc.ts";
import { columnTypeOf } from "./column.ts";
import type { Adopted } from "./history/history.ts";
import type { OfflineThreadSettings } from "./offline-worker.ts";
import type { OfflineReader } from "./reader.ts";
import {
  type FeatureVersion,
  type Observations,
  type OfflineErrorCode,
  type OfflineMeasures,
  type OfflineStore,
  OfflineStoreError,
  type SqlReadable,
} from "./store.ts";
import type { ForgottenMove, LandingState, OfflineWriter, TableRows } from "./writer.ts";

/** Options with which the store is opened. */
export interface SqliteOfflineOptions {
  /** Absolute path of `offline.db`. */
  readonly path: string;
  /** Version of the program, for the message about a newer schema. */
  readonly programVersion: string;
  /** The clock for `insertedAt`, epoch milliseconds. */
  readonly now: () => number;
  /** Called once, when the file has been opened or created. */
  readonly onOpen?: () => void;
}

/** The store on SQLite. */
export interface SqliteOfflineStore extends OfflineStore, SqlReadable {
  /** Checks every page and every observation. Rejects when something is damaged. */
  verify(): Promise<void>;
  /** Where the file stands with the history that its rows are moved to. */
  state(): Promise<LandingState>;
  /** See `OfflineWriter.forget`. */
  forget(move: ForgottenMove, from: number, limit: number): Promise<number | undefined>;
  /** Takes over what a history knows; does nothing for a file that is not new. */
  adopt(known: Adopted): Promise<void>;
  /** Rows of the history by environment, as of the last move. */
  movedRows(): Promise<(readonly [environmentId: string, rows: number])[]>;
}

/** Observations of a version that are removed in one commit: others write between two commits. */
const ROWS_PER_TRIM = 20_000;

/** Makes the store. Nothing is opened yet. */
export function createSqliteOfflineStore(options: SqliteOfflineOptions): SqliteOfflineStore {
  const { path, programVersion } = options;
  const writing = offlineThread<OfflineWriter>({ half: "write", path, programVersion });
  const reading = offlineThread<OfflineReader>({ half: "read", path, programVersion });
  /** The opening by the writer, after which the file exists in the newest schema. */
  const opened = once(async () => {
    await writing.call("open", []);
    options.onOpen?.();
  });
  let isClosed = false;
  /** The last measure, with the number of the content that was measured. */
  let measured: { readonly change: number; readonly measures: OfflineMeasures } | undefined;
  const call = async <T extends object, M extends MethodName<T>>(
    half: Thread<T, OfflineThreadSettings>,
    method: M,
    args: MethodArguments<T, M>,
  ) => {
    if (isClosed) throw new OfflineStoreError("failed", "the offline store is closed");
    await opened();
    return half.call(method, args);
  };
  return {
    append: (observations) => call(writing, "append", [observations.map(tableRows), options.now()]),
    deleteKeys: (featureIds, keys, until) => call(writing, "deleteKeys", [featureIds, keys, until]),
    dropVersion: (featureId) => call(writing, "dropVersion", [featureId]),
    hours: (environmentId) => call(reading, "hours", [environmentId]),
    async trim(environmentId, observedBefore) {
      let removed = 0;
      for (let step = 1; step > 0; removed += step) step = await call(writing, "trim", [environmentId, observedBefore, ROWS_PER_TRIM]);
      return removed;
    },
    sample: (spine, features, bounds) => call(reading, "sample", [spine, features, bounds]),
    scanKeys: (environmentId, namespace, bounds, limit) => call(reading, "scanKeys", [environmentId, namespace, bounds, limit]),
    scan: (featureId, scan) => call(reading, "scan", [featureId, scan]),
    latest: (featureIds, page) => call(reading, "latest", [featureIds, page]),
    tableNames: (featureId, historical) => call(reading, "tableNames", [featureId, historical]),
    async measure() {
      if (!existsSync(path)) return { bytes: 0, environments: new Map() };
      const { bytes, change } = await call(reading, "figures", []);
      if (measured?.change === change) return measured.measures;
      const environments = new Map<string, number>();
      for (const { fid, environment_id } of await call(reading, "versions", []))
        environments.set(environment_id, (environments.get(environment_id) ?? 0) + (await call(reading, "versionBytes", [fid])));
      measured = { change, measures: { bytes, environments } };
      return measured.measures;
    },
    async probe() {
      await call(reading, "figures", []);
    },
    query: (statement, limits) => call(reading, "query", [statement, limits]),
    verify: () => call(reading, "verify", []),
    state: () => call(writing, "state", []),
    forget: (move, from, limit) => call(writing, "forget", [move, from, limit]),
    adopt: (known) => call(writing, "adopt", [known]),
    movedRows: () => call(reading, "movedRows", []),
    async close() {
      isClosed = true;
      await opened.opened();
      await reading.close().catch(() => undefined);
      await writing.close().catch(() => undefined);
    },
  };
}

/** One of the store's threads. It keeps the process alive while calls are pending. */
function offlineThread<Half extends OfflineWriter | OfflineReader>(settings: OfflineThreadSettings): Thread<Half, OfflineThreadSettings> {
  return new Thread({
    entry: "stores/offline/offline-worker.ts",
    settings,
    holdsProcess: true,
    revive: ({ message, fields }) => new OfflineStoreError(fields.code as OfflineErrorCode, message),
    ended: (reason) => new OfflineStoreError("failed", `the offline store's thread ended: ${reason}`),
  });
}

function tableRows({ version, ...columns }: Observations): TableRows {
  return { ...columns, table: tableOf(version) };
}

function tableOf({ dtype, ...version }: FeatureVersion): TableRows["table"] {
  return { ...version, type: columnTypeOf(dtype) };
}
