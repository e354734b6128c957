/** The features of a graph whose aggregations are kept in tiles. */

import type { Graph } from "../../../../gen/svc/v1/graph_pb.ts";
import type { TileSeries } from "../../../domain/expressions/tile-series.ts";
import { keptFeatures } from "../../../domain/kept-series.ts";
import { createSeriesReader, type SeriesReader } from "../../tiles/series-rows.ts";
import type { KeptInfo, ManyInfo, NamespaceInfo, ScalarInfo } from "./index-types.ts";
import { rowsInfo } from "./relation-index.ts";

/** Has the features of a graph that are kept know it. */
export function linkKeptWindows(
  graph: Graph,
  namespaces: ReadonlyMap<string, NamespaceInfo>,
  scalars: ReadonlyMap<string, ScalarInfo>,
): void {
  const readers = new Map<string, () => SeriesReader>();
  const readerOf = (series: TileSeries): (() => SeriesReader) => {
    let made: SeriesReader | undefined;
    const known = readers.get(series.key) ?? (() => (made ??= createSeriesReader(graph, series)));
    readers.set(series.key, known);
    return known;
  };
  for (const { fqn, ...window } of keptFeatures(graph)) {
    const feature = scalars.get(fqn);
    const many = feature && namespaces.get(feature.namespace)?.members.get(window.relation.slice(feature.namespace.length + 1));
    if (!feature || many?.kind !== "has_many" || many.join.length === 0) continue;
    const kept: KeptInfo = { window, many, reader: readerOf(window.series), edges: edgesInfo(many, fqn) };
    Object.assign(kept.edges, { rowsOf: many, edgesOf: kept });
    Object.assign(feature, { kept });
  }
}

/** The pseudo-feature of the rows of a window that are not read as tiles. */
function edgesInfo(many: ManyInfo, fqn: string): ScalarInfo {
  return rowsInfo(many, `${many.name}@${fqn.slice(fqn.indexOf(".") + 1)}`);
}
