/**
 * Rows of a query that a `select` gives, over the tables that all statements of people can name:
 * the histories of features and the datasets of the environment.
 */

import { join } from "node:path";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { environmentTables, tableNamed } from "../catalog/environment-tables.ts";
import { historyColumns, writeHistory } from "../catalog/history-table.ts";
import { tableColumns } from "../datasets/columns.ts";
import type { RevisionMaker } from "../datasets/revisions.ts";
import { Failure } from "../failure.ts";
import type { NamespaceInfo } from "../query/graph/index-types.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import { type NamedTable, type TableEngine, TableError, type TableSource } from "../tables/engine.ts";
import { MAX_SPINE_ROWS } from "./wish.ts";

/** What a statement may use. */
const TIMEOUT_MS = 600_000;
const MAX_BYTES = 4 * 1024 ** 3;
const MAX_HISTORY_ROWS = 20_000_000;
const MAX_TABLES = 50;

/** What a statement is answered with. */
export interface SpineSqlParts {
  readonly metadata: Pick<MetadataStore, "datasets" | "knownFeatures">;
  readonly revisions: RevisionMaker;
  readonly tables: TableEngine;
  readonly offline: () => Promise<OfflineStore>;
  readonly environmentId: string;
  /** The classes of the deployment. */
  readonly namespaces: ReadonlyMap<string, NamespaceInfo>;
  /** Folder for files, empty. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/**
 * Answers a statement with a Parquet file, whose path it returns.
 * @param isTried whether the tables that it names have their columns and no rows
 * @throws Failure invalid_argument for a statement that is wrong
 */
export async function selectSpine(statement: string, parts: SpineSqlParts, isTried: boolean): Promise<string> {
  const { metadata, environmentId, folder, signal } = parts;
  const target = join(folder, "selected.parquet");
  const limits = { timeoutMs: TIMEOUT_MS, rows: MAX_SPINE_ROWS, bytes: MAX_BYTES };
  const sources = async (named: readonly NamedTable[]): Promise<readonly TableSource[]> => {
    if (named.length > MAX_TABLES) throw new Failure("invalid_argument", `A statement can name ${MAX_TABLES} tables at most.`);
    const all = await environmentTables(metadata, environmentId);
    const found: TableSource[] = [];
    for (const { name, line } of named) {
      const table = tableNamed(all, name, line);
      const path = join(folder, `table-${found.length}`);
      const made = table.kind === "history" ? await historyOf(table, path, parts, isTried) : await datasetOf(table, path, parts, isTried);
      found.push({ ...made, name });
    }
    return found;
  };
  const { truncated } = await parts.tables.select(statement, sources, target, { limits, signal }).catch((error: unknown) => {
    if (error instanceof TableError && error.code !== "failed") throw new Failure("invalid_argument", error.message);
    throw error;
  });
  if (truncated) throw new Failure("invalid_argument", `The statement gives more than ${MAX_SPINE_ROWS} rows, the most of one query.`);
  return target;
}

type Made = Omit<TableSource, "name">;
type Named = ReturnType<typeof tableNamed>;

async function historyOf(
  table: Extract<Named, { readonly kind: "history" }>,
  path: string,
  { namespaces, tables, offline, signal }: SpineSqlParts,
  isTried: boolean,
): Promise<Made> {
  if (isTried) return { columns: historyColumns(table, hasIntegerKeys(namespaces.get(table.namespace))), paths: [] };
  const target = `${path}.parquet`;
  const bounds = { mostRows: MAX_HISTORY_ROWS, signal };
  const { columns } = await writeHistory({ store: await offline(), engine: tables }, table, target, bounds);
  return { columns, paths: [target] };
}

async function datasetOf(
  { datasetId, name }: Extract<Named, { readonly kind: "datasets" }>,
  path: string,
  { metadata: { datasets }, revisions, signal }: SpineSqlParts,
  isTried: boolean,
): Promise<Made> {
  const revision = await datasets.latest(datasetId);
  if (!revision || revision.columns.length === 0)
    throw new Failure("invalid_argument", `The newest revision of the dataset '${name[2]}' is no table.`);
  const columns = tableColumns(revision.columns);
  if (isTried) return { columns, paths: [] };
  const paths: string[] = [];
  for (const file of await revisions.files(revision.id)) {
    if (file.kind !== "output") continue;
    signal.throwIfAborted();
    paths.push(`${path}-${paths.length}.parquet`);
    await revisions.fetch(file, paths.at(-1) as string);
  }
  return { columns, paths };
}

function hasIntegerKeys(namespace: NamespaceInfo | undefined): boolean {
  const { kind } = namespace?.primaryKey?.dtype ?? {};
  return kind?.case === "primitive" && kind.value === PrimitiveType.INT64;
}
