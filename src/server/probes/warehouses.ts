/** `select 1` in databases that are reached over HTTP. */

import type { Variables } from "../../domain/integrations.ts";
import { snowflakeClaim } from "../sql/signed-claims.ts";
import { plain } from "../web-answer.ts";
import { type Probe, type ProbeContext, untested } from "./probe-result.ts";
import { callJson, callWeb, ProbeFailed } from "./web-call.ts";

const STATEMENT = "select 1";
/** Most answers of Trino in which a statement is still queued or running. */
const MOST_PAGES = 50;
const SNOWFLAKE_TOKEN_SECONDS = 300;

const ran = (host: string) => ({ status: "ok", message: `${host} ran \`${STATEMENT}\`` }) as const;
const json = { "content-type": "application/json", accept: "application/json" } as const;

function address(host: string, port: string, secure: string | undefined): URL {
  return new URL(`${secure === "false" ? "http" : "https"}://${host}:${port}/`);
}

/** ClickHouse. */
export const clickhouseProbe: Probe = async (variables, { signal }) => {
  const { CLICKHOUSE_HOST: host = "", CLICKHOUSE_SECURE: secure } = variables;
  const url = address(host, variables.CLICKHOUSE_PORT ?? (secure === "false" ? "8123" : "8443"), secure);
  const headers = {
    "x-clickhouse-user": variables.CLICKHOUSE_USER ?? "default",
    ...(variables.CLICKHOUSE_PASSWORD && { "x-clickhouse-key": variables.CLICKHOUSE_PASSWORD }),
    ...(variables.CLICKHOUSE_DATABASE && { "x-clickhouse-database": variables.CLICKHOUSE_DATABASE }),
  };
  const answer = await callWeb(url, { method: "POST", headers, body: STATEMENT, signal });
  if (answer.trim() !== "1") throw new ProbeFailed(`${url.host} answered something else than ClickHouse does`);
  return ran(url.host);
};

/** Trino, whose answers name the address of the next one. */
export const trinoProbe: Probe = async (variables, { signal }) => {
  const { TRINO_HOST: host = "", TRINO_USER: user = "", TRINO_PASSWORD: password, TRINO_SECURE: secure } = variables;
  if (password && secure === "false") return untested("TRINO_PASSWORD would be sent without TLS, which Trino refuses");
  const url = new URL("/v1/statement", address(host, variables.TRINO_PORT ?? (secure === "false" ? "8080" : "443"), secure));
  const headers = {
    "x-trino-user": user,
    ...(variables.TRINO_CATALOG && { "x-trino-catalog": variables.TRINO_CATALOG }),
    ...(variables.TRINO_SCHEMA && { "x-trino-schema": variables.TRINO_SCHEMA }),
    ...(password && { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` }),
  };
  let answer = await callJson(url, { method: "POST", headers, body: STATEMENT, signal });
  for (let pages = 0; ; pages++) {
    const error = answer.error as { message?: unknown } | undefined;
    if (error) throw new ProbeFailed(`${url.host} refused the statement: ${plain(String(error.message))}`);
    if (Array.isArray(answer.data)) return ran(url.host);
    const next = typeof answer.nextUri === "string" ? URL.parse(answer.nextUri) : null;
    if (!next || pages === MOST_PAGES) throw new ProbeFailed(`${url.host} gave no row for the statement`);
    if (next.origin !== url.origin) throw new ProbeFailed(`${url.host} names another address for its answer, to which nothing is sent`);
    answer = await callJson(next, { headers, signal });
  }
};

/** A SQL warehouse of Databricks. */
export const databricksProbe: Probe = async (variables, { signal }) => {
  const url = new URL("/api/2.0/sql/statements", variables.DATABRICKS_ENDPOINT_URL ?? `https://${variables.DATABRICKS_HOST}`);
  const answer = await callJson(url, {
    method: "POST",
    headers: { ...json, authorization: `Bearer ${variables.DATABRICKS_TOKEN}` },
    body: JSON.stringify({
      warehouse_id: variables.DATABRICKS_WAREHOUSE,
      statement: STATEMENT,
      wait_timeout: "8s",
      on_wait_timeout: "CANCEL",
      ...(variables.DATABRICKS_CATALOG && { catalog: variables.DATABRICKS_CATALOG }),
      ...(variables.DATABRICKS_SCHEMA && { schema: variables.DATABRICKS_SCHEMA }),
    }),
    signal,
  });
  const { state, error } = (answer.status ?? {}) as { state?: unknown; error?: { message?: unknown } };
  if (state === "SUCCEEDED") return ran(url.host);
  const reason = error?.message === undefined ? "" : `: ${plain(String(error.message))}`;
  throw new ProbeFailed(`${url.host} left the statement ${plain(String(state ?? "unanswered"))}${reason}`);
};

/** Snowflake's SQL API, which takes key pairs and programmatic access tokens. */
export const snowflakeProbe: Probe = async (variables, context) => {
  const { SNOWFLAKE_ACCOUNT: account = "", SNOWFLAKE_PRIVATE_KEY: key, SNOWFLAKE_TOKEN: token } = variables;
  if (!key && !token)
    return untested("Snowflake's SQL API takes no password: set SNOWFLAKE_PRIVATE_KEY or SNOWFLAKE_TOKEN to have it tried");
  if (!/^[A-Za-z0-9._-]+$/.test(account)) throw new ProbeFailed("SNOWFLAKE_ACCOUNT is no account identifier");
  const url = new URL("/api/v2/statements", variables.SNOWFLAKE_ENDPOINT_URL ?? `https://${account}.snowflakecomputing.com`);
  await callJson(url, {
    method: "POST",
    headers: {
      ...json,
      authorization: `Bearer ${key ? await snowflakeToken(variables, key, context) : token}`,
      "x-snowflake-authorization-token-type": key ? "KEYPAIR_JWT" : "PROGRAMMATIC_ACCESS_TOKEN",
    },
    body: JSON.stringify({
      statement: STATEMENT,
      timeout: 8,
      ...(variables.SNOWFLAKE_WAREHOUSE && { warehouse: variables.SNOWFLAKE_WAREHOUSE }),
      ...(variables.SNOWFLAKE_DATABASE && { database: variables.SNOWFLAKE_DATABASE }),
      ...(variables.SNOWFLAKE_SCHEMA && { schema: variables.SNOWFLAKE_SCHEMA }),
      ...(variables.SNOWFLAKE_ROLE && { role: variables.SNOWFLAKE_ROLE }),
    }),
    signal: context.signal,
  });
  return ran(url.host);
};

async function snowflakeToken(variables: Variables, pem: string, { clock }: ProbeContext): Promise<string> {
  try {
    const { SNOWFLAKE_ACCOUNT: account = "", SNOWFLAKE_USER: user = "" } = variables;
    return await snowflakeClaim(account, user, pem, Math.floor(clock.now() / 1000), SNOWFLAKE_TOKEN_SECONDS);
  } catch {
    throw new ProbeFailed("SNOWFLAKE_PRIVATE_KEY is no RSA key in PKCS#8 PEM without a passphrase");
  }
}
