/**
 * Tiles as rows of a dataset: the group, the bucket and the aggregate of its rows. A publication is
 * a revision, which appears when all tiles of its time are there.
 */

import { join } from "node:path";
import { type DataType, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { EvaluationError } from "../../domain/expressions/evaluation-error.ts";
import { bucketOf, bucketStart } from "../../domain/expressions/tile-series.ts";
import { GraphIndex } from "../../domain/graph-index.ts";
import type { SeriesUse } from "../../domain/kept-series.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import { type FeatureValue, primitiveOf } from "../../domain/value.ts";
import type { RevisionMaker } from "../datasets/revisions.ts";
import { JobFailed } from "../jobs/runner.ts";
import type { LiveDeployment } from "../query/live-deployment.ts";
import { primaryKeyOf } from "../stores/online/store.ts";
import type { Tile } from "../stores/tiles/store.ts";
import type { TableColumn, TableEngine } from "../tables/engine.ts";
import { primitive } from "../tables/inferred-type.ts";
import { TileState } from "../tiles/tile-state.ts";
import type { TilePublication } from "./backfill.ts";

/** Rows that are written together. */
const ROWS_PER_CHUNK = 10_000;
/** Most buckets of all groups, where those without rows are published too. */
const MOST_TILES = 10_000_000;
const FILE = "tiles.parquet";

/** Name of the dataset with the published tiles of a series. */
export function publishedDataset(seriesId: number): string {
  return `aggregate_series_${seriesId}`;
}

/** What made a publication, and what it is of. */
export interface PublicationParts {
  readonly tables: TableEngine;
  readonly revisions: RevisionMaker;
  readonly deployment: LiveDeployment;
  readonly use: SeriesUse & { readonly id: number };
  readonly jobId: string;
  /** Client that asked for it. */
  readonly createdBy: string;
  /** Whether buckets without rows are published, of groups that have rows in the time. */
  readonly allowsEmpty: boolean;
  /** Folder for its file. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** What the revision of a job's publication is known by. */
export function publicationOrigin(environmentId: string, jobId: string, seriesId: number) {
  return { environmentId, origin: "aggregate_backfill", originId: `${jobId}/${seriesId}` } as const;
}

/** The columns of published tiles: those of the group, then of the bucket. */
export function publishedColumns({ graph }: Pick<LiveDeployment, "graph">, { series, windows: [window] }: SeriesUse): TableColumn[] {
  const set = new GraphIndex(graph).sets.get(series.namespace);
  return [
    ...series.group.map((name) => {
      const kind = set?.features.find((feature) => feature.name === name)?.kind;
      return {
        name: `${series.namespace}.${name}`,
        dtype: (kind?.case === "scalar" && kind.value.dtype) || primitive(PrimitiveType.STRING),
      };
    }),
    { name: "bucket_start", dtype: primitive(PrimitiveType.DATETIME) },
    { name: "bucket_end", dtype: primitive(PrimitiveType.DATETIME) },
    { name: "value", dtype: window?.resultType ?? primitive(PrimitiveType.STRING) },
    { name: "error", dtype: primitive(PrimitiveType.STRING) },
  ];
}

/** Begins a publication. */
export async function createPublication(parts: PublicationParts): Promise<TilePublication> {
  const { allowsEmpty, createdBy, deployment, jobId, revisions, signal, use } = parts;
  const { id: seriesId, series } = use;
  const columns = publishedColumns(deployment, use);
  const path = join(parts.folder, `${seriesId}.parquet`);
  const writer = await parts.tables.write(path, columns);
  /** Buckets by group, where those that are missing have to be known. */
  const seen = new Map<string, Set<number>>();
  let [rows, isOpen] = [0, true];

  const write = async (tiles: readonly Pick<Tile, "group" | "bucket" | "state">[]): Promise<void> => {
    for (let from = 0; from < tiles.length; from += ROWS_PER_CHUNK) {
      signal.throwIfAborted();
      const chunk = tiles.slice(from, from + ROWS_PER_CHUNK);
      const groups = chunk.map(({ group }) => groupValues(group, columns.slice(0, series.group.length)));
      const results = chunk.map(({ state }) => resultOf(use, state));
      await writer.append({
        rows: chunk.length,
        columns: [
          ...series.group.map((_, at) => groups.map((values) => values[at] ?? null)),
          chunk.map(({ bucket }) => formatMicros(bucketStart(series, bucket))),
          chunk.map(({ bucket }) => formatMicros(bucketStart(series, bucket + 1))),
          results.map(({ value }) => value),
          results.map(({ error }) => error),
        ],
      });
      rows += chunk.length;
    }
  };

  return {
    async add(tiles) {
      await write(tiles);
      if (!allowsEmpty) return;
      checkTiles(rows);
      for (const { group, bucket } of tiles) {
        const buckets = seen.get(group) ?? new Set();
        seen.set(group, buckets.add(bucket));
      }
    },

    async finish({ from, until }) {
      if (from !== undefined && from < until && allowsEmpty) {
        const [first, after] = [bucketOf(series, from), bucketOf(series, until)];
        checkTiles(seen.size * (after - first));
        const state = new TileState(series).encode();
        for (const [group, buckets] of seen) {
          const missing = Array.from({ length: after - first }, (_, at) => first + at).filter((bucket) => !buckets.has(bucket));
          await write(missing.map((bucket) => ({ group, bucket, state })));
        }
      }
      await writer.finish();
      isOpen = false;
      const origin = publicationOrigin(deployment.environmentId, jobId, seriesId);
      const { revisionId } = await revisions.begin({ ...origin, dataset: publishedDataset(seriesId), createdBy });
      await revisions.addFile(revisionId, { name: FILE, kind: "output", rows, path, signal });
      await revisions.complete(revisionId, columns);
    },

    async abandon() {
      if (isOpen) await writer.abandon().catch(() => undefined);
      isOpen = false;
    },
  };
}

/** Throws JobFailed for more tiles than are published where those without rows are too. */
function checkTiles(tiles: number): void {
  if (tiles > MOST_TILES)
    throw new JobFailed(`more than ${MOST_TILES} tiles would be published: leave out --allow-empty-tiles, or bring the bounds nearer`);
}

/** The aggregate of a state, or why there is none. */
function resultOf({ series }: SeriesUse, encoded: Uint8Array): { readonly value: FeatureValue; readonly error: string | null } {
  const state = new TileState(series);
  state.merge(encoded);
  try {
    return { value: state.result(), error: null };
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return { value: null, error: error.message };
  }
}

/** The values behind the key of a group. */
function groupValues(group: string, columns: readonly TableColumn[]): FeatureValue[] {
  const keys = columns.length === 1 ? [group] : (JSON.parse(group) as string[]);
  return keys.map((key, at) => keyValue(key, columns[at]?.dtype));
}

function keyValue(key: string, dtype: DataType | undefined): FeatureValue {
  switch (dtype && primitiveOf(dtype)) {
    case PrimitiveType.BOOL:
      return key.slice(2) === "true";
    case PrimitiveType.FLOAT64:
      return Number(key.slice(2));
    default:
      return primaryKeyOf(key);
  }
}
