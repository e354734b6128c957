/**
 * Scopes of the online store: values of branches are kept apart from the environment's and from
 * each other's. Feature ids differ between environments, so that environments never share a value.
 */

/** The scope of a branch; empty = the environment's own. */
export function onlineScope(environmentId: string, branch: string): string {
  return branch === "" ? "main" : `branch:${environmentId}:${branch}`;
}

/** The branch that a scope belongs to; empty for the environment's own. */
export function branchOf(scope: string): string {
  return scope === "main" ? "" : scope.split(":").slice(2).join(":");
}
