/** Deployments that callers name for something to run in. */

import type { DeploymentTarget } from "../access/scope.ts";
import { Failure } from "../failure.ts";
import type { Deployments } from "./deployments.ts";
import type { Protection } from "./environment-states.ts";

/**
 * Id of the deployment of an id or a tag. Rejects with Failure: not_found, and failed_precondition
 * in a protected environment for one that is not live.
 * @param what the things that run there, for the message, such as "resolvers"
 */
export async function namedDeployment(
  { deployments, protection }: { readonly deployments: Pick<Deployments, "named" | "standing">; readonly protection: Protection },
  { environment, branch }: DeploymentTarget,
  named: string,
  what: string,
): Promise<string> {
  const deployment = await deployments.named(named, environment.id, branch);
  if (!deployments.standing(deployment).answers && (await protection.isProtected(environment.id)))
    throw new Failure(
      "failed_precondition",
      `Environment '${environment.name}' is protected, so ${what} run in live deployments alone, and ${deployment.id} is not live.`,
      { hint: "Leave the deployment out." },
    );
  return deployment.id;
}
