/** Deploying the project to a branch for another command, which needs it there. */

import type { Context } from "../context/context.ts";
import { deploy } from "./deploy.ts";
import { findProvenance } from "./provenance.ts";

/**
 * Deploys the project to a branch and waits until it is live, without questions: nothing but the
 * branch changes.
 */
export async function deployBranch(context: Context, branch: string | undefined): Promise<void> {
  const project = await context.project();
  const none = { description: undefined, metadata: [], tags: [], cicdJobUrl: undefined, vcsUrl: undefined };
  const events = deploy(context, {
    ...none,
    ...{ branch, force: true, await: true, dryRun: false, reset: false, noPromote: false, blueGreen: false, profiling: false },
    ...{ dump: false, skipLsp: false, skipSqlExtrasCheck: false },
    provenance: await findProvenance(context, project.root, none),
  });
  for await (const event of events) if (event.kind === "deployed") context.progress.note(`Deployed ${event.deployment.id}`);
}
