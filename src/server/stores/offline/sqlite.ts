/**
 * The offline store in one SQLite file: WAL, synchronous=FULL. A thread writes, another reads, so
 * that neither holds up queries nor each other. One process owns the file (the server's lock on its
 * data directory sees to that). Threads are started and the file is opened with the first call.
 */

import { once } from "../../../domain/once.ts";
import { type MethodArguments, type MethodName, Thread } from "../../thread/rpc.ts";
import { columnTypeOf } from "./column.ts";
import type { OfflineThreadSettings } from "./offline-worker.ts";
import type { OfflineReader } from "./reader.ts";
import {
  type FeatureVersion,
  type Observations,
  type OfflineErrorCode,
  type OfflineStore,
  OfflineStoreError,
  type SqlReadable,
} from "./store.ts";
import type { OfflineWriter, TableRows } from "./writer.ts";

/** Options with which the store is opened. */
export interface SqliteOfflineOptions {
  /** Absolute path of `offline.db`. */
  readonly path: string;
  /** Version of the program, for the message about a newer schema. */
  readonly programVersion: string;
  /** Epoch milliseconds, for the time of storing. */
  readonly now: () => number;
  /** Told once, when the file is there and was written to or looked at. */
  readonly onOpen?: () => void;
}

/** The store on SQLite. */
export interface SqliteOfflineStore extends OfflineStore, SqlReadable {
  /** Looks at every page and every observation. Rejects when something is damaged. */
  verify(): Promise<void>;
}

/** Makes the store. Nothing is opened yet. */
export function createSqliteOfflineStore(options: SqliteOfflineOptions): SqliteOfflineStore {
  const { path, programVersion } = options;
  const writing = offlineThread<OfflineWriter>({ half: "write", path, programVersion });
  const reading = offlineThread<OfflineReader>({ half: "read", path, programVersion });
  /** The file exists, in the newest schema, once the writer has opened it. */
  const opened = once(async () => {
    await writing.call("open", []);
    options.onOpen?.();
  });
  let isClosed = false;
  const ask = async <T extends object, M extends MethodName<T>>(
    half: Thread<T, OfflineThreadSettings>,
    method: M,
    args: MethodArguments<T, M>,
  ) => {
    if (isClosed) throw new OfflineStoreError("failed", "the offline store is closed");
    await opened();
    return half.call(method, args);
  };
  return {
    append: (observations) => ask(writing, "append", [observations.map(tableRows), options.now()]),
    deleteKeys: (featureIds, keys) => ask(writing, "deleteKeys", [featureIds, keys]),
    dropVersion: (featureId) => ask(writing, "dropVersion", [featureId]),
    sample: (spine, features, bounds) => ask(reading, "sample", [spine, features, bounds]),
    scanKeys: (environmentId, namespace, bounds, limit) => ask(reading, "scanKeys", [environmentId, namespace, bounds, limit]),
    scan: (featureId, scan) => ask(reading, "scan", [featureId, scan]),
    latest: (featureIds, page) => ask(reading, "latest", [featureIds, page]),
    tableNames: (featureId, historical) => ask(reading, "tableNames", [featureId, historical]),
    query: (statement, limits) => ask(reading, "query", [statement, limits]),
    verify: () => ask(reading, "verify", []),
    async close() {
      isClosed = true;
      await opened.opened();
      await reading.close().catch(() => undefined);
      await writing.close().catch(() => undefined);
    },
  };
}

/** One of the store's threads. It keeps the process alive while it owes an answer. */
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
