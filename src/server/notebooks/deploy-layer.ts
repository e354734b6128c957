/**
 * Deploying what a notebook's cells define: a file beside those of a branch's source, in a
 * deployment that is otherwise what is live on the branch, or what the kernel runs in.
 */

import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { checkBranch } from "../access/scope.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { Protection } from "../deployments/environment-states.ts";
import { Failure } from "../failure.ts";
import type { DeploymentRecord } from "../stores/metadata/deployments.ts";
import type { NotebookRecord } from "../stores/metadata/notebooks.ts";

/** Longest module of a notebook, in characters, and most of them on a branch. */
const MAX_LAYER = 256 * 1024;
const MAX_LAYERS = 20;

/**
 * Deploys a module to a branch, in place of the one that the notebook added to it before. Resolves
 * with the deployment's id once it is live; rejects with Failure, in the words of what stopped it.
 */
export async function deployLayer(
  options: { readonly deployments: Pick<Deployments, "create" | "find" | "live" | "watch">; readonly protection: Protection },
  { id: notebookId, environmentId, title }: NotebookRecord,
  ownDeployment: DeploymentRecord,
  { branch, source }: { readonly branch: string; readonly source: string },
  signal: AbortSignal,
): Promise<string> {
  const { deployments, protection } = options;
  if (checkBranch(branch) === "") throw new Failure("invalid_argument", "a notebook deploys to a branch alone");
  if (await protection.isProtected(environmentId)) throw new Failure("failed_precondition", "the environment is protected");
  if (source.length > MAX_LAYER)
    throw new Failure("invalid_argument", `what the cells define has ${source.length} characters, and ${MAX_LAYER} are the most`);
  const live = deployments.live(environmentId, branch);
  const base = live === undefined ? ownDeployment : await deployments.find(live, environmentId);
  const others = base.branch === branch ? base.layers.filter((layer) => layer.notebookId !== notebookId) : [];
  if (others.length >= MAX_LAYERS)
    throw new Failure("resource_exhausted", `branch '${branch}' has modules of ${MAX_LAYERS} notebooks, which is the most`);
  const { projectName, runtime, requirements, venvs, sourceSha256 } = base;
  const { id } = await deployments.create({
    ...{ environmentId, branch, projectName, runtime, requirements, venvs, sourceSha256 },
    ...{ noPromote: false, reset: false, blueGreen: false, profiling: false, tags: [], metadata: {}, ciJobUrl: "", repositoryUrl: "" },
    description: `Of the notebook '${title}'`,
    layers: [...others, { notebookId, path: modulePath(notebookId, title), text: source }],
  });
  for await (const { deployment } of deployments.watch(id, environmentId, signal)) {
    if (deployment.status === DeploymentStatus.FAILED)
      throw new Failure("failed_precondition", `deployment ${id} failed: ${deployment.error}`);
    if (deployment.status === DeploymentStatus.LIVE) return id;
  }
  throw new Failure("unavailable", `it is unknown what became of deployment ${id}`);
}

/** Path of the module of a notebook: a name of Python that no other notebook's module has. */
function modulePath(notebookId: string, title: string): string {
  const words = title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, 40);
  return `notebook_${words === "" ? "" : `${words}_`}${notebookId.slice(-8)}.py`;
}
