/** Nodes of a lineage as the contract's JSON has them. */

import type { GetLineageResponseJson, LineageNodeJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { Lineage, LineageNode } from "../../../domain/lineage.ts";

const KINDS: Readonly<Record<string, LineageNode["kind"]>> = {
  LINEAGE_KIND_SOURCE: "source",
  LINEAGE_KIND_RESOLVER: "resolver",
  LINEAGE_KIND_FEATURE: "feature",
  LINEAGE_KIND_CLASS: "class",
  LINEAGE_KIND_QUERY: "query",
  LINEAGE_KIND_SCHEDULED_QUERY: "scheduledQuery",
};

/** A lineage as it was answered. */
export function lineageIn({ edges = [], nodes = [] }: GetLineageResponseJson): Lineage {
  return {
    nodes: new Map(nodes.flatMap(nodeOf).map((node) => [node.id, node])),
    edges: edges.map(({ from = "", to = "" }) => ({ from, to })),
  };
}

/** What a node needs, and what needs it. */
export interface Neighbours {
  readonly needs: readonly LineageNode[];
  readonly neededBy: readonly LineageNode[];
  /** Number of those that are left off. */
  readonly leftOff: number;
}

/** The neighbours of a node in a lineage of depth 1 around it. */
export function neighboursIn(answer: GetLineageResponseJson, id: string): Neighbours {
  const { edges, nodes } = lineageIn(answer);
  const all = (ids: readonly string[]) => [...new Set(ids)].flatMap((one) => nodes.get(one) ?? []);
  return {
    needs: all(edges.flatMap(({ from, to }) => (to === id ? [from] : []))),
    neededBy: all(edges.flatMap(({ from, to }) => (from === id ? [to] : []))),
    leftOff: answer.nodesLeftOff ?? 0,
  };
}

function nodeOf({ id = "", kind = "LINEAGE_KIND_UNSPECIFIED", name = "" }: LineageNodeJson): LineageNode[] {
  const known = KINDS[kind];
  return known ? [{ id, kind: known, name }] : [];
}
