/**
 * The tables of an environment that statements can name: `historical.<namespace>.<feature>` with
 * every observation of a feature, and `datasets.<name>` with the newest revision of a dataset.
 */

import { fromJsonString } from "@bufbuild/protobuf";
import { type DataType, DataTypeSchema } from "../../../gen/svc/v1/value_pb.ts";
import { didYouMean } from "../../domain/closest.ts";
import { isLike } from "../../domain/expressions/text.ts";
import { Failure } from "../failure.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";

/** Catalog of the features' histories: a schema is a namespace. */
export const HISTORY_CATALOG = "historical";
/** Catalog of the datasets, in one schema. */
export const DATASET_CATALOG = "datasets";
/** The schema of a catalog that needs none; names of tables can leave it out. */
const MAIN_SCHEMA = "main";

/** The history of a version of a feature. */
export interface HistoryTable {
  readonly kind: "history";
  readonly name: readonly [catalog: string, schema: string, table: string];
  readonly featureId: number;
  readonly namespace: string;
  readonly dtype: DataType;
}

/** The newest revision of a dataset. */
export interface DatasetTable {
  readonly kind: "datasets";
  readonly name: readonly [catalog: string, schema: string, table: string];
  readonly datasetId: string;
}

/** A table of an environment. */
export type EnvironmentTable = HistoryTable | DatasetTable;

/** Most datasets that are listed. */
const MAX_DATASETS = 10_000;
const DATASET_PAGE = 500;

/** The tables of an environment, in the order of their names. */
export async function environmentTables(
  { datasets, knownFeatures }: Pick<MetadataStore, "datasets" | "knownFeatures">,
  environmentId: string,
): Promise<EnvironmentTable[]> {
  const found: EnvironmentTable[] = [...historyTables(await knownFeatures(environmentId))];
  let before: string | undefined;
  for (let listed = 0; listed < MAX_DATASETS; listed += DATASET_PAGE) {
    const page = await datasets.list({ environmentId, limit: DATASET_PAGE, before });
    for (const { id, name } of page)
      if (name !== undefined) found.push({ kind: "datasets", name: [DATASET_CATALOG, MAIN_SCHEMA, name], datasetId: id });
    if (page.length < DATASET_PAGE) break;
    before = page.at(-1)?.id;
  }
  return found.sort((one, other) => byName(one.name, other.name));
}

/**
 * The histories of features: the newest version has the feature's name, and each of several
 * versions a name with its number, `score__v1`.
 */
export function historyTables(
  features: readonly { readonly fqn: string; readonly dtype: string; readonly id: number }[],
): readonly HistoryTable[] {
  const versions = Map.groupBy(
    features.flatMap(({ fqn, dtype, id }) => {
      const type = typeOf(dtype);
      return type ? [{ fqn, id, dtype: type }] : [];
    }),
    ({ fqn }) => fqn,
  );
  return [...versions].flatMap(([fqn, all]) => {
    const dot = fqn.indexOf(".");
    const [namespace, name] = [fqn.slice(0, dot), fqn.slice(dot + 1)];
    const sorted = all.toSorted((one, other) => one.id - other.id);
    const tableOf = ({ id, dtype }: (typeof all)[number], table: string): HistoryTable => ({
      kind: "history",
      name: [HISTORY_CATALOG, namespace, table],
      featureId: id,
      namespace,
      dtype,
    });
    const newest = sorted.at(-1) as (typeof all)[number];
    const numbered = sorted.map((version, at) => tableOf(version, versionName(name, at + 1)));
    return [tableOf(newest, name), ...(sorted.length > 1 ? numbered : [])];
  });
}

/** Name of the table of a feature's internal version. */
function versionName(feature: string, internalVersion: number): string {
  return `${feature}__v${internalVersion}`;
}

/** The type of a scalar feature; undefined for what is none. */
function typeOf(text: string): DataType | undefined {
  try {
    const dtype = fromJsonString(DataTypeSchema, text);
    return dtype.kind.case === undefined ? undefined : dtype;
  } catch {
    return undefined;
  }
}

/**
 * The table that a statement names. Throws Failure invalid_argument when there is none, with those
 * whose names are close.
 */
export function tableNamed(tables: readonly EnvironmentTable[], name: readonly string[], line: number | undefined): EnvironmentTable {
  const wanted = name.map((part) => part.toLowerCase());
  const same = (parts: readonly string[]) => parts.length === wanted.length && parts.every((part, at) => part.toLowerCase() === wanted[at]);
  const matching = tables.filter((table) => same(table.name) || (table.name[1] === MAIN_SCHEMA && same([table.name[0], table.name[2]])));
  const exact = matching.find((table) => table.name[2] === name.at(-1)) ?? matching[0];
  if (exact) return exact;
  const said = name.join(".");
  const place = line === undefined ? "" : ` (line ${line})`;
  const close = didYouMean(
    said,
    [...tables.map(sqlName), ...tables.map((table) => table.name[2])],
    (other) => `'${fullName(tables, other)}'`,
  );
  throw new Failure("invalid_argument", `There is no table ${said.slice(0, 200)} in this environment${place}.`, {
    hint: `${close ? `${close[0]?.toUpperCase()}${close.slice(1)} ` : ""}\`svc catalog schemas --show-tables\` shows all.`,
  });
}

/** A table's name for statements, of a name without its catalog. */
function fullName(tables: readonly EnvironmentTable[], name: string): string {
  const found = tables.find((table) => table.name[2] === name);
  return found ? sqlName(found) : name;
}

/** A table as a statement names it. */
export function sqlName({ name: [catalog, schema, table] }: Pick<EnvironmentTable, "name">): string {
  return [catalog, ...(schema === MAIN_SCHEMA ? [] : [schema]), table].map(quotedPart).join(".");
}

function quotedPart(part: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(part) ? part : `"${part.replaceAll('"', '""')}"`;
}

function byName(one: readonly string[], other: readonly string[]): number {
  const at = one.findIndex((part, index) => part !== other[index]);
  return at < 0 ? 0 : (one[at] as string) < (other[at] as string) ? -1 : 1;
}

/** Whether a name matches a pattern, in any case: `*`, `%` are any text, `?` one character. */
export function matchesPattern(name: string, pattern: string): boolean {
  const like = pattern.replace(/[\\_]/g, "\\$&").replaceAll("*", "%").replaceAll("?", "_");
  return pattern === "" || isLike(name.toLowerCase(), like.toLowerCase());
}
