/** Deployments that callers name for work on many rows. */

import type { DeploymentTarget } from "../access/scope.ts";
import { Failure } from "../failure.ts";
import type { Deployments } from "./deployments.ts";
import type { Protection } from "./environment-states.ts";

/**
 * Id of a deployment that is named, in which work may run: in a protected environment only one that
 * answers, since it was approved. Rejects with Failure not_found or failed_precondition.
 * @param work what is to run, in the plural
 */
export async function namedDeployment(
  { deployments, protection }: { readonly deployments: Pick<Deployments, "named" | "standing">; readonly protection: Protection },
  { environment, branch }: Pick<DeploymentTarget, "branch" | "environment">,
  named: string,
  work: string,
): Promise<string> {
  const deployment = await deployments.named(named, environment.id, branch);
  if (!deployments.standing(deployment).answers && (await protection.isProtected(environment.id)))
    throw new Failure(
      "failed_precondition",
      `Environment '${environment.name}' is protected, so ${work} run in live deployments alone, and ${deployment.id} is not live.`,
      { hint: "Leave `--deployment` out." },
    );
  return deployment.id;
}
