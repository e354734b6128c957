/**
 * The state that all calls of a command share: addresses, tokens, scope headers, the retry policy
 * and the redactor. Each is made on first use.
 */

import { normalizeAddress } from "../config/address.ts";
import { currentBranch } from "../config/branch.ts";
import { tokenCacheDir } from "../config/home.ts";
import { describeSource, isEnvironmentId } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import type { Context } from "../context/context.ts";
import type { Service } from "../contract/services.ts";
import { once } from "../domain/once.ts";
import { AuthError } from "../errors/cli-error.ts";
import type { Session } from "./api.ts";
import { createTokens, isBearerToken, type Tokens } from "./auth.ts";
import { exchangeToken } from "./exchange.ts";
import { isUnauthenticated, refusedCredentials } from "./failure.ts";
import { createWireFetch, type Endpoint, type WireFetch } from "./fetch.ts";
import { createProxies, type Proxies } from "./proxy.ts";
import { createRedactor, type Redactor } from "./redact.ts";
import { createCommandRetries, type RetryPolicy } from "./retry.ts";

/** The parts of the context that the client needs. */
export type ClientHost = Pick<Context, "flags" | "surroundings" | "clock" | "progress" | "signal" | "machine" | "settings" | "projectName">;

/** The server that a call goes to. */
export type Target = "api" | Service["target"];

/** A connection to the platform. */
export interface Connection {
  readonly host: ClientHost;
  readonly redactor: Redactor;
  readonly proxies: Proxies;
  readonly retry: RetryPolicy;
  readonly fetch: WireFetch;
  /** The address of a server; finding that of the query server may take a token exchange. */
  endpoint(target: Target): Promise<Endpoint>;
  /** Tokens of the settings' client; rejects with AuthError without credentials. */
  tokens(): Promise<Tokens>;
  /**
   * `svc-environment` and `svc-branch`, as set by flags and settings, and `svc-project`, in the
   * folder of a project; not beside the id of an environment, which has one project.
   */
  scopeHeaders(): Promise<ReadonlyMap<string, string>>;
  /**
   * Runs a call with a bearer token, and once more with a new token when the server refuses the
   * first. Rejects with AuthError when that is refused too.
   */
  authorized<T>(endpoint: Endpoint, call: (token: string) => Promise<T>): Promise<T>;
}

/** The connection; opens no network connection before the first call. */
export function createConnection(host: ClientHost): Connection {
  const redactor = createRedactor();
  const proxies = createProxies(host.surroundings.env);
  const fetch = createWireFetch(host, { redactor, proxies });
  const retry = createCommandRetries(host, redactor);
  const settings = once(async () => {
    const found = await host.settings();
    redactor.add(found.clientSecret.value);
    redactor.add(found.accessToken.value);
    return found;
  });
  const base = once(async () => apiEndpoint(await settings()));
  const tokens = once(async () => {
    const { clientId, clientSecret } = await settings();
    const endpoint = await base();
    return createTokens({
      clock: host.clock,
      cacheDir: tokenCacheDir(host.surroundings),
      endpoint,
      clientId,
      clientSecret,
      signal: host.signal,
      verbose: (text) => host.progress.verbose(redactor.text(text)),
      exchange: (id, secret) =>
        exchangeToken({ fetch, retry, redactor, proxies, clock: host.clock }, endpoint, {
          id,
          secret,
          from: describeSource(clientSecret.source),
        }),
    });
  });
  const session = async (): Promise<Session> => {
    const current = await (await tokens()).get();
    redactor.add(current.accessToken);
    return current;
  };
  const scopeHeaders = once(async () => {
    const headers = new Map<string, string>();
    const { environment } = await settings();
    if (environment.value !== undefined) headers.set("svc-environment", encodeHeader(environment.value));
    const project = isEnvironmentId(environment.value) ? undefined : await host.projectName();
    if (project !== undefined) headers.set("svc-project", encodeHeader(project));
    const branch = await currentBranch(host);
    if (branch !== undefined) headers.set("svc-branch", encodeHeader(branch));
    return headers;
  });

  return {
    host,
    redactor,
    proxies,
    retry,
    fetch,
    tokens,
    scopeHeaders,
    async endpoint(target) {
      if (target === "api") return base();
      const found = await settings();
      const grpc: Endpoint = { url: found.grpcServer.value ?? (await base()).url, what: "API server", source: sourceOf(found) };
      if (target === "grpc") return grpc;
      if (found.queryServer.value !== undefined)
        return { url: found.queryServer.value, what: "query server", source: found.queryServer.source };
      if (found.accessToken.value !== undefined) return grpc;
      const { engines, primaryEnvironment } = await session();
      const url = engines[found.environment.value ?? primaryEnvironment ?? ""];
      if (url === undefined || normalizeAddress(url, "the token exchange") === grpc.url) return grpc;
      return { url: normalizeAddress(url, "the token exchange"), what: "query server", source: { kind: "service" } };
    },
    async authorized(endpoint, call) {
      const found = await settings();
      if (found.accessToken.value !== undefined) {
        const from = describeSource(found.accessToken.source);
        if (!isBearerToken(found.accessToken.value)) {
          throw new AuthError(`the access token (from ${from}) has characters that no token has, such as blanks or line breaks`, {
            hint: "Give it as it was issued.",
          });
        }
        return call(found.accessToken.value).catch((error) => {
          throw isUnauthenticated(error) ? refusedCredentials(endpoint, from, error.message) : error;
        });
      }
      const first = await session();
      try {
        return await call(first.accessToken);
      } catch (error) {
        if (!isUnauthenticated(error)) throw error;
        host.progress.verbose("the server did not take the cached token; exchanging the credentials once more");
        const next = await (await tokens()).renew(first);
        redactor.add(next.accessToken);
        return await call(next.accessToken).catch((again) => {
          throw isUnauthenticated(again) ? refusedCredentials(endpoint, describeSource(found.clientSecret.source), again.message) : again;
        });
      }
    },
  };
}

/** The API server as an endpoint. */
export function apiEndpoint(settings: Settings): Endpoint {
  return { url: settings.apiServer.value ?? "", what: "API server", source: settings.apiServer.source };
}

function sourceOf(settings: Settings) {
  return settings.grpcServer.source.kind === "default" ? settings.apiServer.source : settings.grpcServer.source;
}

/** A header value in ASCII: other characters, and `%`, are percent-encoded as in a URL. */
function encodeHeader(value: string): string {
  return value.replace(/[^\x21-\x24\x26-\x7e]+/g, encodeURIComponent);
}
