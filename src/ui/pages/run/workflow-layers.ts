/** The places of a workflow's operations: each behind all that it waits for. */

import type { WorkflowEdgeJson, WorkflowNodeJson } from "../../../../gen/svc/v1/workflow_pb.ts";

/** An operation with the names of those that it waits for. */
export interface PlacedNode {
  readonly node: WorkflowNodeJson;
  readonly waitsFor: readonly string[];
}

/** Layers from the first to the last; the nodes come each after those that they wait for. */
export function workflowLayers(nodes: readonly WorkflowNodeJson[], edges: readonly WorkflowEdgeJson[]): readonly (readonly PlacedNode[])[] {
  const names = new Map(nodes.map(({ id = "", name = "" }) => [id, name]));
  const depth = new Map<string, number>();
  const layers = new Map<number, PlacedNode[]>();
  for (const node of nodes) {
    const before = edges.filter(({ to = "" }) => to === (node.id ?? "")).map(({ from = "" }) => from);
    const own = Math.max(0, ...before.map((id) => (depth.get(id) ?? -1) + 1));
    depth.set(node.id ?? "", own);
    layers.set(own, [...(layers.get(own) ?? []), { node, waitsFor: before.map((id) => names.get(id) || id) }]);
  }
  return [...layers].sort(([a], [b]) => a - b).map(([, layer]) => layer);
}
