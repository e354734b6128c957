/**
 * Rows of a query that a `select` gives. It may name `datasets.<name>`, the latest revision of a
 * dataset, and `historical_values.<class>.<feature>`, the observations of a feature: `key`,
 * `value`, `observed_at`, `inserted_at`.
 */

import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type DataType, DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { didYouMean } from "../../domain/closest.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import { tableColumns } from "../datasets/columns.ts";
import type { RevisionMaker } from "../datasets/revisions.ts";
import { Failure } from "../failure.ts";
import type { NamespaceInfo, ScalarInfo } from "../query/graph/index-types.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { OfflineStore, ScanPosition } from "../stores/offline/store.ts";
import { primaryKeyOf } from "../stores/online/store.ts";
import { type NamedTable, type TableColumn, type TableEngine, TableError, type TableSource } from "../tables/engine.ts";
import { MAX_SPINE_ROWS } from "./wish.ts";

/** Milliseconds that a statement may take. */
const TIMEOUT_MS = 600_000;
const MAX_BYTES = 4 * 1024 ** 3;
const SCAN_ROWS = 50_000;
const HISTORY = "historical_values";
const DATASETS = "datasets";

/** What a statement is answered with. */
export interface SpineSqlParts {
  readonly metadata: Pick<MetadataStore, "datasets">;
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
  const target = join(parts.folder, "selected.parquet");
  const limits = { timeoutMs: TIMEOUT_MS, rows: MAX_SPINE_ROWS, bytes: MAX_BYTES };
  let refused: unknown;
  const sources = (named: readonly NamedTable[]): Promise<readonly TableSource[]> =>
    Promise.all(named.map((table, at) => sourceOf(table, at, parts, isTried))).catch((error: unknown) => {
      refused = error;
      throw error;
    });
  const { truncated } = await parts.tables.select(statement, sources, target, { limits, signal: parts.signal }).catch((error: unknown) => {
    if (refused !== undefined) throw refused;
    if (error instanceof TableError && error.code !== "failed") throw new Failure("invalid_argument", error.message);
    throw error;
  });
  if (truncated) throw new Failure("invalid_argument", `The statement gives more than ${MAX_SPINE_ROWS} rows, the most of one query.`);
  return target;
}

async function sourceOf({ name, line }: NamedTable, at: number, parts: SpineSqlParts, isTried: boolean): Promise<TableSource> {
  const where = line === undefined ? "" : ` (line ${line})`;
  const [area = "", first = "", second = ""] = name;
  if (area === DATASETS && name.length === 2) return datasetSource(name, first, where, parts, isTried);
  if (area === HISTORY && name.length === 3) {
    const feature = parts.namespaces.get(first)?.members.get(second);
    if (feature?.kind !== "scalar" || feature.featureId === undefined)
      throw new Failure("invalid_argument", `There is no feature '${first}.${second}'${where}.`, {
        hint: didYouMean(`${first}.${second}`, featureNames(parts)) || "`svc features list` shows what there is.",
      });
    return historySource(name, feature, at, parts, isTried);
  }
  throw new Failure("invalid_argument", `There is no table '${name.join(".")}'${where}.`, {
    hint: `Tables are ${DATASETS}.<name> and ${HISTORY}.<class>.<feature>.`,
  });
}

async function datasetSource(
  name: readonly string[],
  dataset: string,
  where: string,
  { metadata: { datasets }, revisions, environmentId, folder }: SpineSqlParts,
  isTried: boolean,
): Promise<TableSource> {
  const found = await datasets.dataset(environmentId, dataset);
  const revision = found && (await datasets.latest(found.id));
  if (!revision)
    throw new Failure("invalid_argument", `There is no dataset '${dataset}'${where}.`, { hint: "`svc dataset list` shows what there is." });
  const columns = tableColumns(revision.columns);
  if (isTried) return { name, paths: [], columns };
  const files = (await revisions.files(revision.id)).filter(({ kind }) => kind === "output");
  const paths = await Promise.all(
    files.map(async (file) => {
      const path = join(folder, `${crypto.randomUUID()}.parquet`);
      await revisions.fetch(file, path);
      return path;
    }),
  );
  return { name, columns, paths };
}

/** The observations of a feature, as a file. */
async function historySource(
  name: readonly string[],
  feature: ScalarInfo,
  at: number,
  { namespaces, tables, offline, folder, signal }: SpineSqlParts,
  isTried: boolean,
): Promise<TableSource> {
  const key = namespaces.get(feature.namespace)?.primaryKey?.dtype ?? primitive(PrimitiveType.STRING);
  const datetime = primitive(PrimitiveType.DATETIME);
  const columns: readonly TableColumn[] = [
    { name: "key", dtype: key },
    { name: "value", dtype: feature.dtype },
    { name: "observed_at", dtype: datetime },
    { name: "inserted_at", dtype: datetime },
  ];
  if (isTried) return { name, columns, paths: [] };
  const store = await offline();
  const path = join(folder, `history-${at}.parquet`);
  const writer = await tables.write(path, columns);
  try {
    let after: ScanPosition | undefined;
    for (;;) {
      signal.throwIfAborted();
      const page = await store.scan(feature.featureId as number, { limit: SCAN_ROWS, ...(after && { after }) });
      await writer.append({
        rows: page.length,
        columns: [
          page.map((one) => primaryKeyOf(one.key)),
          page.map(({ value }) => value),
          page.map(({ observedAt }) => timeText(observedAt)),
          page.map(({ insertedAt }) => timeText(insertedAt)),
        ],
      });
      after = page.at(-1);
      if (page.length < SCAN_ROWS) break;
    }
    await writer.finish();
  } catch (error) {
    await writer.abandon().catch(() => undefined);
    throw error;
  }
  return { name, columns, paths: [path] };
}

function timeText(ms: number): string {
  return formatMicros(BigInt(Math.round(ms * 1000)));
}

function featureNames({ namespaces }: SpineSqlParts): string[] {
  return [...namespaces.values()].flatMap(({ scalars }) => scalars.map(({ fqn }) => fqn));
}

function primitive(value: PrimitiveType): DataType {
  return create(DataTypeSchema, { kind: { case: "primitive", value } });
}
