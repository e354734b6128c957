/** The token exchange: `POST /v1/oauth/token`. */

import type { Clock } from "../context/clock.ts";
import { AuthError, CliError } from "../errors/cli-error.ts";
import { type Exchanged, isBearerToken } from "./auth.ts";
import { callError, failureOf, transientCall, wrongContent } from "./failure.ts";
import { type Endpoint, readBody, transientNetwork, type WireFetch } from "./fetch.ts";
import { plainFetch } from "./plain.ts";
import type { Proxies } from "./proxy.ts";
import type { Redactor } from "./redact.ts";
import type { RetryPolicy } from "./retry.ts";

const TIMEOUT_MS = 15_000;

/** The dependencies of an exchange. */
export interface ExchangeDeps {
  readonly fetch: WireFetch;
  readonly retry: RetryPolicy;
  readonly redactor: Redactor;
  readonly proxies: Proxies;
  readonly clock: Clock;
}

/**
 * Exchanges a client ID and secret for a token. The exchange changes nothing on the server, so it
 * is retried when the network fails. Rejects with AuthError when they are refused.
 */
export async function exchangeToken(
  deps: ExchangeDeps,
  endpoint: Endpoint,
  credentials: { readonly id: string; readonly secret: string; readonly from: string },
): Promise<Exchanged> {
  deps.redactor.add(credentials.secret);
  return deps.retry.run(
    true,
    async () => {
      const response = await plainFetch(deps.fetch, endpoint, {
        method: "POST",
        url: `${endpoint.url}/v1/oauth/token`,
        headers: new Headers(),
        body: { client_id: credentials.id, client_secret: credentials.secret, grant_type: "client_credentials" },
        timeoutMs: TIMEOUT_MS,
      });
      const body = await readBody(response, endpoint, { timeoutMs: TIMEOUT_MS }, 1024 * 1024);
      const failure = () => failureOf(response, body, endpoint, deps.proxies, deps.clock.now());
      if (response.status === 400 || response.status === 401) {
        const refusal = failure();
        if (isJson(response))
          throw new AuthError(`${endpoint.url} rejected the client ID and secret (from ${credentials.from})`, {
            code: "credentials_rejected",
            details: { reason: deps.redactor.text(refusal.message) },
          });
      }
      if (!response.ok && (isJson(response) || response.status >= 500)) throw callError(failure(), endpoint, deps.redactor);
      if (!response.ok || !isJson(response)) throw wrongContent(response, body, endpoint, deps);
      return parseAnswer(body, endpoint, deps.redactor);
    },
    (error) => transientNetwork(error) ?? transientCall(error),
  );
}

function isJson(response: Response): boolean {
  return /^application\/(?:[\w.+-]+\+)?json/i.test(response.headers.get("content-type") ?? "");
}

function parseAnswer(body: Uint8Array, endpoint: Endpoint, redactor: Redactor): Exchanged {
  let answer: Record<string, unknown> = {};
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    if (value !== null && typeof value === "object") answer = value as Record<string, unknown>;
  } catch {
    answer = {};
  }
  const { access_token: token, expires_in: expires, primary_environment: environment, engines } = answer;
  if (typeof token !== "string" || !isBearerToken(token) || typeof expires !== "number" || !(expires > 0)) {
    throw new CliError(`${endpoint.url} answered the token exchange without a token`, {
      code: "broken_answer",
      hint: "Is it an svc server? `svc config` shows the address.",
    });
  }
  redactor.add(token);
  const servers = engines !== null && typeof engines === "object" ? Object.entries(engines) : [];
  return {
    accessToken: token,
    expiresIn: expires,
    primaryEnvironment: typeof environment === "string" && environment ? environment : undefined,
    engines: Object.fromEntries(
      servers.filter((entry): entry is [string, string] => typeof entry[1] === "string" && URL.canParse(entry[1])),
    ),
  };
}
