/** Ids of the series of a graph. */

import { createHash } from "node:crypto";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { seriesOf } from "../../domain/kept-series.ts";
import type { SeriesStore } from "../stores/metadata/series.ts";

/** The ids of the series of a graph in an environment, by their keys. They count as used now. */
export async function identifySeries(series: SeriesStore, environmentId: string, graph: Graph): Promise<ReadonlyMap<string, number>> {
  const keys = seriesOf(graph).map((use) => use.series.key);
  const ids = keys.length === 0 ? [] : await series.identify(environmentId, keys.map(definitionOf));
  return new Map(keys.map((key, at) => [key, ids[at] as number]));
}

/** A series' definition as it is kept. */
function definitionOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
