import { useMemo } from "preact/hooks";
import type { GetGraphResponseJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { type Lineage, type LineageNode, lineageOf } from "../../../domain/lineage.ts";
import { LineageNeighbours } from "../../../domain/lineage-choice.ts";
import { type Loaded, useAnswer } from "../../api/load.ts";
import { scope } from "../../app/place.ts";

/** The graph of the scope's deployment. */
export function useGraph(): Loaded<GetGraphResponseJson> {
  return useAnswer("GraphService/GetGraph", {}, scope.value);
}

/** The lineage of a graph, made once. */
export function useLineage(data: GetGraphResponseJson | undefined): Lineage {
  return useMemo(() => lineageOf(data?.graph ?? {}), [data]);
}

/** The nodes that a node needs, and those that need it. */
export function useNeighbours(
  lineage: Lineage,
  id: string,
): { readonly needs: readonly LineageNode[]; readonly neededBy: readonly LineageNode[] } {
  return useMemo(() => {
    const neighbours = new LineageNeighbours(lineage);
    const nodes = (ids: readonly string[]) => ids.flatMap((one) => lineage.nodes.get(one) ?? []);
    return { needs: nodes(neighbours.before(id)), neededBy: nodes(neighbours.after(id)) };
  }, [lineage, id]);
}
