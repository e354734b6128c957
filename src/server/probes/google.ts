/** Calls of Google Cloud as a service account. */

import type { Variables } from "../../domain/integrations.ts";
import { GOOGLE_TOKEN_ADDRESS, googleClaim, googleExchange, type ServiceAccount } from "../sql/signed-claims.ts";
import type { Probe, ProbeContext } from "./probe-result.ts";
import { callJson, ProbeFailed } from "./web-call.ts";

export type { ServiceAccount } from "../sql/signed-claims.ts";

const TOKEN_SECONDS = 300;

/** Exchanges the account's signed claim for an access token (RFC 7523). */
export async function accessToken(account: ServiceAccount, tokenUrl: URL, { clock, signal }: ProbeContext): Promise<string> {
  let assertion: string;
  try {
    assertion = await googleClaim(account, Math.floor(clock.now() / 1000), TOKEN_SECONDS);
  } catch {
    throw new ProbeFailed("GOOGLE_CREDENTIALS has a private_key that is no RSA key in PEM");
  }
  const answer = await callJson(tokenUrl, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: googleExchange(assertion),
    signal,
  });
  if (typeof answer.access_token !== "string") throw new ProbeFailed(`${tokenUrl.host} gave no access token`);
  return answer.access_token;
}

type GoogleCall = { readonly host: string; readonly path: readonly string[]; readonly query?: string; readonly body?: object };

function probeGoogle(callOf: ((variables: Variables, project: string) => GoogleCall) | undefined): Probe {
  return async (variables, context) => {
    const account = JSON.parse(variables.GOOGLE_CREDENTIALS ?? "{}") as ServiceAccount;
    const own = variables.GOOGLE_ENDPOINT_URL;
    const token = await accessToken(account, new URL(own ? new URL("/token", own) : GOOGLE_TOKEN_ADDRESS), context);
    if (!callOf) return { status: "ok", message: `Google took the service account ${account.client_email}` };
    const project = variables.GOOGLE_PROJECT ?? account.project_id ?? "";
    if (project === "") throw new ProbeFailed("neither GOOGLE_PROJECT nor the service account names a project");
    const { host, path, query = "", body } = callOf(variables, project);
    const url = new URL(`/${path.map(encodeURIComponent).join("/")}${query}`, own ?? `https://${host}`);
    await callJson(url, {
      method: body ? "POST" : "GET",
      headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
      signal: context.signal,
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: "ok", message: `${url.host} answered for project ${project}` };
  };
}

/** The service account is exchanged for a token. */
export const gcpProbe: Probe = probeGoogle(undefined);

/** BigQuery runs `select 1`. */
export const bigqueryProbe: Probe = probeGoogle(({ BIGQUERY_LOCATION: location }, project) => ({
  host: "bigquery.googleapis.com",
  path: ["bigquery", "v2", "projects", project, "queries"],
  body: { query: "select 1", useLegacySql: false, timeoutMs: 8_000, ...(location && { location }) },
}));

/** The subscription is described, or topics are listed. */
export const pubsubProbe: Probe = probeGoogle(({ PUBSUB_SUBSCRIPTION: subscription }, project) => ({
  host: "pubsub.googleapis.com",
  ...(subscription
    ? { path: ["v1", "projects", project, "subscriptions", subscription] }
    : { path: ["v1", "projects", project, "topics"], query: "?pageSize=1" }),
}));

/** The database is described. */
export const spannerProbe: Probe = probeGoogle(({ SPANNER_INSTANCE: instance = "", SPANNER_DATABASE: database = "" }, project) => ({
  host: "spanner.googleapis.com",
  path: ["v1", "projects", project, "instances", instance, "databases", database],
}));
