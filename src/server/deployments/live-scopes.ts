/**
 * An in-memory table of the live deployment of each scope, which every query looks up first. The
 * metadata store holds the truth, and `nodes/follow.ts` keeps the table in step with it.
 */

import type { LivePointer } from "../stores/metadata/deployments.ts";

/** A change of a scope's live deployment. */
export interface LiveChange {
  readonly environmentId: string;
  readonly branch: string;
  /** Id of the deployment that was live; undefined when none was. */
  readonly before: string | undefined;
  /** Id of the deployment that is live; undefined when none is. */
  readonly now: string | undefined;
}

/** Live deployments by environment and branch (empty = the environment's own). */
export interface LiveScopes {
  get(environmentId: string, branch: string): string | undefined;
  list(): LivePointer[];
  /** Replaces the table by the stored pointers, and returns the scopes that changed. */
  replace(pointers: readonly LivePointer[]): LiveChange[];
}

/** Makes the table from the stored pointers. */
export function createLiveScopes(pointers: readonly LivePointer[]): LiveScopes {
  const key = ({ environmentId, branch }: Pick<LivePointer, "environmentId" | "branch">) => `${environmentId}/${branch}`;
  const tableOf = (list: readonly LivePointer[]) => new Map(list.map((pointer) => [key(pointer), pointer]));
  let table = tableOf(pointers);
  return {
    get: (environmentId, branch) => table.get(key({ environmentId, branch }))?.deploymentId,
    list: () => [...table.values()],
    replace(next) {
      const before = table;
      table = tableOf(next);
      const scopes = new Map([...before, ...table]);
      return [...scopes].flatMap(([scope, { environmentId, branch }]) => {
        const change = { environmentId, branch, before: before.get(scope)?.deploymentId, now: table.get(scope)?.deploymentId };
        return change.before === change.now ? [] : [change];
      });
    },
  };
}

/**
 * The scope in the online store: values of branches are kept apart from the environment's and from
 * each other's. Feature ids differ between environments, so that environments never share a value.
 */
export function onlineScope(environmentId: string, branch: string): string {
  return branch === "" ? "main" : `branch:${environmentId}:${branch}`;
}

/** The branch that a scope belongs to; empty for the environment's own. */
export function branchOf(scope: string): string {
  return scope === "main" ? "" : scope.split(":").slice(2).join(":");
}
