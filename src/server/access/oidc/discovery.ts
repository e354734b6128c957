/**
 * What the identity provider says of itself (OpenID Connect Discovery). It is asked for when
 * somebody logs in, never at a start, and remembered for an hour; what failed is asked for again
 * after some seconds.
 */

import type { JWTVerifyGetKey } from "jose";
import type { Clock } from "../../../context/clock.ts";
import { isLoopbackHost } from "../../../domain/ip-address.ts";
import { callProvider, providerFailed } from "./provider-call.ts";

/** The provider's endpoints and abilities. */
export interface ProviderMetadata {
  readonly authorizationEndpoint: URL;
  readonly tokenEndpoint: URL;
  readonly userinfoEndpoint: URL | undefined;
  /** Whether it says in the address that the browser comes back to who it is (RFC 9207). */
  readonly statesIssuer: boolean;
  /** Ways in which clients may prove their secret. */
  readonly authMethods: readonly string[];
  /** The keys of its signatures, followed when they are rotated. */
  readonly keys: JWTVerifyGetKey;
}

/** Looks the metadata up. Rejects with Failure unavailable. */
export type Discovery = () => Promise<ProviderMetadata>;

const REMEMBERED_MS = 3_600_000;
const FAILURE_REMEMBERED_MS = 5_000;

/** Makes the discovery of an issuer. */
export function createDiscovery({
  issuer,
  clock,
  callMs,
}: {
  readonly issuer: string;
  readonly clock: Clock;
  readonly callMs: number;
}): Discovery {
  let known: { readonly metadata: Promise<ProviderMetadata>; until: number } | undefined;

  return () => {
    if (known && known.until > clock.now()) return known.metadata;
    const asked = { metadata: discover(issuer, callMs), until: clock.now() + REMEMBERED_MS };
    asked.metadata.catch(() => {
      asked.until = clock.now() + FAILURE_REMEMBERED_MS;
    });
    known = asked;
    return asked.metadata;
  };
}

async function discover(issuer: string, callMs: number): Promise<ProviderMetadata> {
  const address = new URL(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  const failed = (reason: string) => providerFailed(address.host, reason);
  const answer = await callProvider(address, { headers: { accept: "application/json" } }, callMs);
  if (!answer.ok) throw failed(`answered ${answer.status} when asked for its configuration`);
  const { told } = answer;
  if (!told) throw failed("answered something else than its configuration");
  if (told.issuer !== issuer) throw failed("says that it is another issuer than the one that this server is configured for");
  const endpoint = (name: string): URL => {
    const url = typeof told[name] === "string" ? URL.parse(told[name]) : null;
    if (!url || !isTrustworthy(url, address)) throw failed(`names no usable ${name} in its configuration`);
    return url;
  };
  const methods = told.token_endpoint_auth_methods_supported;
  const { createRemoteJWKSet, customFetch } = await import("jose");
  return {
    authorizationEndpoint: endpoint("authorization_endpoint"),
    tokenEndpoint: endpoint("token_endpoint"),
    userinfoEndpoint: told.userinfo_endpoint === undefined ? undefined : endpoint("userinfo_endpoint"),
    statesIssuer: told.authorization_response_iss_parameter_supported === true,
    authMethods: Array.isArray(methods) ? methods.map(String) : ["client_secret_basic"],
    keys: createRemoteJWKSet(endpoint("jwks_uri"), {
      [customFetch]: async (url: string, { headers }: { readonly headers: Headers }) => {
        const keys = await callProvider(new URL(url), { headers }, callMs);
        if (!keys.ok) throw failed(`answered ${keys.status} when asked for its keys`);
        return new Response(keys.text);
      },
    }),
  };
}

/**
 * Whether an endpoint is encrypted; on this machine it need not be when the issuer is not either.
 */
function isTrustworthy({ protocol, hostname }: URL, issuer: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && issuer.protocol === "http:" && isLoopbackHost(hostname));
}
