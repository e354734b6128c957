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
  /**
   * Rows whose windows were deleted, by keys, where the join is not by the key alone: their groups
   * follow from values of theirs, and may be those of other rows too.
   */
  readonly parents: readonly DeletedParents[];
  /** Keys of the rows that were deleted. */
  readonly rows: readonly string[];
}

/** Rows whose windows were deleted. */
export interface DeletedParents {
  readonly namespace: string;
  /** Names of the features that the join compares, in the order of the series' group. */
  readonly local: readonly string[];
  readonly keys: readonly string[];
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
  const deleted = windows.filter(({ fqn }) => namespaceOf(fqn) === namespace && isNamed(fqn));
  const isByKey = ({ local }: (typeof windows)[number]): boolean => local.length === 1 && local[0] === keyName(index, namespace);
  const joins = new Map(deleted.filter((window) => !isByKey(window)).map(({ local }) => [local.join(), local]));
  if (!isOfRows && deleted.length === 0) return undefined;
  return {
    rows: isOfRows ? keys : [],
    groups: deleted.some(isByKey) ? keys : [],
    parents: [...joins.values()].map((local) => ({ namespace, local, keys })),
  };
}

/** What was deleted of a series, as far as is known. */
export interface ErasedRows {
  /** Whether a row was deleted; undefined = none was. */
  readonly test: ErasedTest | undefined;
}

const NOTHING: ErasedRows = { test: undefined };

/**
 * What was deleted of a series by the deletions that are known whenever it is asked for: the same
 * object until there is one more, or one less, that is something to the series.
 */
export function erasedRows(graph: Graph, use: SeriesUse, deletions: () => readonly RowDeletion[]): () => ErasedRows {
  const index = new GraphIndex(graph);
  let seen: readonly RowDeletion[] = [];
  let of: readonly RowDeletion[] = [];
  let made = NOTHING;
  return () => {
    const known = deletions();
    if (known === seen) return made;
    seen = known;
    const own = known.filter((deletion) => erasureOf(index, use, deletion) !== undefined);
    if (own.length !== of.length || own.some(({ keys }, at) => keys !== of[at]?.keys))
      [of, made] = [own, own.length === 0 ? NOTHING : { test: erasedTest(index, use, own) }];
    return made;
  };
}

function erasedTest(index: GraphIndex, use: SeriesUse, deletions: readonly RowDeletion[]): ErasedTest | undefined {
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
