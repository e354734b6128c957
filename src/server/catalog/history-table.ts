/** The history of a feature as a table in a file. */

import { create } from "@bufbuild/protobuf";
import { DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { type OfflineStore, OfflineStoreError, tableSampling } from "../stores/offline/store.ts";
import { type TableColumn, type TableEngine, TableError } from "../tables/engine.ts";
import type { HistoryTable } from "./environment-tables.ts";

/** The columns of a history. */
export function historyColumns({ dtype }: HistoryTable, hasIntegerKeys: boolean): readonly TableColumn[] {
  const of = (type: PrimitiveType) => create(DataTypeSchema, { kind: { case: "primitive", value: type } });
  return [
    { name: "key", dtype: of(hasIntegerKeys ? PrimitiveType.INT64 : PrimitiveType.STRING) },
    { name: "value", dtype },
    { name: "observed_at", dtype: of(PrimitiveType.DATETIME) },
    { name: "inserted_at", dtype: of(PrimitiveType.DATETIME) },
    { name: "known_at", dtype: of(PrimitiveType.DATETIME) },
    { name: "sequence", dtype: of(PrimitiveType.INT64) },
    { name: "resolver", dtype: of(PrimitiveType.STRING) },
    { name: "deployment", dtype: of(PrimitiveType.STRING) },
    { name: "operation", dtype: of(PrimitiveType.STRING) },
  ];
}

/** A history that was written. */
export interface WrittenHistory {
  readonly rows: number;
  readonly columns: readonly TableColumn[];
}

/**
 * Writes the observations of a version of a feature, in the order of key, time and storing. Keys
 * are integers when all are, else text. Rejects with TableError, `exhausted` beyond `mostRows`, and
 * the signal's reason.
 */
export async function writeHistory(
  { store, engine }: { readonly store: OfflineStore; readonly engine: Pick<TableEngine, "describe"> },
  { featureId, dtype, name }: HistoryTable,
  target: string,
  { mostRows, signal }: { readonly mostRows: number; readonly signal: AbortSignal },
): Promise<WrittenHistory> {
  const exporting = tableSampling(store);
  if (!exporting) throw new TableError("unavailable", "the offline store gives no files, which statements read");
  const { rows } = await exporting.exportHistory({ featureId, dtype }, target, { mostRows }, signal).catch((error: unknown) => {
    if (error instanceof OfflineStoreError && error.code === "refused") throw new TableError("refused", error.message);
    throw error;
  });
  if (rows > mostRows) throw new TableError("exhausted", `${name.join(".")} has more than ${mostRows.toLocaleString("en")} observations`);
  const { columns } = await engine.describe(target);
  return { rows, columns };
}
