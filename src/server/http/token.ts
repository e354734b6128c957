/** `POST /v1/oauth/token`: client credentials for an access token. */

import { secretMatches } from "../auth/secrets.ts";
import { TOKEN_LIFETIME_S } from "../auth/tokens.ts";
import type { Platform } from "../platform.ts";
import { readBody, SHORT_BODY_BYTES } from "./body.ts";
import { json, methodNotAllowed } from "./respond.ts";

/** Exchanges a client id and secret. A wrong secret and an unknown client get the same answer in the same time. */
export async function exchangeToken(platform: Platform, request: Request): Promise<Response> {
  if (request.method !== "POST") return methodNotAllowed("POST");
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) {
    return refusal(415, "invalid_request", "Send the credentials as JSON, with Content-Type: application/json.");
  }
  const given = parse(await readBody(request, SHORT_BODY_BYTES));
  if (!given) return refusal(400, "invalid_request", "The body must be a JSON object with client_id, client_secret and grant_type.");
  if (given.grant_type !== "client_credentials") return refusal(400, "unsupported_grant_type", 'grant_type must be "client_credentials".');
  const { client_id: clientId, client_secret: clientSecret } = given;
  if (typeof clientId !== "string" || typeof clientSecret !== "string")
    return refusal(400, "invalid_request", "client_id and client_secret must be strings.");
  const client = await platform.clients.find(clientId);
  if (!secretMatches(clientSecret, client?.secretHash) || !client) {
    return refusal(401, "invalid_client", "The client id or secret is wrong.", { "www-authenticate": 'Bearer error="invalid_client"' });
  }
  platform.clients.used(client.id);
  const environments = (await platform.metadata.environments()).filter(({ teamId }) => teamId === client.teamId);
  const [first] = environments;
  const primary = environments.find(({ name }) => name === "default") ?? first;
  return json({
    access_token: await platform.tokens.issue({ clientId: client.id, teamId: client.teamId, permissions: client.permissions }),
    token_type: "Bearer",
    expires_in: TOKEN_LIFETIME_S,
    primary_environment: primary?.id ?? null,
    engines: Object.fromEntries(environments.map(({ id }) => [id, platform.addressFor(request.headers)])),
  });
}

function parse(body: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function refusal(status: number, error: string, description: string, headers: Record<string, string> = {}): Response {
  return json({ error, error_description: description }, status, headers);
}
