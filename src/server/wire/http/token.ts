/**
 * `POST /v1/oauth/token`: an access token for client credentials (RFC 6749 section 4.4), or for a
 * code or refresh token of an application that a person let in.
 */

import { allows, isPermission } from "../../../domain/permissions.ts";
import { formatMicros } from "../../../domain/timestamp.ts";
import { callerOf, isOver, whyOver } from "../../access/clients.ts";
import { mayReach, visibleEnvironments } from "../../access/scope.ts";
import { secretMatches } from "../../access/secrets.ts";
import { TOKEN_LIFETIME_S } from "../../access/tokens.ts";
import type { ClientRecord } from "../../stores/metadata/identity.ts";
import type { CallNote } from "../call-audit.ts";
import type { Platform } from "../platform.ts";
import { clientOfCode, refreshedClient } from "./app-token.ts";
import { readBody, SHORT_BODY_BYTES } from "./body.ts";
import { errorAnswer, json, methodNotAllowed } from "./respond.ts";
import {
  type CodeRequest,
  type CredentialsRequest,
  isTokenRequestType,
  type RefreshRequest,
  readTokenRequest,
  TokenRequestRefused,
  usesBasic,
} from "./token-request.ts";

/**
 * Exchanges a client's id and secret for a token. A wrong secret and an unknown client get the same
 * answer in the same time.
 */
export async function exchangeToken(platform: Platform, request: Request, note: CallNote = {}): Promise<Response> {
  if (request.method !== "POST") return methodNotAllowed("POST");
  const { headers } = request;
  if (!isTokenRequestType(headers.get("content-type") ?? "")) {
    const message = "Send the credentials as a form or as JSON, with Content-Type: application/x-www-form-urlencoded or application/json.";
    return refusal(415, "invalid_request", message);
  }
  try {
    const tokenRequest = readTokenRequest(headers, await readBody(request, SHORT_BODY_BYTES));
    const answer =
      tokenRequest.grant === "client_credentials"
        ? await grant(platform, await identify(platform, tokenRequest, note), tokenRequest.scope, headers)
        : await appGrant(platform, tokenRequest, headers, note);
    return json(answer, 200, { pragma: "no-cache" });
  } catch (error) {
    if (!(error instanceof TokenRequestRefused)) throw error;
    if (error.code !== "invalid_client") return refusal(400, error.code, error.message);
    const challenge = usesBasic(headers) ? 'Basic realm="svc", charset="UTF-8"' : 'Bearer error="invalid_client"';
    return refusal(401, error.code, error.message, { "www-authenticate": challenge });
  }
}

/** The token of an application that a person let in, with the one by which it gets the next. */
async function appGrant(platform: Platform, request: CodeRequest | RefreshRequest, headers: Headers, note: CallNote): Promise<object> {
  const { client, refreshToken } = await (request.grant === "refresh_token"
    ? refreshedClient(platform, request)
    : clientOfCode(platform, request));
  note.about = { client_id: client.id };
  note.by = { clientId: client.id };
  return { ...(await grant(platform, client, undefined, headers)), refresh_token: refreshToken };
}

async function identify(platform: Platform, { clientId, clientSecret }: CredentialsRequest, note: CallNote): Promise<ClientRecord> {
  const client = await platform.clients.find(clientId);
  if (client) note.about = { client_id: client.id };
  if (!secretMatches(clientSecret, client?.secretHash) || !client)
    throw new TokenRequestRefused("invalid_client", "The client id or secret is wrong.");
  if (isOver(client, platform.clock.now())) throw new TokenRequestRefused("invalid_client", whyOver(client));
  platform.clients.used(client.id);
  note.by = { clientId: client.id };
  return client;
}

async function grant(platform: Platform, client: ClientRecord, scope: readonly string[] | undefined, headers: Headers): Promise<object> {
  if (scope?.some((name) => !isPermission(name) || !allows(client.permissions, name)))
    throw new TokenRequestRefused("invalid_scope", `scope asks for more than the client may: ${client.permissions.join(", ")}.`);
  const permissions = scope ?? client.permissions;
  const caller = callerOf(client, permissions);
  const environments = await visibleEnvironments(platform.environments, caller);
  const usual = await platform.environments.find({ teamId: client.teamId, project: "", environment: "" });
  const primary = usual && mayReach(caller, usual) ? usual : environments[0];
  const address = platform.addressFor(headers);
  const now = platform.clock.now();
  const leftS = client.expiresAt === undefined ? TOKEN_LIFETIME_S : Math.ceil((client.expiresAt - now) / 1000);
  const lifetimeS = Math.min(TOKEN_LIFETIME_S, leftS);
  const expiresAt = Math.floor(now / 1000) + lifetimeS;
  return {
    access_token: await platform.tokens.issue(caller, lifetimeS),
    token_type: "Bearer",
    expires_in: lifetimeS,
    expires_at: formatMicros(BigInt(expiresAt) * 1_000_000n),
    scope: permissions.join(" "),
    api_server: address,
    grpc_server: platform.grpcAddressFor(headers),
    primary_environment: primary?.id ?? null,
    environments: Object.fromEntries(environments.map(({ id, name }) => [id, name])),
    engines: Object.fromEntries(environments.map(({ id }) => [id, address])),
  };
}

function refusal(status: number, error: string, message: string, headers?: Record<string, string>): Response {
  return errorAnswer({ status, error, message, more: { error_description: message } }, headers);
}
