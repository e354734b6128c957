/** What the page Lineage shows of a lineage, and how the keys move on it. */

import type { GetLineageRequestJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { LineageNode } from "../../../domain/lineage.ts";
import type { Layout, PlacedNode } from "../../../domain/lineage-layout.ts";
import { readableName } from "../../../domain/name.ts";

/** Nodes above which classes are folded unless one asks for all. */
export const MOST_UNFOLDED = 150;
/** Nodes that are drawn at most, and nodes among which a search looks. */
export const MOST_DRAWN = 2_000;
export const MOST_FOUND_IN = 5_000;
/** Distances from a node that are offered. */
export const DEPTHS = ["1", "2", "3", "all"] as const;

/** What is asked for: texts of the address, empty = not given. */
export interface GraphChoice {
  /** Id or name around which the lineage is shown. */
  readonly on: string;
  /** One of DEPTHS. */
  readonly depth: string;
  /** `yes`, `no`, or empty for what suits the size. */
  readonly fold: string;
}

/** The part of the lineage that a choice asks for. */
export function lineageRequest({ depth, fold, on }: GraphChoice, byClass: boolean): GetLineageRequestJson {
  const limit = byClass || fold === "no" ? MOST_DRAWN : MOST_UNFOLDED + 1;
  if (on === "") return { byClass, limit };
  const steps = depth === "all" ? 0 : Number((DEPTHS as readonly string[]).includes(depth) ? depth : "2");
  return { on, depth: steps, direction: "LINEAGE_DIRECTION_BOTH", byClass, limit };
}

const MOST_LETTERS = 36;
const LETTER_WIDTH = 7.4;
const PADDING = 30;

/** The text on a node; long names lose their middle. */
export function nodeText({ name }: LineageNode): string {
  const text = readableName(name);
  return text.length <= MOST_LETTERS ? text : `${text.slice(0, MOST_LETTERS / 2 - 1)}\u2026${text.slice(-MOST_LETTERS / 2)}`;
}

/**
 * Pixels that a node needs for its text.
 * @param mark what stands behind it; empty = nothing
 */
export function nodeWidth(node: LineageNode, mark: string): number {
  const letters = nodeText(node).length + (mark === "" ? 0 : mark.length + 1);
  return Math.ceil(letters * LETTER_WIDTH) + PADDING;
}

/** The node that an arrow leads to: a neighbour, or up and down the next one in the layer. */
export function nodeBeside({ edges, nodes }: Layout, id: string, key: string): string | undefined {
  const own = nodes.find((node) => node.id === id);
  if (!own) return nodes[0]?.id;
  const nearest = (found: readonly PlacedNode[]) => found.toSorted((a, b) => Math.abs(a.y - own.y) - Math.abs(b.y - own.y))[0]?.id;
  const among = (ids: ReadonlySet<string>) => nearest(nodes.filter((node) => ids.has(node.id)));
  if (key === "ArrowLeft") return among(new Set(edges.filter(({ to }) => to === id).map(({ from }) => from)));
  if (key === "ArrowRight") return among(new Set(edges.filter(({ from }) => from === id).map(({ to }) => to)));
  const layer = nodes.filter((node) => node.layer === own.layer && (key === "ArrowUp" ? node.y < own.y : node.y > own.y));
  return key === "ArrowUp" || key === "ArrowDown" ? nearest(layer) : undefined;
}

/** The path of an edge: straight through layers, curved between them. */
export function edgePath(points: readonly (readonly [x: number, y: number])[]): string {
  return points
    .map(([x, y], at) => {
      const [beforeX, beforeY] = points[at - 1] ?? [x, y];
      if (at === 0) return `M${x} ${y}`;
      if (beforeY === y) return `L${x} ${y}`;
      const middle = (beforeX + x) / 2;
      return `C${middle} ${beforeY} ${middle} ${y} ${x} ${y}`;
    })
    .join("");
}
