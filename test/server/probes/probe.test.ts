/**
 * Tests of integrations, against HTTP fakes: servers of this file that answer as the documentation
 * of each system says, and refuse what it would refuse.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { jwtVerify } from "jose";
import { systemClock } from "../../../src/context/system-clock.ts";
import { INTEGRATION_KIND_NAMES, type IntegrationKind, integrationProblem, type Variables } from "../../../src/domain/integrations.ts";
import { signAws } from "../../../src/server/probes/aws-signature.ts";
import { probe } from "../../../src/server/probes/probe.ts";
import { freePort } from "../../harness/free-port.ts";
import { lacksMariadb, startMariadb } from "../../harness/mariadb.ts";
import { lacksPostgres, startPostgres } from "../../harness/postgres.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const PEM = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const ACCOUNT = JSON.stringify({
  type: "service_account",
  client_email: "robot@p.example",
  private_key: PEM,
  private_key_id: "k1",
  project_id: "p",
});
const SECRET = "s3cret-of-a-fake";

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}
let seen: Seen[] = [];
let answer: (request: Seen) => Response | Promise<Response> = () => new Response("", { status: 500 });
let fake: Bun.Server<undefined>;
beforeAll(() => {
  fake = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const one = { method: request.method, path: pathname + search, headers: request.headers, body: await request.text() };
      seen.push(one);
      return answer(one);
    },
  });
});
afterAll(() => fake.stop(true));
const host = () => `127.0.0.1:${fake.port}`;
const url = () => `http://${host()}`;

const run = (kind: IntegrationKind, variables: Variables, limitMs?: number) => {
  expect([kind, integrationProblem("fake", kind, variables)]).toEqual([kind, undefined]);
  seen = [];
  const signal = new AbortController().signal;
  return probe(kind, variables, { clock: systemClock, signal, ...(limitMs !== undefined && { limitMs }) });
};
const refused = (why: object, status = 403) => Response.json(why, { status });

const AWS = () => ({
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AWS_SECRET_ACCESS_KEY: SECRET,
  AWS_ENDPOINT_URL: url(),
});

/** Whether a request has the signature that its own headers and body give. */
function isSigned({ method, path, headers, body }: Seen, service: string): boolean {
  const given = headers.get("authorization") ?? "";
  const names = /SignedHeaders=([^,]+)/.exec(given)?.[1]?.split(";") ?? [];
  const time = headers.get("x-amz-date") ?? "";
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  const own = Object.fromEntries(
    names.filter((name) => name !== "host" && name !== "x-amz-date").map((name) => [name, headers.get(name) ?? ""]),
  );
  const request = { method, url: new URL(path, url()), headers: own, body, service, region: "eu-central-1", at };
  return given === signAws(request, { accessKeyId: "AKIDEXAMPLE", secretAccessKey: SECRET }).authorization;
}

describe("AWS", () => {
  const CALLS = [
    ["aws", "sts", {}, /^Action=GetCallerIdentity/],
    ["dynamodb", "dynamodb", { DYNAMODB_TABLE: "rows" }, /"TableName":"rows"/],
    ["kinesis", "kinesis", { KINESIS_STREAM: "clicks" }, /"StreamName":"clicks"/],
    ["athena", "athena", {}, /"WorkGroup":"primary"/],
  ] as const;
  test.each(CALLS)("%s makes a signed call", async (kind, service, more, body) => {
    const identity = "<R><Arn>arn:aws:iam::1:user/me</Arn></R>";
    answer = (one) => (isSigned(one, service) ? new Response(kind === "aws" ? identity : "{}") : refused({ message: "bad signature" }));
    const result = await run(kind, { ...AWS(), ...more });
    expect([result.status, seen[0]?.body]).toEqual(["ok", expect.stringMatching(body)]);
    if (kind === "aws") expect(result.message).toContain("arn:aws:iam::1:user/me");
    answer = () => refused({ message: `The key ${SECRET} is wrong.` });
    expect(await run(kind, { ...AWS(), ...more })).toEqual({ status: "failed", message: `${host()} answered 403: The key *** is wrong.` });
  });

  test("without keys nothing is called", async () => {
    expect((await run("aws", { AWS_REGION: "eu-central-1", AWS_ENDPOINT_URL: url() })).status).toBe("untested");
    expect(seen).toEqual([]);
  });
});

describe("Google Cloud", () => {
  const CALLS = [
    ["gcp", {}, undefined],
    ["bigquery", {}, "/bigquery/v2/projects/p/queries"],
    ["pubsub", { PUBSUB_SUBSCRIPTION: "s" }, "/v1/projects/p/subscriptions/s"],
    ["pubsub", {}, "/v1/projects/p/topics?pageSize=1"],
    ["spanner", { SPANNER_INSTANCE: "i", SPANNER_DATABASE: "d" }, "/v1/projects/p/instances/i/databases/d"],
  ] as const;
  test.each(CALLS)("%s %j: the account's claim is exchanged for a token, with which the call is made", async (kind, more, path) => {
    answer = async ({ path: asked, body, headers }) => {
      if (asked === "/token") {
        const { payload } = await jwtVerify(new URLSearchParams(body).get("assertion") ?? "", publicKey, {
          audience: "https://oauth2.googleapis.com/token",
          issuer: "robot@p.example",
        });
        return Response.json({ access_token: `token of ${payload.iss}`.replaceAll(" ", "-") });
      }
      const isRight = headers.get("authorization") === "Bearer token-of-robot@p.example";
      return isRight ? Response.json({}) : refused({ error: { message: "no token" } }, 401);
    };
    const variables = { GOOGLE_CREDENTIALS: ACCOUNT, GOOGLE_ENDPOINT_URL: url(), ...more };
    expect((await run(kind, variables)).status).toBe("ok");
    expect(seen.map((one) => one.path)).toEqual(["/token", ...(path === undefined ? [] : [path])]);
    answer = () => refused({ error: "invalid_grant", error_description: "Invalid JWT Signature." }, 400);
    expect((await run(kind, variables)).status).toBe("failed");
  });

  test("a key that is none is said to be so", async () => {
    const broken = JSON.stringify({ client_email: "a", private_key: "no key" });
    expect(await run("gcp", { GOOGLE_CREDENTIALS: broken, GOOGLE_ENDPOINT_URL: url() })).toEqual({
      status: "failed",
      message: "GOOGLE_CREDENTIALS has a private_key that is no RSA key in PEM",
    });
  });
});

describe("databases over HTTP", () => {
  test("ClickHouse", async () => {
    const variables = {
      CLICKHOUSE_HOST: "127.0.0.1",
      CLICKHOUSE_PORT: String(fake.port),
      CLICKHOUSE_SECURE: "false",
      CLICKHOUSE_USER: "u",
      CLICKHOUSE_PASSWORD: SECRET,
    };
    answer = ({ headers, body }) =>
      headers.get("x-clickhouse-key") === SECRET && headers.get("x-clickhouse-user") === "u" && body === "select 1"
        ? new Response("1\n")
        : new Response("Code: 516. DB::Exception: u: Authentication failed", { status: 403 });
    expect((await run("clickhouse", variables)).status).toBe("ok");
    expect(await run("clickhouse", { ...variables, CLICKHOUSE_PASSWORD: "another" })).toEqual({
      status: "failed",
      message: `${host()} answered 403`,
    });
    answer = () => new Response("<html>a login page</html>");
    expect((await run("clickhouse", variables)).status).toBe("failed");
  });

  test("Trino, whose answer comes in pages of the same address", async () => {
    const variables = { TRINO_HOST: "127.0.0.1", TRINO_PORT: String(fake.port), TRINO_SECURE: "false", TRINO_USER: "u" };
    answer = ({ path, headers }) => {
      if (headers.get("x-trino-user") !== "u") return refused({}, 401);
      if (path === "/v1/statement") return Response.json({ nextUri: `${url()}/v1/statement/queued/1` });
      return Response.json(path.endsWith("/1") ? { nextUri: `${url()}/v1/statement/executing/2` } : { data: [[1]] });
    };
    expect((await run("trino", variables)).status).toBe("ok");
    expect(seen.map(({ path }) => path)).toEqual(["/v1/statement", "/v1/statement/queued/1", "/v1/statement/executing/2"]);
    answer = () => Response.json({ error: { message: "Catalog 'x' does not exist" } });
    expect((await run("trino", variables)).message).toContain("Catalog 'x' does not exist");
    answer = () => Response.json({ nextUri: "http://169.254.169.254/latest/meta-data" });
    expect((await run("trino", variables)).message).toContain("names another address");
    answer = () => Response.json({ nextUri: `${url()}/v1/statement/again` });
    expect((await run("trino", variables)).message).toContain("gave no row");
    expect((await run("trino", { ...variables, TRINO_PASSWORD: SECRET })).status).toBe("untested");
  });

  test("Databricks", async () => {
    const variables = {
      DATABRICKS_HOST: "x.example",
      DATABRICKS_WAREHOUSE: "w1",
      DATABRICKS_TOKEN: SECRET,
      DATABRICKS_ENDPOINT_URL: url(),
    };
    answer = ({ path, headers, body }) =>
      path === "/api/2.0/sql/statements" &&
      headers.get("authorization") === `Bearer ${SECRET}` &&
      (JSON.parse(body) as { warehouse_id: string }).warehouse_id === "w1"
        ? Response.json({ status: { state: "SUCCEEDED" } })
        : refused({ message: "no" });
    expect((await run("databricks", variables)).status).toBe("ok");
    answer = () => Response.json({ status: { state: "CANCELED" } });
    expect((await run("databricks", variables)).message).toContain("CANCELED");
  });

  test("Snowflake: a key pair, a token, and no password", async () => {
    const variables = { SNOWFLAKE_ACCOUNT: "org-acc", SNOWFLAKE_USER: "me", SNOWFLAKE_ENDPOINT_URL: url() };
    const fingerprint = (key: KeyObject) =>
      new Bun.CryptoHasher("sha256").update(createPublicKey(key).export({ type: "spki", format: "der" })).digest("base64");
    answer = async ({ headers }) => {
      const token = (headers.get("authorization") ?? "").replace("Bearer ", "");
      if (headers.get("x-snowflake-authorization-token-type") === "PROGRAMMATIC_ACCESS_TOKEN")
        return token === SECRET ? Response.json({}) : refused({ message: "no" }, 401);
      const { payload } = await jwtVerify(token, publicKey);
      const isRight = payload.sub === "ORG-ACC.ME" && payload.iss === `ORG-ACC.ME.SHA256:${fingerprint(privateKey)}`;
      return isRight ? Response.json({}) : refused({ message: "JWT token is invalid." }, 401);
    };
    expect((await run("snowflake", { ...variables, SNOWFLAKE_PRIVATE_KEY: PEM })).status).toBe("ok");
    expect((await run("snowflake", { ...variables, SNOWFLAKE_TOKEN: SECRET })).status).toBe("ok");
    expect((await run("snowflake", { ...variables, SNOWFLAKE_TOKEN: "another" })).status).toBe("failed");
    expect((await run("snowflake", { ...variables, SNOWFLAKE_PASSWORD: SECRET })).status).toBe("untested");
    expect((await run("snowflake", { ...variables, SNOWFLAKE_PRIVATE_KEY: "none" })).status).toBe("failed");
  });
});

describe("providers of models", () => {
  test.each([
    ["openai", { OPENAI_API_KEY: SECRET }, "OPENAI_BASE_URL", "/v1/models"],
    ["cohere", { COHERE_API_KEY: SECRET }, "COHERE_BASE_URL", "/v1/models?page_size=1"],
  ] as const)("%s", async (kind, key, base, path) => {
    answer = ({ headers }) =>
      headers.get("authorization") === `Bearer ${SECRET}`
        ? Response.json({ data: [{ id: "m" }] })
        : refused({ error: { message: "wrong" } }, 401);
    const variables = { ...key, [base]: kind === "openai" ? `${url()}/v1` : url() };
    expect((await run(kind, variables)).status).toBe("ok");
    expect(seen.map((one) => one.path)).toEqual([path]);
    answer = () => refused({ error: { message: `Incorrect API key: ${SECRET}` } }, 401);
    expect((await run(kind, variables)).message).toBe(`${host()} answered 401: Incorrect API key: ***`);
  });
});

describe("an answer that is not what it should be", () => {
  const openai = () => run("openai", { OPENAI_API_KEY: SECRET, OPENAI_BASE_URL: url() }, 400);

  test("a redirect is not followed", async () => {
    answer = () => new Response(null, { status: 302, headers: { location: `${url()}/elsewhere` } });
    expect((await openai()).message).toBe(`${host()} answered 302, and credentials are not sent on to another address`);
    expect(seen.length).toBe(1);
  });

  test("one that never ends is given up at its size, and its text is not passed on", async () => {
    answer = () => new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(65_536).fill(97)) }), { status: 500 });
    expect(await openai()).toEqual({ status: "failed", message: `${host()} answered more than 64 KiB` });
    answer = () => new Response("internal-only text", { status: 500 });
    expect((await openai()).message).toBe(`${host()} answered 500`);
  });

  test("one that does not come is given up when the time is over", async () => {
    answer = () => new Promise(() => undefined);
    expect((await openai()).message).toBe("nothing was answered within 0.4 s");
  });

  test("nobody listens", async () => {
    const port = await freePort();
    const result = await run("openai", { OPENAI_API_KEY: SECRET, OPENAI_BASE_URL: `http://127.0.0.1:${port}` });
    expect(result).toEqual({ status: "failed", message: expect.stringContaining(`127.0.0.1:${port} cannot be reached: `) });
  });
});

test("there are 18 kinds", () => {
  expect(INTEGRATION_KIND_NAMES.length).toBe(18);
});

describe("databases with a driver", () => {
  test.skipIf(lacksPostgres())(
    "PostgreSQL, also as Redshift is spoken to",
    async () => {
      const { host, port, user, password, database, stop } = await startPostgres();
      try {
        const variables = { PGHOST: host, PGPORT: String(port), PGUSER: user, PGPASSWORD: password, PGDATABASE: database };
        expect((await run("postgresql", variables)).status).toBe("ok");
        const wrong = await run("postgresql", { ...variables, PGPASSWORD: "wrong-password-of-test" });
        expect([wrong.status, wrong.message]).toEqual(["failed", expect.stringContaining("password authentication failed")]);
        expect(wrong.message).not.toContain("wrong-password-of-test");
        const redshift = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name.replace("PG", "REDSHIFT_"), value]));
        expect((await run("redshift", redshift)).status).toBe("ok");
      } finally {
        await stop();
      }
    },
    300_000,
  );

  test.skipIf(lacksMariadb())(
    "MariaDB",
    async () => {
      const { host, port, user, password, database, stop } = await startMariadb();
      try {
        const variables = {
          MYSQL_HOST: host,
          MYSQL_PORT: String(port),
          MYSQL_USER: user,
          MYSQL_PASSWORD: password,
          MYSQL_DATABASE: database,
        };
        expect((await run("mysql", variables)).status).toBe("ok");
        expect((await run("mysql", { ...variables, MYSQL_PASSWORD: "wrong-password-of-test" })).status).toBe("failed");
      } finally {
        await stop();
      }
    },
    300_000,
  );

  test("a server that is silent is given up when the time is over", async () => {
    using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
    const result = await run("postgresql", { PGHOST: "127.0.0.1", PGPORT: String(silent.port), PGSSLMODE: "disable" }, 300);
    expect(result).toEqual({ status: "failed", message: "nothing was answered within 0.3 s" });
  });
});
