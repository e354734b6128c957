/** Nodes of a lineage as the contract's JSON has them. */

import type { GetLineageResponseJson, LineageNodeJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { LineageNode } from "../../../domain/lineage.ts";

const KINDS: Readonly<Record<string, LineageNode["kind"]>> = {
  LINEAGE_KIND_SOURCE: "source",
  LINEAGE_KIND_RESOLVER: "resolver",
  LINEAGE_KIND_FEATURE: "feature",
  LINEAGE_KIND_CLASS: "class",
  LINEAGE_KIND_QUERY: "query",
  LINEAGE_KIND_SCHEDULED_QUERY: "scheduledQuery",
};

/** What a node needs, and what needs it. */
export interface Neighbours {
  readonly needs: readonly LineageNode[];
  readonly neededBy: readonly LineageNode[];
  /** Number of those that are left off. */
  readonly leftOff: number;
}

/** The neighbours of a node in a lineage of depth 1 around it. */
export function neighboursIn({ edges = [], nodes = [], nodesLeftOff = 0 }: GetLineageResponseJson, id: string): Neighbours {
  const known = new Map(nodes.flatMap((one) => nodeOf(one)).map((node) => [node.id, node]));
  const all = (ids: readonly string[]) => [...new Set(ids)].flatMap((one) => known.get(one) ?? []);
  return {
    needs: all(edges.flatMap(({ from = "", to }) => (to === id ? [from] : []))),
    neededBy: all(edges.flatMap(({ from, to = "" }) => (from === id ? [to] : []))),
    leftOff: nodesLeftOff,
  };
}

function nodeOf({ id = "", kind = "LINEAGE_KIND_UNSPECIFIED", name = "" }: LineageNodeJson): LineageNode[] {
  const known = KINDS[kind];
  return known ? [{ id, kind: known, name }] : [];
}
