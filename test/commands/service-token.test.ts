/** Service tokens, permissions and access tokens through the real server and the commands. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PERMISSION_NAMES, ROLES } from "../../src/domain/permissions.ts";
import { exchange, openSession } from "../harness/browser-session.ts";
import { type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

interface Token {
  readonly id: string;
  readonly name: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly permissions: readonly string[];
  readonly environment_ids: readonly string[];
  readonly expires_at: string | null;
}

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
  const db = new Database(join(platform.home, "data/meta.db"));
  const { project_id } = db.query("select project_id from environment").get() as { project_id: string };
  db.query("insert into environment (id, name, project_id, created_at) values ('env_2', 'staging', ?, 1)").run(project_id);
  db.close();
});
afterAll(() => platform.server.stop());

const as = (token: Token): Record<string, string> => ({
  ...platform.env,
  SVC_CLIENT_ID: token.client_id,
  SVC_CLIENT_SECRET: token.client_secret,
});
const svc = (words: string, env: Record<string, string> = platform.env): Promise<Outcome> => {
  const [first = "", ...rest] = words.split(" ");
  return runCommand(first, rest, { home: platform.home, env });
};
const make = async (words: string, env?: Record<string, string>): Promise<Token> =>
  (await svc(`service-token create --json ${words}`, env)).json() as Token;
const access = (token: Token) => exchange(platform.url, token.client_id, token.client_secret);
const rpc = (method: string, token: string, body: object = {}, headers: Record<string, string> = {}) =>
  fetch(`${platform.url}/svc.v1.${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify(body),
  });

/** A call as a page makes it, with the headers of a browser session. */
const rpcOfPage = (method: string, session: Readonly<Record<string, string>>, headers: Record<string, string> = {}) =>
  fetch(`${platform.url}/svc.v1.${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: platform.url, ...session, ...headers },
    body: "{}",
  });

describe("service tokens", () => {
  test("one is made with a secret that is shown once, works, and is stored nowhere", async () => {
    const made = await svc("service-token create --name ci --role developer");
    const [, id = "", secret = ""] = /^Client ID: +(client_\w+)\nClient secret: +(svcs_\S+)\n$/.exec(made.stdout) ?? [];
    expect(await exchange(platform.url, id, secret)).toMatch(/^ey/);
    const listed = (await svc("service-token list --json")).json() as { service_tokens: Token[] };
    const token = listed.service_tokens.find(({ client_id }) => client_id === id);
    expect(token).toMatchObject({
      name: "ci",
      permissions: ["read", "query.online", "query.offline", "data.write", "telemetry.write", "deploy"],
      environment_ids: [],
      expires_at: null,
    });
    expect(token?.id).toMatch(/^st_/);
    const table = (await svc("service-tokens list")).stdout;
    expect(table.split("\n")[0]).toMatch(/^ID +Name +Client ID +Permissions +Created$/);
    expect(JSON.stringify(listed) + table).not.toContain(secret);
    for (const name of readdirSync(join(platform.home, "data")))
      if (name.startsWith("meta.db")) expect(readFileSync(join(platform.home, "data", name)).includes(secret)).toBe(false);
  });

  test("names and limits change, permissions at once, also of access tokens that it has", async () => {
    const made = await make("--name build --permission read,deploy");
    const token = await access(made);
    const upload = { sha256: "0".repeat(64), sizeBytes: 1 };
    expect((await rpc("DeploymentService/CreateUpload", token, upload)).status).toBe(200);
    const changed = await svc(`token service update ${made.client_id} --name builder --permission read`);
    expect(changed.stdout).toBe("Updated service token 'builder'\n");
    expect((await rpc("DeploymentService/CreateUpload", token, upload)).status).toBe(403);
    expect((await rpc("EnvironmentService/ListEnvironments", token)).status).toBe(200);
    await svc(`service-token update ${made.id} --limit-to staging --expires 2099-01-01`);
    const limited = (await svc(`service-token update ${made.id} --name b --json`)).json() as Token;
    expect(limited).toMatchObject({ name: "b", environment_ids: ["env_2"], expires_at: "2099-01-01T00:00:00.000000Z" });
    const free = (await svc(`service-token update ${made.id} --all-environments --never-expires --json`)).json() as Token;
    expect(free).toMatchObject({ environment_ids: [], expires_at: null, permissions: ["read"] });
  });

  test("deleting one asks, and ends it at once: its secret, its access tokens, its browser sessions", async () => {
    const made = await make("--name gone --role admin");
    const token = await access(made);
    const { headers } = await openSession(platform.url, token);
    const asked = await svc(`service-token delete ${made.id}`);
    expect([asked.exitCode, asked.stderr]).toEqual([1, expect.stringContaining("refused at once")]);
    expect((await rpc("AuthService/WhoAmI", token)).status).toBe(200);
    expect((await svc(`service-token delete ${made.id} --yes`)).stdout).toBe("Deleted service token 'gone'\n");
    expect((await rpc("AuthService/WhoAmI", token)).status).toBe(401);
    expect((await rpcOfPage("AuthService/WhoAmI", headers)).status).toBe(401);
    expect((await svc("user", as(made))).exitCode).toBe(4);
    const again = await svc(`service-token delete ${made.id} --yes`);
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining("There is no service token")]);
  });

  test("one that ended is refused, and its access tokens end with it", async () => {
    const made = await make("--name brief --permission read --expires 2099-01-01");
    const token = await access(made);
    const db = new Database(join(platform.home, "data/meta.db"));
    db.query("update client set expires_at = ? where id = ?").run(1, made.client_id);
    db.close();
    await make("--name other --permission read");
    await svc(`service-token update ${made.id} --name brief2`);
    expect((await rpc("AuthService/WhoAmI", token)).status).toBe(401);
    expect(await access(made)).toBeUndefined();
    const past = await svc("service-token create --name past --permission read --expires 2020-01-01");
    expect([past.exitCode, past.stderr]).toEqual([1, expect.stringContaining("would have ended already")]);
  });

  test("nobody gives, changes or takes more than they have", async () => {
    const giver = await make("--name giver --permission tokens.write,read --expires 2098-01-01");
    const admin = await make("--name boss --role admin");
    const refused = async (words: string, why: string) => {
      const { exitCode, stderr } = await svc(`service-token ${words}`, as(giver));
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining(why)]);
    };
    await refused("create --name x --permission deploy --expires 2097-01-01", "deploy");
    await refused("create --name x --role admin --expires 2097-01-01", "admin");
    await refused("create --name x --permission read", "lasts longer");
    await refused("create --name x --permission read --expires 2099-01-01", "lasts longer");
    await refused(`update ${admin.id} --name mine`, "admin");
    await refused(`delete ${admin.id} --yes`, "admin");
    const given = await make("--name given --permission read --expires 2097-01-01", as(giver));
    await refused(`update ${given.id} --permission secrets.read`, "secrets.read");
    await refused(`update ${given.id} --never-expires`, "lasts longer");
    expect(given.permissions).toEqual(["read"]);
    expect((await svc(`service-token delete ${given.id} --yes`, as(giver))).exitCode).toBe(0);
    expect((await svc("service-token list", as(given))).exitCode).toBe(4);
  });

  test("a browser session that may only read makes none, whatever its client may", async () => {
    const admin = await make("--name reader --role admin");
    const { headers } = await openSession(platform.url, await access(admin), { readOnly: true });
    const made = await fetch(`${platform.url}/svc.v1.ServiceTokenService/CreateServiceToken`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ name: "x", permissions: ["read"] }),
    });
    expect(made.status).toBe(403);
  });

  test("what cannot be is refused with what to do", async () => {
    const cases: [words: string, exitCode: number, said: string][] = [
      ["create --name x", 2, "--permission or --role"],
      ["create --permission read", 2, "--name"],
      ["create --name x --permission reed", 1, "read"],
      ["create --name x --role king", 2, "viewer"],
      ["create --name x --permission read --limit-to nowhere", 1, "nowhere"],
      ["create --name x --permission audit.read --limit-to staging", 1, "audit.read"],
      ["update st_0 --name y", 1, "There is no service token"],
      ["update st_0", 2, "nothing to change"],
      ["update --name y", 2, "<id>"],
      ["delete", 2, "<id>"],
    ];
    for (const [words, exitCode, said] of cases) {
      const outcome = await svc(`service-token ${words}`);
      expect([words, outcome.exitCode, outcome.stderr]).toEqual([words, exitCode, expect.stringContaining(said)]);
    }
    const long = await rpc("ServiceTokenService/CreateServiceToken", await exchangeOwn(), { name: "x".repeat(201), permissions: ["read"] });
    expect(long.status).toBe(400);
  });
});

const exchangeOwn = () => exchange(platform.url, platform.env.SVC_CLIENT_ID ?? "", platform.env.SVC_CLIENT_SECRET ?? "");

describe("a service token that is limited to an environment", () => {
  const limited = () => make("--name limited --role operator --limit-to staging");

  test("reaches it, also without naming it, and no other by name, id or header", async () => {
    const made = await limited();
    expect(made.permissions).not.toContain("audit.read");
    const token = await access(made);
    const where = async (environment?: string) => {
      const response = await rpc("AuthService/WhoAmI", token, {}, environment === undefined ? {} : { "svc-environment": environment });
      return response.ok ? ((await response.json()) as { environmentId: string }).environmentId : response.status;
    };
    expect(await Promise.all([where(), where("staging"), where("env_2")])).toEqual(["env_2", "env_2", "env_2"]);
    expect(await Promise.all([where("default"), where(platform.environmentId), where("nowhere")])).toEqual([403, 403, 403]);
    const other = await rpc("AuthService/WhoAmI", token, {}, { "svc-environment": "default" });
    const none = await rpc("AuthService/WhoAmI", token, {}, { "svc-environment": "nowhere" });
    const said = async (response: Response) => ((await response.json()) as { message: string }).message;
    expect((await said(other)).replace("default", "nowhere")).toBe(await said(none));
  });

  test("sees no other in lists, token exchanges and pages", async () => {
    const made = await limited();
    const token = await access(made);
    const { environments } = (await (await rpc("EnvironmentService/ListEnvironments", token)).json()) as { environments: object[] };
    expect(environments).toMatchObject([{ id: "env_2" }]);
    const { headers } = await openSession(platform.url, token);
    const ofPage = (environment: string) => rpcOfPage("GraphService/ListFeatures", headers, { "svc-environment": environment });
    const [other, nowhere] = await Promise.all([ofPage("default"), ofPage("nowhere")]);
    const said = async (response: Response) => ((await response.json()) as { message: string }).message;
    expect((await said(other)).replace("default", "nowhere")).toBe(await said(nowhere));
    expect(await (await ofPage("staging")).text()).not.toContain("nowhere");
    const listed = await (await rpcOfPage("EnvironmentService/ListEnvironments", headers)).text();
    expect([listed.includes("env_2"), listed.includes(platform.environmentId)]).toEqual([true, false]);
    expect((await svc("environment", as(made))).stdout).toBe("staging (env_2)\n");
  });

  test("as an administrator, administers no team", async () => {
    const admin = await make("--name local-admin --role admin --limit-to staging");
    const token = await access(admin);
    const victim = await make("--name victim --permission read");
    expect((await rpc("AuthService/DeleteClient", token, { id: victim.client_id })).status).toBe(404);
    const { clients } = (await (await rpc("AuthService/ListClients", token)).json()) as { clients: { id: string }[] };
    expect(clients.map(({ id }) => id)).toEqual([admin.client_id]);
    for (const method of ["ServiceTokenService/ListServiceTokens", "AuditService/ListAuditLogs", "AuditService/VerifyAuditLog"])
      expect((await rpc(method, token)).status).toBe(403);
    const login = (await (await rpc("AuthService/CreateLoginSession", token, { deviceName: "d" })).json()) as { loginSessionId: string };
    const { headers } = await openSession(platform.url, token);
    const page = await (await fetch(`${platform.url}/cli/${login.loginSessionId}`, { headers })).text();
    expect(page).not.toContain("csrf");
  });
});

test("an administrator's service token that ends gives no login, which would not end", async () => {
  const brief = await make("--name brief-admin --role admin --expires 2099-01-01");
  const token = await access(brief);
  const login = (await (await rpc("AuthService/CreateLoginSession", token, { deviceName: "d" })).json()) as Record<string, string>;
  const { headers } = await openSession(platform.url, token);
  const address = `${platform.url}/cli/${login.loginSessionId}`;
  const csrf = /name="csrf" value="([^"]+)"/.exec(await (await fetch(address, { headers })).text())?.[1] ?? "";
  const body = new URLSearchParams({ csrf, decision: "all" });
  const decided = await fetch(address, { method: "POST", headers: { ...headers, origin: platform.url }, body });
  expect(decided.status).toBe(403);
  const { loginSessionId, sessionSecret } = login;
  const state = (await (await rpc("AuthService/GetLoginSession", token, { loginSessionId, sessionSecret })).json()) as Record<
    string,
    string
  >;
  expect(state).toEqual({ status: "LOGIN_SESSION_STATUS_PENDING" });
});

test("permissions and roles are listed as they are", async () => {
  const { stdout } = await svc("permissions list");
  expect(stdout.split("\n")[0]).toMatch(/^Permission +Description$/);
  for (const { name } of ROLES) expect(stdout).toContain(`Role ${name}: `);
  const listed = (await svc("token permissions --json")).json() as { permissions: { name: string }[]; roles: object[] };
  expect(listed.permissions.map(({ name }) => name)).toEqual([...PERMISSION_NAMES]);
  expect(listed.roles).toMatchObject(ROLES.map(({ name, permissions }) => ({ name, permissions: [...permissions] })));
});

describe("svc token", () => {
  test("prints an access token that works, and nothing else", async () => {
    const { stdout, stderr } = await svc("token");
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(stderr).toBe("");
    expect((await rpc("AuthService/WhoAmI", stdout.trim())).status).toBe(200);
    const json = (await svc("token get --json")).json() as Record<string, string>;
    expect(Object.keys(json)).toEqual(["access_token", "expires_at", "token_type"]);
    expect(json).toMatchObject({ token_type: "Bearer", expires_at: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect((await svc("token --access-token abc")).stdout).toBe("abc\n");
    const nobody = await runCommand("token", [], { home: platform.home, env: { SVC_API_SERVER: platform.url } });
    expect([nobody.exitCode, nobody.stdout]).toEqual([4, ""]);
  });
});
