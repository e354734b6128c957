/** Waiting for a deployment until it is live or has failed. */

import { type Deployment, DeploymentStatus } from "../../gen/svc/v1/deployment_pb.ts";
import type { Context } from "../context/context.ts";
import { escapeControls } from "../domain/name.ts";
import { CliError, isUnanswered } from "../errors/cli-error.ts";

const RECONNECTS = 10;
const RECONNECT_MS = 500;

/** The specification's name of a state, in lower case: `queued`, `live`, `failed`. */
export function statusName(status: DeploymentStatus): string {
  return (DeploymentStatus[status] ?? "unspecified").toLowerCase();
}

/**
 * Waits until a deployment is live, failed or replaced, and returns it; shows the server's reports
 * of its progress. A broken stream is opened again, because the server reports the current state
 * first.
 */
export async function followDeployment(context: Context, id: string): Promise<Deployment> {
  const { api, clock, progress, signal } = context;
  const service = await api.deployments();
  return progress.step(
    "Waiting for the deployment to go live",
    async (say) => {
      let last: Deployment | undefined;
      for (let tries = 0; ; tries++) {
        try {
          for await (const { deployment, progress: doing } of service.watchDeployment({ deploymentId: id }, { signal })) {
            last = deployment ?? last;
            if (doing) say(escapeControls(doing));
          }
          if (last && isFinal(last)) return last;
        } catch (error) {
          if (!isPassing(error) || tries >= RECONNECTS) throw error;
          progress.verbose(`the stream broke (${error.message}); asking again`);
        }
        if (tries >= RECONNECTS) throw new CliError(`the server stopped telling about deployment ${id}`, { code: "watch_ended" });
        await clock.sleep(RECONNECT_MS, signal);
      }
    },
    ({ status }) => status === DeploymentStatus.FAILED,
  );
}

/** Whether a failed stream may succeed when opened again. */
function isPassing(error: unknown): error is CliError {
  return isUnanswered(error) || (error instanceof CliError && error.code === "unavailable");
}

function isFinal({ status }: Deployment): boolean {
  return status === DeploymentStatus.LIVE || status === DeploymentStatus.FAILED || status === DeploymentStatus.INACTIVE;
}
