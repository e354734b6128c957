/** The windows of a graph that are kept in tiles, and the series that they are made of. */

import type { Graph } from "../../gen/svc/v1/graph_pb.ts";
import { type KeptWindow, keptWindow, type TileSeries } from "./expressions/tile-series.ts";
import { GraphIndex } from "./graph-index.ts";

/** A kept window, with its feature. */
export interface KeptFeature extends KeptWindow {
  readonly fqn: string;
}

/** A series of a graph, with the features that are made of it. */
export interface SeriesUse {
  readonly series: TileSeries;
  /** FQNs, in the order of the graph. */
  readonly features: readonly string[];
  /** Their windows, in the same order. */
  readonly windows: readonly KeptFeature[];
  /** The longest of their windows, microseconds: older tiles are of no use. */
  readonly retentionMicros: bigint;
}

/** The windows of a graph that are kept; those that cannot be are lint's. */
export function keptFeatures(graph: Graph): KeptFeature[] {
  const index = new GraphIndex(graph);
  return graph.featureSets.flatMap((set) =>
    set.features.flatMap((feature): KeptFeature[] => {
      const isKept = feature.kind.case === "scalar" && feature.kind.value.materialization !== undefined;
      const kept = isKept ? keptWindow(index, set, feature) : undefined;
      return kept && !("code" in kept) ? [{ ...kept, fqn: feature.fqn }] : [];
    }),
  );
}

/** The series of a graph, each once. */
export function seriesOf(graph: Graph): SeriesUse[] {
  const found = new Map<string, { series: TileSeries; features: string[]; windows: KeptFeature[]; retentionMicros: bigint }>();
  for (const window of keptFeatures(graph)) {
    const { series, fqn, windowMicros } = window;
    const use = found.get(series.key) ?? { series, features: [], windows: [], retentionMicros: 0n };
    found.set(series.key, use);
    use.features.push(fqn);
    use.windows.push(window);
    if (windowMicros > use.retentionMicros) use.retentionMicros = windowMicros;
  }
  return [...found.values()];
}
