/**
 * Who may call what: every method and every plain HTTP path with every permission, as the contract
 * states it, decided before any of the body is read.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type DescFile, type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Permission, permission } from "../../../gen/svc/v1/options_pb.ts";
import { ServiceTokenService } from "../../../gen/svc/v1/service_token_pb.ts";
import { PERMISSION_NAMES, type PermissionName } from "../../../src/domain/permissions.ts";
import { ENDPOINTS } from "../../../src/server/wire/router.ts";
import { exchange, openSession } from "../../harness/browser-session.ts";
import { sendRaw } from "../../harness/raw-request.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";

const GEN = join(import.meta.dir, "../../../gen/svc/v1");

/** What opens a method, as the contract's option reads; apart from the server's own table. */
const OPENED_BY: Readonly<Record<number, PermissionName>> = {
  [Permission.READ]: "read",
  [Permission.QUERY_ONLINE]: "query.online",
  [Permission.DEPLOY]: "deploy",
  [Permission.ADMIN]: "admin",
  [Permission.AUDIT_READ]: "audit.read",
  [Permission.SECRETS_READ]: "secrets.read",
  [Permission.SECRETS_WRITE]: "secrets.write",
  [Permission.TRAFFIC_WRITE]: "traffic.write",
  [Permission.SETTINGS_WRITE]: "settings.write",
  [Permission.INFRA_WRITE]: "infra.write",
  [Permission.TOKENS_WRITE]: "tokens.write",
  [Permission.APPROVE]: "approve",
  [Permission.QUERY_OFFLINE]: "query.offline",
  [Permission.DATA_WRITE]: "data.write",
  [Permission.TELEMETRY_WRITE]: "telemetry.write",
  [Permission.SHELL]: "shell",
  [Permission.CONTAINERS_WRITE]: "containers.write",
};

/** Permissions that credentials cannot use that are limited to some environments. */
const TEAM_WIDE: readonly PermissionName[] = ["audit.read", "infra.write", "tokens.write", "admin"];

/**
 * What opens each plain HTTP path. Readiness is told to anyone without credentials, and its reasons
 * to those who may read.
 */
const HTTP: Readonly<
  Record<string, { readonly method: string; readonly opensTo: PermissionName | "anyone" | "authenticated" | "signed" }>
> = {
  "/health": { method: "GET", opensTo: "anyone" },
  "/health/ready": { method: "GET", opensTo: "read" },
  "/metrics": { method: "GET", opensTo: "read" },
  "/mcp": { method: "POST", opensTo: "authenticated" },
  "/.well-known/oauth-protected-resource/mcp": { method: "GET", opensTo: "anyone" },
  "/.well-known/oauth-authorization-server": { method: "GET", opensTo: "anyone" },
  "/v1/query/online": { method: "POST", opensTo: "query.online" },
  "/v1/query/bulk": { method: "POST", opensTo: "query.online" },
  "/v1/query/multi": { method: "POST", opensTo: "query.online" },
  "/v1/query/plan": { method: "POST", opensTo: "query.online" },
  "/v1/query/expression": { method: "POST", opensTo: "query.online" },
  "/v1/shells": { method: "GET", opensTo: "shell" },
  "/v1/sandboxes/exec": { method: "GET", opensTo: "containers.write" },
  "/v1/traces": { method: "POST", opensTo: "telemetry.write" },
  "/v1/logs": { method: "POST", opensTo: "telemetry.write" },
  "/v1/metrics": { method: "POST", opensTo: "telemetry.write" },
  "/v1/features/upload": { method: "POST", opensTo: "data.write" },
  "/v1/features/rows": { method: "DELETE", opensTo: "deploy" },
  "/v1/features/columns": { method: "DELETE", opensTo: "deploy" },
  "/v1/branches": { method: "GET", opensTo: "read" },
  "/v1/oauth/token": { method: "POST", opensTo: "anyone" },
  "/v1/oauth/register": { method: "POST", opensTo: "anyone" },
  "/v1/oauth/authorize": { method: "GET", opensTo: "anyone" },
  "/v1/openapi.json": { method: "GET", opensTo: "anyone" },
  "/login/oidc": { method: "GET", opensTo: "anyone" },
  "/login/oidc/callback": { method: "GET", opensTo: "anyone" },
  "/v1/who-am-i": { method: "GET", opensTo: "authenticated" },
  "/v1/offline-queries": { method: "POST", opensTo: "query.offline" },
  "/v1/offline-queries/": { method: "GET", opensTo: "query.offline" },
  "/v1/runs": { method: "POST", opensTo: "deploy" },
  "/v1/runs/": { method: "GET", opensTo: "read" },
  "/v1/datasets/": { method: "GET", opensTo: "read" },
  "/v1/objects/": { method: "GET", opensTo: "signed" },
  "/v1/notebook-outputs/": { method: "GET", opensTo: "signed" },
  "/docs": { method: "GET", opensTo: "anyone" },
  "/docs/": { method: "GET", opensTo: "anyone" },
  "/v1/": { method: "GET", opensTo: "anyone" },
  "/": { method: "GET", opensTo: "read" },
};

/** A page that the server makes, for the path that stands for all pages. */
const PAGE = "/cli/login_0";

/**
 * Methods that concern no environment, the caller's own credentials and the server itself, and
 * those that answer with what is of all environments that the caller may know of.
 */
const NO_ENVIRONMENT = [
  ...["AnnounceValueFile", "CreateUpload", "ListClients", "ListPermissions", "ListSessions", "SendFeedback", "TestCluster"],
  ...["DescribeOnlineStore", "GetCluster", "GetVersion", "ListClusters", "ListRates"],
  ...["ListEnvironments", "ListEvents", "ListJobs", "ListPods", "ListProjects"],
];

/** Methods that read what belongs to the whole team, in whatever environment. */
const OF_THE_TEAM = ["ListCloudAccounts", "ListStorageConfigs", "GetStorageConfig", "ExportMetrics"];

/** Credentials with one permission, or none. */
interface Holder {
  readonly holds: PermissionName | undefined;
  readonly token: string;
}

const methods: DescMethod[] = [];
const folder = new TempFolder();
let server: TestServer;
let holders: Holder[];
let limited: Holder[];

beforeAll(async () => {
  for (const name of readdirSync(GEN)) {
    const module = (await import(join(GEN, name))) as Record<string, DescFile>;
    const file = module[`file_svc_v1_${name.replace("_pb.ts", "")}`];
    for (const service of file?.services ?? []) methods.push(...service.methods);
  }
  server = await TestServer.start(folder.path);
  await server.server.ready;
  const db = new Database(join(folder.path, "data/meta.db"));
  db.run("insert into environment (id, name, project_id, created_at) select 'env_2', 'staging', project_id, 1 from environment");
  const tokens = server.client(ServiceTokenService);
  const make = async (holds: PermissionName | undefined, environments: string[]): Promise<Holder> => {
    const { clientSecret, serviceToken } = await tokens.createServiceToken({ name: holds ?? "none", permissions: ["read"], environments });
    const id = serviceToken?.clientId ?? "";
    db.query("update client set permissions = ? where id = ?").run(JSON.stringify(holds ? [holds] : []), id);
    return { holds, token: await exchange(server.url, id, clientSecret) };
  };
  const each = [undefined, ...PERMISSION_NAMES];
  holders = await Promise.all(each.map((holds) => make(holds, [])));
  limited = await Promise.all(each.map((holds) => make(holds, ["staging"])));
  db.close();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const isOpenTo = (stated: Permission, holds: PermissionName | undefined): boolean =>
  stated === Permission.AUTHENTICATED || (holds !== undefined && (holds === "admin" || OPENED_BY[stated] === holds));

const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`;
const headersOf = ({ methodKind }: DescMethod, token?: string): Record<string, string> => ({
  "content-type": methodKind === "unary" ? "application/proto" : "application/connect+proto",
  "connect-protocol-version": "1",
  ...(token !== undefined && { authorization: `Bearer ${token}` }),
});

/** The code of a call with a body that is no message, so that nothing is run for it. */
async function tryMessage(method: DescMethod, token?: string): Promise<string> {
  const body = method.methodKind === "unary" ? new Uint8Array([0xff]) : new Uint8Array([0, 0, 0, 0, 1, 0xff]);
  const response = await fetch(server.url + pathOf(method), { method: "POST", headers: headersOf(method, token), body });
  return /"code":"(\w+)"/.exec(await response.text())?.[1] ?? "ok";
}

/** The code of a call that announces a body and sends none of it: an answer needed no body. */
async function refusedUnread(method: DescMethod, token?: string): Promise<string> {
  const { text } = await sendRaw(server.url, { path: pathOf(method), headers: { ...headersOf(method, token), "content-length": "1000" } });
  return /"code":"(\w+)"/.exec(text)?.[1] ?? text;
}

describe("every method with every permission", () => {
  test("opens to those who hold what the contract states, and refuses all others before it reads the body", async () => {
    expect(methods.length).toBeGreaterThan(35);
    let [opened, refused] = [0, 0];
    for (const method of methods) {
      const stated = getOption(method, permission);
      if (stated === Permission.PUBLIC) {
        expect([method.name, await tryMessage(method)]).toEqual([method.name, "invalid_argument"]);
        continue;
      }
      expect([method.name, await refusedUnread(method)]).toEqual([method.name, "unauthenticated"]);
      for (const { holds, token } of holders) {
        const isOpen = isOpenTo(stated, holds);
        const code = isOpen ? await tryMessage(method, token) : await refusedUnread(method, token);
        expect([method.name, holds, code]).toEqual([method.name, holds, isOpen ? "invalid_argument" : "permission_denied"]);
        if (isOpen) opened++;
        else refused++;
      }
    }
    expect(opened).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(250);
  }, 300_000);

  test("stays shut to credentials that are limited to an environment where it concerns the whole team", async () => {
    for (const method of methods) {
      const stated = getOption(method, permission);
      if (stated === Permission.PUBLIC) continue;
      const needed = OPENED_BY[stated];
      for (const { holds, token } of limited) {
        const isOpen = isOpenTo(stated, holds) && !(needed && TEAM_WIDE.includes(needed));
        const code = isOpen ? await tryMessage(method, token) : await refusedUnread(method, token);
        expect([method.name, holds, code]).toEqual([method.name, holds, isOpen ? "invalid_argument" : "permission_denied"]);
      }
    }
  });

  test("reaches no other environment with limited credentials", async () => {
    const admin = limited.find(({ holds }) => holds === "admin")?.token;
    const call = async (method: DescMethod, environment: string): Promise<string> => {
      const body = method.methodKind === "unary" ? new Uint8Array(0) : new Uint8Array(5);
      const headers = { ...headersOf(method, admin), "svc-environment": environment };
      const response = await fetch(server.url + pathOf(method), { method: "POST", headers, body });
      const text = method.methodKind === "unary" ? await response.text() : await beginning(response);
      return /"code":"(\w+)"/.exec(text)?.[1] ?? "ok";
    };
    /** The first message of a stream, which may have no end of its own. */
    const beginning = async ({ body }: Response): Promise<string> => {
      const reader = body?.getReader();
      const first = await reader?.read();
      await reader?.cancel();
      return new TextDecoder().decode(first?.value);
    };
    let asked = 0;
    for (const method of methods) {
      const stated = getOption(method, permission);
      if (stated === Permission.PUBLIC || NO_ENVIRONMENT.includes(method.name) || TEAM_WIDE.includes(OPENED_BY[stated] as PermissionName))
        continue;
      if (method.parent.typeName === "svc.v1.AuthService" && method.name !== "WhoAmI") continue;
      if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) {
        asked++;
        const ofTeam = OF_THE_TEAM.includes(method.name);
        if (ofTeam) expect([method.name, await call(method, "staging")]).toEqual([method.name, "permission_denied"]);
        else expect([method.name, await call(method, "staging")]).not.toEqual([method.name, "permission_denied"]);
        if ((await call(method, "staging")) === "invalid_argument") expect(await call(method, "default")).not.toBe("ok");
        else expect([method.name, await call(method, "default")]).toEqual([method.name, "permission_denied"]);
      } else expect([method.name, await call(method, "default")]).not.toEqual([method.name, "ok"]);
    }
    expect(asked).toBeGreaterThan(10);
  });
});

describe("every plain HTTP path with every permission", () => {
  test("has a row in this table", () => expect(Object.keys(ENDPOINTS).sort()).toEqual(Object.keys(HTTP).sort()));

  test.each(Object.entries(HTTP))("%s", async (path, { method, opensTo }) => {
    const answer = async (headers: Record<string, string>, announced = false): Promise<number> => {
      if (announced) return (await sendRaw(server.url, { method, path, headers: { ...headers, "content-length": "1000" } })).status;
      return (await fetch(server.url + (path === "/" ? PAGE : path), { method, headers, ...(method === "POST" && { body: "?" }) })).status;
    };
    if (opensTo === "signed") {
      for (const { token } of holders) expect(await answer({ authorization: `Bearer ${token}` })).toBe(403);
      return;
    }
    if (opensTo === "anyone") {
      for (const { token } of holders) expect([401, 403]).not.toContain(await answer({ authorization: `Bearer ${token}` }));
      expect([401, 403]).not.toContain(await answer({}));
      return;
    }
    const isPage = path === "/";
    if (!isPage) expect(await answer({}, method === "POST")).toBe(path === "/health/ready" ? 200 : 401);
    for (const { holds, token } of holders) {
      const headers = isPage ? (await openSession(server.url, token)).headers : { authorization: `Bearer ${token}` };
      const isOpen = opensTo === "authenticated" || holds === opensTo || holds === "admin";
      const status = await answer(headers, !isOpen && method === "POST");
      if (isOpen) expect([401, 403]).not.toContain(status);
      else expect([holds, status]).toEqual([holds, 403]);
    }
  });
});

test("two clients with different permissions at once each get what is theirs", async () => {
  const [reader, deployer] = [holders.find(({ holds }) => holds === "read"), holders.find(({ holds }) => holds === "deploy")];
  const status = async (method: string, token = "") => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const body = JSON.stringify(method.endsWith("Upload") ? { sha256: "0".repeat(64), sizeBytes: 1 } : {});
    return (await fetch(`${server.url}/svc.v1.${method}`, { method: "POST", headers, body })).status;
  };
  const calls = Array.from({ length: 100 }, () => [
    status("EnvironmentService/ListEnvironments", reader?.token),
    status("EnvironmentService/ListEnvironments", deployer?.token),
    status("DeploymentService/CreateUpload", reader?.token),
    status("DeploymentService/CreateUpload", deployer?.token),
  ]);
  for (const answers of await Promise.all(calls.map((four) => Promise.all(four)))) expect(answers).toEqual([200, 403, 403, 200]);
});
