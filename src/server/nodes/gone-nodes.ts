/** Which nodes of a platform do not run, as the others can tell. */

import type { NodeStore } from "../stores/metadata/nodes.ts";
import { GONE_AFTER_MS } from "./presence.ts";

/** Those of some nodes that do not run. */
export type GoneNodes = (ids: Iterable<string>) => Promise<ReadonlySet<string>>;

/** Makes the question. @param own id of this node, which runs */
export function createGoneNodes(nodes: Pick<NodeStore, "list">, own: string): GoneNodes {
  return async (ids) => {
    const gone = new Set(ids);
    gone.delete(own);
    if (gone.size > 0) for (const { id } of await nodes.list(GONE_AFTER_MS)) gone.delete(id);
    return gone;
  };
}
