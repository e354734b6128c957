import { useMemo } from "preact/hooks";
import { lineageId } from "../../../domain/lineage.ts";
import { useAnswer } from "../../api/load.ts";
import { useLive } from "../../app/live.ts";
import { scope } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { neighboursIn } from "./lineage-nodes.ts";
import { type Asked, askedOf, type SourceRow, sourceRows } from "./source-rows.ts";

/** Nodes of the lineage in which readers of sources are found; classes stand for their features. */
const MOST_NODES = 5_000;

/** The sources of what is shown, and how they did in the last hour. */
export function useSources() {
  const graph = useAnswer("GraphService/GetGraph", {}, scope.value);
  const lineage = useAnswer("GraphService/GetLineage", { byClass: true, limit: MOST_NODES }, scope.value);
  const integrations = useAnswer("IntegrationService/ListIntegrations", {}, environmentScope.value);
  const streams = useAnswer("StreamService/ListStreams", {}, environmentScope.value);
  const counts = useAnswer("MetricService/QueryMetric", { expression: "sum:source.count by {source}" }, environmentScope.value);
  const errors = useAnswer("MetricService/QueryMetric", { expression: "sum:source.errors by {source}" }, environmentScope.value);
  useLive(["metrics", "streams"], () => {
    for (const answer of [counts, errors, streams]) answer.reload();
  });
  const rows = useMemo((): readonly SourceRow[] => {
    if (!graph.data) return [];
    return sourceRows({
      graph: graph.data.graph ?? {},
      integrations: integrations.data?.integrations ?? [],
      streams: streams.data?.streams ?? [],
      usersOf: (name) => neighboursIn(lineage.data ?? {}, lineageId("source", name)).neededBy,
    });
  }, [graph.data, integrations.data, lineage.data, streams.data]);
  return {
    graph,
    integrations,
    rows,
    askedOf: (name: string): Asked => askedOf(name, counts.data?.series ?? [], errors.data?.series ?? []),
  };
}
