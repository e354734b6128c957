import { useMemo } from "preact/hooks";
import type { GetLineageResponseJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { Lineage, LineageNode } from "../../../domain/lineage.ts";
import { LineageNeighbours } from "../../../domain/lineage-choice.ts";
import { type Loaded, useAnswer } from "../../api/load.ts";
import { scope } from "../../app/place.ts";
import { type GraphChoice, lineageRequest, MOST_FOUND_IN, MOST_UNFOLDED } from "./graph-view.ts";

/**
 * The part of the lineage that a choice shows: with classes in place of features when that is asked
 * for, or when there is too much else.
 */
export function useLineage(choice: GraphChoice): { readonly answer: Loaded<GetLineageResponseJson>; readonly isFolded: boolean } {
  const { fold } = choice;
  const full = useAnswer("GraphService/GetLineage", fold === "yes" ? undefined : lineageRequest(choice, false), scope.value);
  const isFolded = fold === "yes" || (fold !== "no" && (full.data?.nodes?.length ?? 0) + (full.data?.nodesLeftOff ?? 0) > MOST_UNFOLDED);
  const folded = useAnswer("GraphService/GetLineage", isFolded ? lineageRequest(choice, true) : undefined, scope.value);
  return { answer: isFolded ? folded : full, isFolded };
}

/**
 * All that can be searched for, once it is asked for.
 * @param isWanted whether it is
 */
export function useWholeLineage(isWanted: boolean): Loaded<GetLineageResponseJson> {
  return useAnswer("GraphService/GetLineage", isWanted ? { limit: MOST_FOUND_IN } : undefined, scope.value);
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
