/** The document of the HTTP API: a validator takes it, it has every path, and answers are what it says. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { ENDPOINTS } from "../../../src/server/wire/router.ts";
import { lacks } from "../../harness/needs.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";

const folder = new TempFolder();
let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start(folder.path);
  expectLive(await deploy(server, GREETING));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const documentOf = async () => (await (await fetch(`${server.url}/v1/openapi.json`)).json()) as Document;

/** Endpoints that are no part of the API: pages, protocols of their own, addresses that are handed out. */
const OTHERS = [
  ...["/", "/docs", "/docs/", "/v1/", "/login/oidc", "/login/oidc/callback", "/metrics", "/v1/objects/", "/v1/notebook-outputs/"],
  ...["/v1/traces", "/v1/logs", "/v1/metrics", "/v1/shells", "/v1/sandboxes/exec", "/mcp"],
  ...["/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp"],
  ...["/v1/oauth/register", "/v1/oauth/authorize"],
];

test("every endpoint is in it, and every one of it is there", async () => {
  const { paths } = await documentOf();
  const said = new Set(
    Object.keys(paths)
      .filter((path) => !path.startsWith("/svc."))
      .map((path) => path.replace(/\{.*|uploads$/, "")),
  );
  const there = new Set(Object.keys(ENDPOINTS).filter((path) => !OTHERS.includes(path)));
  expect([...said].sort()).toEqual([...there].sort());
});

const hasValidator = Bun.spawnSync(["python3", "-c", "import openapi_spec_validator"], { stderr: "ignore" }).success;

test.skipIf(lacks("openapi-spec-validator", hasValidator))(
  "a validator takes it, and answers are what it says",
  async () => {
    const document = await documentOf();
    const authorization = `Bearer ${await server.token()}`;
    const answers: [path: string, method: string, status: number, answer: unknown][] = [];
    const ask = async (method: string, path: string, body?: object, named = path): Promise<unknown> => {
      const response = await fetch(server.url + path, {
        method: method.toUpperCase(),
        headers: { authorization, "content-type": "application/json" },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      const answer: unknown = await response.json();
      answers.push([named, method, response.status, answer]);
      return answer;
    };
    const { clientId: client_id, clientSecret: client_secret } = server.credentials;
    for (const path of ["/health", "/health/ready", "/v1/openapi.json", "/v1/who-am-i", "/v1/branches"]) await ask("get", path);
    await ask("post", "/v1/oauth/token", { grant_type: "client_credentials", client_id, client_secret });
    await ask("post", "/v1/oauth/token", { grant_type: "client_credentials", client_id, client_secret: "wrong" });
    await ask("post", "/v1/query/online", {
      inputs: { "user.id": 5 },
      outputs: ["user.name", "user.greeting"],
      include_meta: true,
      explain: true,
    });
    await ask("post", "/v1/query/online", { inputs: { "user.id": "x" }, outputs: ["user.nmae"] });
    await ask("post", "/v1/query/bulk", { inputs: { "user.id": [5, 6] }, outputs: ["user.greeting"], include_meta: true });
    await ask("post", "/v1/query/multi", { queries: [{ inputs: { "user.id": 5 }, outputs: ["user.name"] }, { outputs: ["user.nmae"] }] });
    await ask("post", "/v1/query/plan", { inputs: { "user.id": 5 }, outputs: ["user.greeting"] });
    await ask("post", "/v1/query/expression", { graph: "{}", inputs: { "user.id": 5 }, outputs: ["user.greeting"] });
    await ask("post", "/v1/features/upload", { columns: { "user.id": [1], "user.name": ["Ada"] }, dry_run: true });
    await ask("delete", "/v1/features/rows", { namespace: "user", primary_keys: [1] });
    await ask("delete", "/v1/features/columns", { namespace: "user", features: ["name"] });
    const run = (await ask("post", "/v1/runs", { resolver: "resolvers.get_name" })) as { id?: string };
    await ask("get", `/v1/runs/${run.id ?? "none"}`, undefined, "/v1/runs/{id}");
    await ask("get", "/v1/datasets/none", undefined, "/v1/datasets/{name}");
    await ask("post", "/v1/offline-queries/uploads", { sha256: "0".repeat(64), size_bytes: 10 });
    const offline = (await ask("post", "/v1/offline-queries", { inputs: { "user.id": [5] }, outputs: ["user.greeting"] })) as {
      id?: string;
    };
    for (const part of ["", "/status", "/table"])
      await ask("get", `/v1/offline-queries/${offline.id ?? "none"}${part}`, undefined, `/v1/offline-queries/{id}${part}`);
    for (const method of ["AuthService/WhoAmI", "GraphService/GetGraph", "DeploymentService/ListDeployments", "MetricService/ListMetrics"])
      if (`/svc.v1.${method}` in document.paths) await ask("post", `/svc.v1.${method}`, {});
    expect(answers.filter(([, , status]) => status === 200).length).toBeGreaterThan(12);

    const validating = Bun.spawn(["python3", join(import.meta.dir, "openapi.py")], { stdin: "pipe", stdout: "pipe", stderr: "pipe" });
    validating.stdin.write(JSON.stringify({ document, answers }));
    await validating.stdin.end();
    const [out, err, code] = await Promise.all([
      new Response(validating.stdout).text(),
      new Response(validating.stderr).text(),
      validating.exited,
    ]);
    expect([code, out, err]).toEqual([0, "", ""]);
  },
  300_000,
);
