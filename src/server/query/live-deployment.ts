/**
 * The deployment that a query runs on: the interface between the engine and the rest of the server.
 */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { PythonPool } from "../python/pool.ts";
import type { RowSinks } from "../sinks/row-sinks.ts";
import type { SqlSources } from "../sql/source.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { MergedTiles } from "../tiles/merged-tiles.ts";
import type { Vectors } from "../vectors/create-vectors.ts";
import type { ValueSink } from "../writes/sink.ts";

/** The tiles that a deployment reads. */
export interface KeptTiles {
  readonly store: Pick<MergedTiles, "filled" | "merged">;
  /** Scope of the tiles, see `onlineScope`. */
  readonly scope: string;
  /** Ids of series by their keys. */
  readonly seriesIds: ReadonlyMap<string, number>;
}

/** A deployment that answers queries. */
export interface LiveDeployment {
  readonly id: string;
  /** The tag by which metrics name it; empty or absent = its id. */
  readonly tag?: string;
  readonly environmentId: string;
  readonly environmentName: string;
  /** Scope in the online store: `main` or the branch's name. */
  readonly scope: string;
  readonly graph: Graph;
  /** Online-store id of every scalar feature, by FQN. */
  readonly featureIds: ReadonlyMap<string, number>;
  readonly pool: PythonPool;
  readonly sources: SqlSources;
  readonly online: Pick<OnlineStore, "read" | "put">;
  /** The vectors of the online store; undefined = nobody looks for the nearest rows. */
  readonly vectors?: Pick<Vectors, "nearest"> | undefined;
  /**
   * The longest staleness, in milliseconds, that a definition or a named query allows, by feature
   * id; a feature that is absent has that of its definition.
   */
  readonly longestStaleness?: ReadonlyMap<number, number>;
  /** Whether it answers copies of queries, for nobody. */
  readonly isMirror?: boolean;
  /** Tiles of kept windows; undefined = none are kept here. */
  readonly tiles?: KeptTiles | undefined;
  /** Takes computed values for the offline store; undefined = nothing is stored there. */
  readonly sink?: ValueSink | undefined;
  /** Functions of the project that are given rows; undefined = it has none. */
  readonly sinks?: RowSinks | undefined;
}

/**
 * A request that is wrong as a whole; services turn it into INVALID_ARGUMENT with an ErrorDetail.
 */
export { QueryRefused } from "./refusal.ts";
