/** The exchange of an authorization code for the claims about a person. */

import { errors, type JWTPayload, jwtVerify } from "jose";
import type { Clock } from "../../../context/clock.ts";
import { Failure } from "../../failure.ts";
import { plain } from "../../web-answer.ts";
import type { ProviderMetadata } from "./discovery.ts";
import { callProvider, providerFailed } from "./provider-call.ts";
import type { OidcSettings } from "./settings.ts";

/** A code with what it is bound to. */
export interface CodeToExchange {
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier: string;
  readonly nonce: string;
}

/** Claims about a person, verified. */
export type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

/** Signatures with a key of the provider alone: none with a secret, and none without a key. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];
/** Seconds by which the provider's clock may differ. */
const LEEWAY_S = 60;
const MAX_SUBJECT_CHARACTERS = 255;

/**
 * The claims of the ID token, with those of the userinfo endpoint where the token lacks the groups
 * or a name. Rejects with Failure unauthenticated when the provider refuses the code or the token
 * is not for this login, and unavailable when the provider is of no use.
 */
export async function exchangeCode(
  settings: OidcSettings,
  metadata: ProviderMetadata,
  given: CodeToExchange,
  { clock, callMs }: { readonly clock: Clock; readonly callMs: number },
): Promise<Claims> {
  const { idToken, accessToken } = await tokensOf(settings, metadata, given, callMs);
  const claims = await verify(settings, metadata, { idToken, nonce: given.nonce, now: clock.now() });
  const isWhole = claims[settings.groupsClaim] !== undefined && (claims.email ?? claims.name) !== undefined;
  if (isWhole || accessToken === undefined || !metadata.userinfoEndpoint) return claims;
  const more = await userinfo(metadata.userinfoEndpoint, accessToken, callMs);
  if (more.sub !== claims.sub) throw refused("its userinfo is about somebody else than its ID token");
  return { ...more, ...claims };
}

function refused(reason: string): Failure {
  return new Failure("unauthenticated", `The identity provider's answer was refused: ${reason}.`, {
    hint: "Log in again; if it stays so, tell the administrator of this server.",
  });
}

async function tokensOf(
  { clientId, clientSecret }: OidcSettings,
  { tokenEndpoint, authMethods }: ProviderMetadata,
  { code, redirectUri, verifier }: CodeToExchange,
  callMs: number,
): Promise<{ readonly idToken: string; readonly accessToken: string | undefined }> {
  const body = new URLSearchParams({ grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier });
  const headers = new Headers({ accept: "application/json" });
  if (clientSecret !== undefined && authMethods.includes("client_secret_basic"))
    headers.set("authorization", basic(clientId, clientSecret));
  else {
    body.set("client_id", clientId);
    if (clientSecret !== undefined) body.set("client_secret", clientSecret);
  }
  const answer = await callProvider(tokenEndpoint, { method: "POST", headers, body }, callMs);
  const { told } = answer;
  if (answer.status >= 500) throw providerFailed(tokenEndpoint.host, `answered ${answer.status}`);
  if (!answer.ok) throw refused(`it did not take the code (${plain(String(told?.error ?? answer.status))})`);
  const [idToken, accessToken] = [told?.id_token, told?.access_token];
  if (typeof idToken !== "string") throw refused("it has no ID token");
  return { idToken, accessToken: typeof accessToken === "string" ? accessToken : undefined };
}

/** HTTP Basic of a client, each part form-encoded (RFC 6749 section 2.3.1). */
function basic(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString("base64")}`;
}

async function verify(
  { issuer, clientId }: OidcSettings,
  { keys }: ProviderMetadata,
  { idToken, nonce, now }: { readonly idToken: string; readonly nonce: string; readonly now: number },
): Promise<Claims> {
  let claims: JWTPayload;
  try {
    const { payload } = await jwtVerify(idToken, keys, {
      algorithms: ALGORITHMS,
      issuer,
      audience: clientId,
      requiredClaims: ["sub", "exp", "iat"],
      clockTolerance: LEEWAY_S,
      currentDate: new Date(now),
    });
    claims = payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) throw refused(`its ID token is not valid (${error.code})`);
    throw error;
  }
  const { azp, aud, sub } = claims;
  if (azp === undefined ? Array.isArray(aud) && aud.length > 1 : azp !== clientId) throw refused("its ID token is for another client");
  if (claims.nonce !== nonce) throw refused("its ID token is of another login");
  if (typeof sub !== "string" || sub === "" || sub.length > MAX_SUBJECT_CHARACTERS) throw refused("its ID token names nobody");
  return { ...claims, sub };
}

async function userinfo(endpoint: URL, accessToken: string, callMs: number): Promise<Readonly<Record<string, unknown>>> {
  const headers = { accept: "application/json", authorization: `Bearer ${accessToken}` };
  const answer = await callProvider(endpoint, { headers }, callMs);
  if (!answer.ok || !answer.told) throw providerFailed(endpoint.host, `answered ${answer.status} when asked about the person`);
  return answer.told;
}
