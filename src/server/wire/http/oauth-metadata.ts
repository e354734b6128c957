/**
 * How a program finds out where `/mcp` gets its tokens: RFC 9728 for the resource, RFC 8414 for the
 * token exchange. Both tell the server's own address, which the caller knows, and nothing else.
 */

import type { Platform } from "../platform.ts";
import { json, methodNotAllowed } from "./respond.ts";

/** Path of the document about `/mcp`. */
export const RESOURCE_PATH = "/.well-known/oauth-protected-resource/mcp";

/** Answers the document about `/mcp`. */
export function serveResourceMetadata(platform: Pick<Platform, "addressFor">, { headers, method }: Request): Response {
  if (method !== "GET") return methodNotAllowed("GET");
  const address = platform.addressFor(headers);
  return json({
    resource: `${address}/mcp`,
    resource_name: "svc",
    authorization_servers: [address],
    bearer_methods_supported: ["header"],
  });
}

/**
 * Answers the document about the token exchange, for credentials of one's own and for applications
 * that a person lets in.
 */
export function serveExchangeMetadata(platform: Pick<Platform, "addressFor">, { headers, method }: Request): Response {
  if (method !== "GET") return methodNotAllowed("GET");
  const address = platform.addressFor(headers);
  return json({
    issuer: address,
    token_endpoint: `${address}/v1/oauth/token`,
    registration_endpoint: `${address}/v1/oauth/register`,
    authorization_endpoint: `${address}/v1/oauth/authorize`,
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
  });
}
