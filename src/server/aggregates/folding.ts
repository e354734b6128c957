/** From rows of a class to tiles: of a batch that came, or of all rows of a time. */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { bucketOf, bucketStart, groupKey, type TileSeries } from "../../domain/expressions/tile-series.ts";
import { seriesOf } from "../../domain/kept-series.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { RowDeletion } from "../deletions/deleted-values.ts";
import { storeKey } from "../stores/online/store.ts";
import type { MergeStates, Tile, TileGuard } from "../stores/tiles/store.ts";
import { isMarked, marksRead } from "../tiles/coverage.ts";
import { createSeriesReader, type SeriesReader } from "../tiles/series-rows.ts";
import { TileState } from "../tiles/tile-state.ts";
import { type ErasedTest, erasedRows } from "./erased-rows.ts";

/** Rows of a class, by columns. */
export interface FoldedRows {
  /** Values by the FQN of the feature; all that a series reads, or the series is left out. */
  readonly columns: ReadonlyMap<string, readonly FeatureValue[]>;
  readonly rows: number;
}

/** Tiles of a batch of rows. */
export interface Deltas {
  readonly tiles: readonly Tile[];
  /** Rows that are older than a series keeps, counted once for each series. */
  readonly expired: number;
}

/** Makes tiles of rows as they come. */
export interface Folding {
  /** Namespaces of the classes whose rows are kept. */
  readonly namespaces: ReadonlySet<string>;
  /**
   * What rows add to the tiles of all series of their class. Rows without a time or a group belong
   * to none.
   * @param nowMicros microseconds since 1970: rows that are older than a series keeps are left out
   */
  deltas(namespace: string, rows: FoldedRows, nowMicros: bigint): Deltas;
  /** Merges states of the series. */
  readonly merge: MergeStates;
  /** Leaves rows to backfills whose buckets they fill: those read the rows of their resolver. */
  readonly guard: TileGuard;
}

/**
 * Makes the folding of a graph.
 * @param seriesIds ids by the series' keys; series without one are left out
 * @param deletions the rows that were deleted, as known when it is called; they are left out
 */
export function createFolding(
  graph: Graph,
  seriesIds: ReadonlyMap<string, number>,
  deletions: () => readonly RowDeletion[] = () => [],
): Folding {
  const uses = seriesOf(graph).flatMap((use) => {
    const id = seriesIds.get(use.series.key);
    return id === undefined
      ? []
      : [{ ...use, id, reader: createSeriesReader(graph, use.series), erased: erasedRows(graph, use, deletions) }];
  });
  const byId = new Map(uses.map(({ id, series }) => [id, series]));
  return {
    namespaces: new Set(uses.map(({ series }) => series.namespace)),
    deltas(namespace, rows, nowMicros) {
      const tiles: Tile[] = [];
      let expired = 0;
      for (const { id, series, reader, erased, retentionMicros } of uses) {
        if (series.namespace !== namespace) continue;
        const columns = columnsOf(series, rows);
        if (!columns) continue;
        const first = bucketStart(series, bucketOf(series, nowMicros - retentionMicros));
        const folded = new BucketFold(id, series, reader, first, undefined, erased().test);
        folded.add(columns, rows.rows);
        tiles.push(...folded.tiles());
        expired += folded.leftOut;
      }
      return { tiles, expired };
    },
    guard: {
      read: marksRead,
      admits({ seriesId, bucket }, marks) {
        const series = byId.get(seriesId);
        return series === undefined || !isMarked(series, bucket, marks);
      },
    },
    merge: (seriesId, stored, added) => {
      const series = byId.get(seriesId);
      if (!series) throw new Error(`no series ${seriesId} is folded here`);
      const state = new TileState(series);
      state.merge(stored);
      state.merge(added);
      return state.encode();
    },
  };
}

/** All columns of rows by name; undefined = one that the series reads is missing. */
function columnsOf({ namespace, reads }: TileSeries, { columns }: FoldedRows): ReadonlyMap<string, readonly FeatureValue[]> | undefined {
  if (!reads.every((name) => columns.has(`${namespace}.${name}`))) return undefined;
  return new Map([...columns].map(([fqn, values]) => [fqn.slice(namespace.length + 1), values]));
}

/** Tiles of one series, from rows in any number of batches. */
export class BucketFold {
  readonly #states = new Map<string, Map<number, TileState>>();
  /** Rows that were outside of the time. */
  leftOut = 0;
  /** Rows that were deleted. */
  erased = 0;
  /** Rows that were in the time, whether they count or not. */
  taken = 0;

  /**
   * @param from microseconds since 1970; rows before are left out; undefined = none are
   * @param until rows at it or later are left out; undefined = none are
   * @param isErased rows that were deleted, which are left out; undefined = none were
   */
  constructor(
    readonly seriesId: number,
    readonly series: TileSeries,
    readonly reader: SeriesReader,
    readonly from: bigint | undefined,
    readonly until: bigint | undefined,
    readonly isErased?: ErasedTest,
  ) {}

  /** Adds rows, whose columns are by name. */
  add(
    columns: ReadonlyMap<string, readonly FeatureValue[]>,
    rows: number,
    failures?: ReadonlyMap<string, ReadonlyMap<number, string>>,
  ): void {
    const read = this.reader.read(columns, rows, failures);
    const group = this.series.group.map((name) => columns.get(name) ?? []);
    for (let row = 0; row < rows; row++) {
      const micros = read.micros(row);
      if (micros === undefined) continue;
      if ((this.from !== undefined && micros < this.from) || (this.until !== undefined && micros >= this.until)) {
        this.leftOut++;
        continue;
      }
      const key = groupKey(
        group.map((values) => values[row] as FeatureValue),
        storeKey,
      );
      if (key === undefined) continue;
      if (this.isErased?.(columns, row, key, micros)) {
        this.erased++;
        continue;
      }
      this.taken++;
      read.addTo(this.#state(key, bucketOf(this.series, micros)), row);
    }
  }

  /** The tiles. */
  tiles(): Tile[] {
    return [...this.#states].flatMap(([group, buckets]) =>
      [...buckets].map(([bucket, state]) => ({ seriesId: this.seriesId, group, bucket, state: state.encode() })),
    );
  }

  #state(group: string, bucket: number): TileState {
    const buckets = this.#states.get(group) ?? new Map<number, TileState>();
    this.#states.set(group, buckets);
    const state = buckets.get(bucket) ?? new TileState(this.series);
    buckets.set(bucket, state);
    return state;
  }
}
