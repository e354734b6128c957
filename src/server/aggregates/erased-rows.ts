/**
 * Rows whose values were deleted, as tiles know them: by the key of the row, or by the key of the
 * row whose window they count in. A tile cannot give up one of its rows, so tiles that may hold one
 * are removed, and made anew without it.
 */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { GraphIndex } from "../../domain/graph-index.ts";
import type { SeriesUse } from "../../domain/kept-series.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { RowDeletion } from "../deletions/deleted-values.ts";
import { storeKey } from "../stores/online/store.ts";

/** What a deletion is to a series. */
export interface SeriesErasure {
  /** Keys of the groups whose windows were deleted. */
  readonly groups: readonly string[];
  /** Keys of the rows that were deleted. */
  readonly rows: readonly string[];
}

/** Whether a row of a batch was deleted. */
export type ErasedTest = (columns: ReadonlyMap<string, readonly FeatureValue[]>, row: number, group: string, micros: bigint) => boolean;

/** What a deletion is to a series; undefined = nothing. */
export function erasureOf(
  index: GraphIndex,
  use: SeriesUse,
  { features, keys, namespace }: Omit<RowDeletion, "until">,
): SeriesErasure | undefined {
  const isNamed = (fqn: string): boolean => features === undefined || features.includes(fqn);
  const { series, windows } = use;
  const isOfRows = namespace === series.namespace && series.reads.some((name) => isNamed(`${namespace}.${name}`));
  const isOfGroups = windows.some(
    ({ fqn, local }) => namespaceOf(fqn) === namespace && isNamed(fqn) && local.length === 1 && local[0] === keyName(index, namespace),
  );
  return isOfRows || isOfGroups ? { rows: isOfRows ? keys : [], groups: isOfGroups ? keys : [] } : undefined;
}

/**
 * The test of rows of a series by the deletions that are known whenever it is asked for; undefined
 * = none was deleted.
 */
export function erasedTests(graph: Graph, use: SeriesUse, deletions: () => readonly RowDeletion[]): () => ErasedTest | undefined {
  let of: readonly RowDeletion[] = [];
  let made: ErasedTest | undefined;
  return () => {
    const known = deletions();
    if (known !== of) [of, made] = [known, erasedTest(graph, use, known)];
    return made;
  };
}

function erasedTest(graph: Graph, use: SeriesUse, deletions: readonly RowDeletion[]): ErasedTest | undefined {
  if (deletions.length === 0) return undefined;
  const index = new GraphIndex(graph);
  const groups = new Map<string, bigint>();
  const rows = new Map<string, bigint>();
  for (const deletion of deletions) {
    const erasure = erasureOf(index, use, deletion);
    const until = BigInt(deletion.until) * 1000n;
    for (const [latest, keys] of [
      [groups, erasure?.groups ?? []],
      [rows, erasure?.rows ?? []],
    ] as const)
      for (const key of keys) if ((latest.get(key) ?? until) <= until) latest.set(key, until);
  }
  if (groups.size + rows.size === 0) return undefined;
  const own = keyName(index, use.series.namespace);
  return (columns, row, group, micros) => {
    if (micros <= (groups.get(group) ?? NEVER)) return true;
    const key = rows.size === 0 ? undefined : columns.get(own)?.[row];
    return key !== undefined && key !== null && micros <= (rows.get(storeKey(key)) ?? NEVER);
  };
}

/** Name of the feature of a class that is its primary key; empty = it has none. */
export function keyName(index: GraphIndex, namespace: string): string {
  const fqn = index.sets.get(namespace)?.primaryKey ?? "";
  return fqn.slice(fqn.indexOf(".") + 1);
}

/** Before all instants. */
const NEVER = -(2n ** 63n);

function namespaceOf(fqn: string): string {
  return fqn.slice(0, fqn.indexOf("."));
}
