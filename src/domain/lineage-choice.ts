/** Choices in a lineage: the nodes that a name means, and what is around them, within bounds. */

import type { Lineage, LineageEdge, LineageNode } from "./lineage.ts";
import { compareNames } from "./name.ts";

/** Which way to go from a choice. */
export type LineageDirection = "upstream" | "downstream" | "both";

/** What is around a choice. */
export interface LineageWalk {
  /** Ids of the nodes to begin at; those that do not exist are left out. */
  readonly on: readonly string[];
  readonly direction: LineageDirection;
  /** Edges at most between the choice and a node. */
  readonly depth: number;
}

/** A part of a lineage, in the order of kinds and names. */
export interface LineagePart {
  readonly nodes: readonly LineageNode[];
  readonly edges: readonly LineageEdge[];
  /** Numbers of nodes and edges that belong to it and were left off. */
  readonly nodesLeftOff: number;
  readonly edgesLeftOff: number;
}

/** Most nodes and edges of a part. */
export interface LineageLimits {
  readonly nodes: number;
  readonly edges: number;
}

const ORDER = ["source", "class", "resolver", "feature", "query", "scheduledQuery"];

/** Nodes by the edges that lead to them, or from them. */
export class LineageNeighbours {
  readonly #before: ReadonlyMap<string, readonly LineageEdge[]>;
  readonly #after: ReadonlyMap<string, readonly LineageEdge[]>;

  constructor({ edges }: Lineage) {
    this.#before = Map.groupBy(edges, ({ to }) => to);
    this.#after = Map.groupBy(edges, ({ from }) => from);
  }

  /** Ids of the nodes that data comes from to a node, in one step. */
  before(id: string): string[] {
    return (this.#before.get(id) ?? []).map(({ from }) => from);
  }

  /** Ids of the nodes that data goes to from a node, in one step. */
  after(id: string): string[] {
    return (this.#after.get(id) ?? []).map(({ to }) => to);
  }
}

/**
 * The ids that are reached, with the least number of edges to each, nearest first. `both` is what
 * lies before the choice and what lies after it, and not what else comes of the former.
 */
export function walkLineage(lineage: Lineage, { on, direction, depth }: LineageWalk): Map<string, number> {
  const neighbours = new LineageNeighbours(lineage);
  const reached = new Map<string, number>();
  const walk = (next: (id: string) => string[]) => {
    const seen = new Set(on.filter((id) => lineage.nodes.has(id)));
    let front = [...seen];
    for (let distance = 0; front.length > 0; distance++) {
      for (const id of front) reached.set(id, Math.min(distance, reached.get(id) ?? distance));
      if (distance >= depth) break;
      front = [...new Set(front.flatMap(next))].filter((id) => !seen.has(id));
      for (const id of front) seen.add(id);
    }
  };
  if (direction !== "downstream") walk((id) => neighbours.before(id));
  if (direction !== "upstream") walk((id) => neighbours.after(id));
  return new Map([...reached].sort(([, one], [, other]) => one - other));
}

/** What is around a choice; all of the lineage without one. Of too many nodes, the nearest stay. */
export function partOfLineage(lineage: Lineage, walk: LineageWalk | undefined, limits: LineageLimits): LineagePart {
  const wanted = walk ? [...walkLineage(lineage, walk).keys()] : [...lineage.nodes.values()].sort(byPlace).map(({ id }) => id);
  const kept = new Set(wanted.slice(0, limits.nodes));
  const edges = lineage.edges.filter(({ from, to }) => kept.has(from) && kept.has(to));
  return {
    nodes: [...kept].flatMap((id) => lineage.nodes.get(id) ?? []).sort(byPlace),
    edges: edges.slice(0, limits.edges),
    nodesLeftOff: wanted.length - kept.size,
    edgesLeftOff: Math.max(0, edges.length - limits.edges),
  };
}

/** Orders nodes by kind, from sources to queries, then by name. */
export function byPlace(one: LineageNode, other: LineageNode): number {
  return ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind) || compareNames(one.name, other.name);
}

/**
 * The nodes that a name means: an id, a whole name, all windows of a feature, all versions of a
 * named query, the end of a resolver's name, or else the features of a namespace.
 */
export function findInLineage({ nodes }: Lineage, name: string): LineageNode[] {
  const one = nodes.get(name);
  if (one) return [one];
  const all = [...nodes.values()];
  const tests: ((node: LineageNode) => boolean)[] = [
    (node) => node.name === name,
    (node) => node.kind === "feature" && node.name.startsWith(`${name}__`) && /^\d+__$/.test(node.name.slice(name.length + 2)),
    (node) => node.kind === "query" && node.name.startsWith(`${name} `),
    (node) => node.kind === "resolver" && node.name.endsWith(`.${name}`),
    (node) => node.kind === "feature" && node.name.startsWith(`${name}.`),
  ];
  for (const test of tests) {
    const found = all.filter(test);
    if (found.length > 0) return found.sort(byPlace);
  }
  return [];
}
