import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readEntries, updateEntry } from "../../src/config/file.ts";
import { tempFolder, testContext } from "../client/test-context.ts";
import { callAuth, decideLogin, exchange, makeEntry, openSession, redeem } from "../harness/browser-session.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform.server.stop());

const admin = async () => exchange(platform.url, platform.env.SVC_CLIENT_ID ?? "", platform.env.SVC_CLIENT_SECRET ?? "");

/** A client of its own, confirmed by the administrator. */
async function newClient(decision: "all" | "read" = "all", deviceName = "device"): Promise<{ id: string; secret: string }> {
  const created = await (await callAuth(platform.url, "CreateLoginSession", { deviceName })).json();
  const { loginSessionId, sessionSecret, url } = created as Record<string, string>;
  await decideLogin(url ?? "", await openSession(platform.url, await admin()), decision);
  const got = (await (await callAuth(platform.url, "GetLoginSession", { loginSessionId, sessionSecret })).json()) as Record<string, string>;
  return { id: got.clientId ?? "", secret: got.clientSecret ?? "" };
}

/** A home folder that is logged in as a client of its own. */
async function loggedIn(decision: "all" | "read" = "all"): Promise<{ home: string; id: string; secret: string; file: string }> {
  const home = tempFolder();
  const { id, secret } = await newClient(decision);
  const done = await runCommand("login", ["--client-id", id, "--client-secret", secret, "--api-host", platform.url], { home });
  expect(done.exitCode).toBe(0);
  return { home, id, secret, file: join(home, ".config/svc.yml") };
}

const whoAmI = async (headers: Readonly<Record<string, string>>) => (await callAuth(platform.url, "WhoAmI", {}, headers)).status;

describe("svc logout", () => {
  test("takes the client back: its token, its secret, its entries and its browsers are refused at once", async () => {
    const { home, id, secret, file } = await loggedIn();
    const token = await exchange(platform.url, id, secret);
    const session = await openSession(platform.url, token);
    const code = await makeEntry(platform.url, token);
    const bearer = { authorization: `Bearer ${token}` };
    expect(await Promise.all([whoAmI(bearer), whoAmI(session.headers)])).toEqual([200, 200]);
    await runCommand("user", [], { home });
    expect(readdirSync(join(home, ".svc/cache")).filter((name) => name.endsWith(".json"))).toHaveLength(1);
    const done = await runCommand("logout", ["--json"], { home });
    expect(done.json()).toEqual({ client_id: id, deleted: true, ended_sessions: 1, config_file: file, config_keys: ["default"] });
    expect(await Promise.all([whoAmI(bearer), whoAmI(session.headers)])).toEqual([401, 401]);
    expect(await redeem(platform.url, code).catch(String)).toContain("not_found");
    const again = await runCommand("login", ["--client-id", id, "--client-secret", secret, "--api-host", platform.url], { home });
    expect(again.exitCode).toBe(4);
    expect(readdirSync(join(home, ".svc/cache")).filter((name) => name.endsWith(".json"))).toEqual([]);
    expect((await runCommand("user", [], { home })).exitCode).toBe(4);
    const query = await fetch(`${platform.url}/v1/query/online`, { method: "POST", headers: bearer, body: "{}" });
    expect(query.status).toBe(401);
  });

  test("removes every entry of the client, and keeps the others and the comments", async () => {
    const { home, id, secret, file } = await loggedIn();
    const dir = writeProject();
    const { context } = await testContext({ home });
    await updateEntry(context.flags, context.surroundings, dir, { clientId: id, clientSecret: secret, apiServer: platform.url });
    await updateEntry(context.flags, context.surroundings, "/other", { clientId: "x", clientSecret: "y", apiServer: "http://127.0.0.1:1" });
    await updateEntry(context.flags, context.surroundings, "/same-id", {
      clientId: id,
      clientSecret: "y",
      apiServer: "http://127.0.0.1:1",
    });
    writeFileSync(file, `# mine\n${readFileSync(file, "utf8")}`);
    const done = await runCommand("logout", [], { home, dir });
    expect(done.stdout).toStartWith(`Took back the credentials of ${id}.\nRemoved default, ${dir} from ${file}.`);
    expect([...(await readEntries(file)).keys()]).toEqual(["/other", "/same-id"]);
    expect(readFileSync(file, "utf8")).toStartWith("# mine\n");
  });

  test("--sessions ends the client's browsers and keeps the login", async () => {
    const { home, id, secret } = await loggedIn();
    const token = await exchange(platform.url, id, secret);
    const own = [await openSession(platform.url, token), await openSession(platform.url, token, { readOnly: true })];
    const other = await openSession(platform.url, await admin());
    expect((await runCommand("logout", ["--sessions"], { home })).stdout).toBe("Ended 2 browser sessions.\n");
    expect(await Promise.all([...own, other].map(({ headers }) => whoAmI(headers)))).toEqual([401, 401, 200]);
    expect((await runCommand("user", [], { home })).exitCode).toBe(0);
  });

  test("--client takes another client back for an administrator, and for nobody else", async () => {
    const victim = await newClient();
    const reader = await loggedIn("read");
    const refused = await runCommand("logout", ["--client", victim.id], { home: reader.home });
    expect([refused.exitCode, refused.stderr.includes("svc logout --list")]).toEqual([1, true]);
    expect(await exchange(platform.url, victim.id, victim.secret)).toBeString();
    const { home, file } = await loggedIn();
    const done = await runCommand("logout", ["--client", victim.id], { home });
    expect(done.stdout).toBe(`Took back the credentials of ${victim.id}.\n`);
    expect(await exchange(platform.url, victim.id, victim.secret)).toBeUndefined();
    expect((await readEntries(file)).has("default")).toBe(true);
    expect((await runCommand("logout", ["--client", victim.id], { home })).exitCode).toBe(1);
  });

  test("--list shows an administrator everybody, and others themselves", async () => {
    const { home, id, secret } = await loggedIn("read");
    await openSession(platform.url, await exchange(platform.url, id, secret));
    const own = (await runCommand("logout", ["--list", "--json"], { home })).json() as Record<string, Record<string, unknown>[]>;
    expect(own.clients).toEqual([
      {
        id,
        name: "device",
        permissions: ["read"],
        current: true,
        created_at: expect.any(String),
        last_used_at: expect.any(String),
        parent_id: "",
        is_person: false,
        expires_at: null,
      },
    ]);
    expect(own.sessions).toEqual([
      {
        id: expect.stringMatching(/^ses_/),
        client_id: id,
        client_name: "device",
        created_at: expect.any(String),
        last_used_at: expect.any(String),
        expires_at: expect.any(String),
        read_only: true,
        user_agent: expect.stringContaining("Bun"),
      },
    ]);
    const all = await runCommand("logout", ["--list"], { home: platform.home, env: platform.env });
    expect(all.stdout).toContain(id);
    expect(all.stdout).toMatch(/^client \(this one\) +client_\w+ +first start /m);
    expect(all.stdout).not.toContain(secret);
  });

  test("a connection that breaks leaves it open whether the server did it: nothing is removed, and that is said", async () => {
    const { home, id, file } = await loggedIn();
    using breaking = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: (socket) => void socket.end() } });
    const { context } = await testContext({ home });
    await updateEntry(context.flags, context.surroundings, "default", { apiServer: `http://127.0.0.1:${breaking.port}` });
    const refused = await runCommand("logout", [], { home });
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain("the server may still hold the client, and nothing was removed here");
    expect(refused.stderr).toContain("svc logout --local");
    expect((await readEntries(file)).get("default")?.clientId).toBe(id);
  });

  test("without the server nothing is removed; --local forgets, and says that the server does not", async () => {
    const { home, id, file } = await loggedIn();
    const { context } = await testContext({ home });
    await updateEntry(context.flags, context.surroundings, "default", { apiServer: "http://127.0.0.1:1" });
    const refused = await runCommand("logout", [], { home });
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain("the server still holds the client, and nothing was removed here");
    expect(refused.stderr).toContain("svc logout --local");
    expect((await readEntries(file)).get("default")?.clientId).toBe(id);
    const done = await runCommand("logout", ["--local"], { home });
    expect(done.stdout).toStartWith(`Forgot ${id}.\n`);
    expect(done.stderr).toContain("The server still holds");
    expect((await readEntries(file)).size).toBe(0);
  });

  test("a client that the server knows no longer is forgotten here", async () => {
    const { home, id, file } = await loggedIn();
    await callAuth(platform.url, "DeleteClient", { id }, { authorization: `Bearer ${await admin()}` });
    const done = await runCommand("logout", [], { home });
    expect([done.exitCode, done.stdout]).toEqual([0, `Forgot ${id}.\nRemoved default from ${file}.\n`]);
    expect(done.stderr).toContain("no longer");
  });

  test("nothing to log out of is said, and flags that contradict are refused", async () => {
    const home = tempFolder();
    expect((await runCommand("logout", [], { home })).exitCode).toBe(4);
    expect(existsSync(join(home, ".config"))).toBe(false);
    expect((await runCommand("logout", ["--list", "--local"], { home })).exitCode).toBe(2);
  });
});
