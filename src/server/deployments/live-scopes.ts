/** Which deployment is live where, in memory: what a query asks first. The metadata store holds the same and is read once, at the start. */

import type { LivePointer } from "../stores/metadata/deployments.ts";

/** Live deployments by environment and branch (empty = the environment's own). */
export interface LiveScopes {
  get(environmentId: string, branch: string): string | undefined;
  set(pointer: LivePointer): void;
  list(): LivePointer[];
}

/** Makes the table from the stored pointers. */
export function createLiveScopes(pointers: readonly LivePointer[]): LiveScopes {
  const table = new Map<string, LivePointer>();
  const key = (environmentId: string, branch: string) => `${environmentId}/${branch}`;
  for (const pointer of pointers) table.set(key(pointer.environmentId, pointer.branch), pointer);
  return {
    get: (environmentId, branch) => table.get(key(environmentId, branch))?.deploymentId,
    set: (pointer) => void table.set(key(pointer.environmentId, pointer.branch), pointer),
    list: () => [...table.values()],
  };
}

/**
 * The scope in the online store: values of branches are kept apart from the environment's and from each other's. Feature ids differ between environments, so
 * that environments never share a value.
 */
export function onlineScope(environmentId: string, branch: string): string {
  return branch === "" ? "main" : `branch:${environmentId}:${branch}`;
}

/** The branch that a scope belongs to; empty for the environment's own. */
export function branchOf(scope: string): string {
  return scope === "main" ? "" : scope.split(":").slice(2).join(":");
}
