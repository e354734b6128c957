/** The history of a feature as a table in a file. */

import { create } from "@bufbuild/protobuf";
import { DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import { type FeatureValue, normalizeInt } from "../../domain/value.ts";
import type { OfflineStore, ScanPosition } from "../stores/offline/store.ts";
import { type TableColumn, type TableEngine, TableError } from "../tables/engine.ts";
import type { HistoryTable } from "./environment-tables.ts";

/** Observations of a page. */
const PAGE_ROWS = 5_000;

/** The columns of a history. */
export function historyColumns({ dtype }: HistoryTable, hasIntegerKeys: boolean): readonly TableColumn[] {
  const of = (type: PrimitiveType) => create(DataTypeSchema, { kind: { case: "primitive", value: type } });
  return [
    { name: "key", dtype: of(hasIntegerKeys ? PrimitiveType.INT64 : PrimitiveType.STRING) },
    { name: "value", dtype },
    { name: "observed_at", dtype: of(PrimitiveType.DATETIME) },
    { name: "inserted_at", dtype: of(PrimitiveType.DATETIME) },
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
 * are integers when all are, else text. Rejects with TableError `exhausted` beyond `mostRows`, and
 * the signal's reason.
 */
export async function writeHistory(
  { store, engine }: { readonly store: Pick<OfflineStore, "scan">; readonly engine: Pick<TableEngine, "write"> },
  table: HistoryTable,
  target: string,
  { mostRows, signal }: { readonly mostRows: number; readonly signal: AbortSignal },
): Promise<WrittenHistory> {
  const [first] = await store.scan(table.featureId, { limit: 1 });
  const withIntegers = first?.key.startsWith("i:") === true;
  // Integers come before text in the order of keys, so that only a later page may have text.
  const attempt = await writeAll({ store, engine }, table, target, { mostRows, signal, hasIntegerKeys: withIntegers });
  return attempt ?? ((await writeAll({ store, engine }, table, target, { mostRows, signal, hasIntegerKeys: false })) as WrittenHistory);
}

/** Undefined when a key is no integer although all should be; nothing is written then. */
async function writeAll(
  { store, engine }: { readonly store: Pick<OfflineStore, "scan">; readonly engine: Pick<TableEngine, "write"> },
  table: HistoryTable,
  target: string,
  { mostRows, signal, hasIntegerKeys }: { readonly mostRows: number; readonly signal: AbortSignal; readonly hasIntegerKeys: boolean },
): Promise<WrittenHistory | undefined> {
  const columns = historyColumns(table, hasIntegerKeys);
  const writer = await engine.write(target, columns);
  try {
    let after: ScanPosition | undefined;
    let count = 0;
    for (;;) {
      signal.throwIfAborted();
      const page = await store.scan(table.featureId, { limit: PAGE_ROWS, ...(after && { after }) });
      if (hasIntegerKeys && page.some(({ key }) => !key.startsWith("i:"))) {
        await writer.abandon();
        return undefined;
      }
      const keys = page.map(({ key }): FeatureValue => (hasIntegerKeys ? normalizeInt(BigInt(key.slice(2))) : key.slice(2)));
      await writer.append({
        rows: page.length,
        columns: [
          keys,
          page.map(({ value }) => value),
          page.map(({ observedAt }) => instant(observedAt)),
          page.map(({ insertedAt }) => instant(insertedAt)),
          page.map(({ sequence }) => sequence),
          page.map(({ resolver }) => (resolver === "" ? null : resolver)),
          page.map(({ deploymentId }) => (deploymentId === "" ? null : deploymentId)),
          page.map(({ op }) => op),
        ],
      });
      const last = page.at(-1);
      if (!last || page.length < PAGE_ROWS) break;
      after = last;
      count += page.length;
      if (count > mostRows)
        throw new TableError("exhausted", `${table.name.join(".")} has more than ${mostRows.toLocaleString("en")} observations`);
    }
    const { rows } = await writer.finish();
    return { rows, columns };
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

/** Epoch milliseconds as the text of an instant. */
function instant(ms: number): string {
  return formatMicros(BigInt(Math.round(ms * 1000)));
}
