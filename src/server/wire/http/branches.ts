/** `GET /v1/branches`: the branches of an environment, for thin clients. */

import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { formatTimestamp } from "../../../domain/timestamp.ts";
import { authorize } from "../../access/authorize.ts";
import { resolveScope } from "../../access/scope.ts";
import type { Platform } from "../platform.ts";
import { json, methodNotAllowed } from "./respond.ts";

/** Answers with the branches of the environment that the headers select, by their names. */
export async function listBranches({ callers, environments, metadata }: Platform, request: Request): Promise<Response> {
  const caller = await authorize(callers, request.headers, Permission.READ);
  if (request.method !== "GET") return methodNotAllowed("GET");
  if (!caller) throw new Error("branches need credentials");
  const { environment } = await resolveScope(environments, caller, request.headers);
  const branches = await metadata.branches(environment.id);
  return json({
    branches: branches.map(({ name, deploys, lastDeployedAt, latestDeploymentId }) => ({
      name,
      deploys,
      last_deployed_at: formatTimestamp(lastDeployedAt),
      latest_deployment_id: latestDeploymentId,
    })),
  });
}
