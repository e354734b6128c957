/** `GET /v1/who-am-i`: the ids behind a token, for thin clients. */

import { authenticate } from "../../access/authorize.ts";
import { resolveScope } from "../../access/scope.ts";
import type { Platform } from "../platform.ts";
import { json, methodNotAllowed } from "./respond.ts";

/**
 * Answers with the ids of the user (under both field names that clients read), of the team, and of
 * the project and environment that the headers select.
 */
export async function whoAmI(platform: Platform, request: Request): Promise<Response> {
  if (request.method !== "GET") return methodNotAllowed("GET");
  const caller = await authenticate(platform.callers, request.headers);
  const { environment } = await resolveScope(platform.environments, caller, request.headers);
  return json({
    user: caller.clientId,
    user_id: caller.clientId,
    team_id: caller.teamId,
    project_id: environment.projectId,
    project_name: environment.projectName,
    environment_id: environment.id,
    environment_name: environment.name,
    permissions: caller.permissions,
    dashboard_url: platform.addressFor(request.headers),
  });
}
