/** The versions of a resolver, made of what deployments had of it. */

/** What a deployment has of a resolver. */
export interface DeployedResolver {
  readonly deployment: string;
  /** When it was deployed, as a timestamp. */
  readonly createdAt: string;
  /** Number of its source among the distinct ones that were deployed. */
  readonly version: number;
  /** Its source text; empty = it is not known. */
  readonly text: string;
}

/** A version as it was deployed, once or several times in a row. */
export interface ResolverVersion extends DeployedResolver {
  /** Deployments in a row that had it; `deployment` and `createdAt` are of the first one. */
  readonly deployments: number;
  /** The version before, with its source; undefined = there was none, or it is not known. */
  readonly before: DeployedResolver | undefined;
}

/**
 * The versions of a resolver, the newest first. What was deployed again after another version is
 * listed again.
 * @param deployed what the deployments of a branch have of it, the newest first
 */
export function versionsOf(deployed: readonly DeployedResolver[]): readonly ResolverVersion[] {
  const runs: { first: DeployedResolver; count: number }[] = [];
  for (const one of deployed) {
    const last = runs.at(-1);
    if (last?.first.version === one.version) {
      last.first = one;
      last.count++;
    } else runs.push({ first: one, count: 1 });
  }
  return runs.map(({ first, count }, at) => ({ ...first, deployments: count, before: runs[at + 1]?.first }));
}
