import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HealthService } from "../../gen/svc/v1/health_pb.ts";
import { BINARY } from "../harness/sandbox.ts";
import { errorAnswer, type FakeServer, fakeServer, protoAnswer, tokenAnswer } from "./fake-server.ts";
import { tempFolder, testContext } from "./test-context.ts";

const health = HealthService.method.checkHealth.output;
const servers: FakeServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});
function serve(...args: Parameters<typeof fakeServer>): FakeServer {
  const server = fakeServer(...args);
  servers.push(server);
  return server;
}
const credentials = (server: FakeServer, more: Record<string, string> = {}) => ({
  SVC_CLIENT_ID: "client-1",
  SVC_CLIENT_SECRET: "secret-1",
  SVC_API_SERVER: server.url,
  ...more,
});
const check = async (options: Parameters<typeof testContext>[0]) => {
  const { context } = await testContext(options);
  return (await context.api.health()).checkHealth({});
};
/** The exit codes of processes of the binary that make a call each, all at once. */
const exitCodes = (processes: number, home: string, server: FakeServer) => {
  const env = { PATH: process.env.PATH ?? "", HOME: home, SVC_NO_UPDATE_CHECK: "1", ...credentials(server) };
  const children = Array.from({ length: processes }, () =>
    Bun.spawn([BINARY, "healthcheck"], { env, stdin: "ignore", stdout: "ignore", stderr: "ignore" }),
  );
  return Promise.all(children.map((child) => child.exited));
};
const tokenFiles = (home: string) => readdirSync(join(home, ".svc/cache")).filter((name) => name.endsWith(".json"));

describe("tokens", () => {
  test("one exchange serves later commands; the file is private under umask 0", async () => {
    const server = serve({ call: () => protoAnswer(health, {}) });
    const home = tempFolder();
    const before = process.umask(0);
    try {
      for (let i = 0; i < 3; i++) await check({ home, env: credentials(server) });
    } finally {
      process.umask(before);
    }
    expect(server.exchanges()).toBe(1);
    const used = server.requests.filter(({ path }) => path.startsWith("/svc.")).map(({ headers }) => headers.get("authorization"));
    expect(used).toEqual(["Bearer token-1", "Bearer token-1", "Bearer token-1"]);
    const cache = join(home, ".svc/cache");
    expect(statSync(cache).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(cache)) expect(statSync(join(cache, name)).mode & 0o777).toBe(0o600);
    expect(tokenFiles(home).length).toBe(1);
    expect(readFileSync(join(cache, tokenFiles(home)[0] as string), "utf8")).not.toContain("secret-1");
  });

  test("servers, clients and secrets do not share tokens", async () => {
    const [one, two] = [serve({ call: () => protoAnswer(health, {}) }), serve({ call: () => protoAnswer(health, {}) })];
    const home = tempFolder();
    await check({ home, env: credentials(one) });
    await check({ home, env: credentials(two) });
    await check({ home, env: credentials(one, { SVC_CLIENT_ID: "client-2" }) });
    expect([one.exchanges(), two.exchanges()]).toEqual([2, 1]);
    expect(tokenFiles(home).length).toBe(3);
    await check({ home, env: credentials(one, { SVC_CLIENT_SECRET: "another" }) });
    expect(one.exchanges()).toBe(3);
  });

  test("a token is exchanged anew before it ends", async () => {
    const server = serve({ call: () => protoAnswer(health, {}), exchange: (_, count) => tokenAnswer(`token-${count}`, 100) });
    const home = tempFolder();
    let now = Date.parse("2024-05-01T12:00:00Z");
    const clock = { now: () => now, sleep: async () => undefined };
    await check({ home, env: credentials(server), clock });
    now += 89_000;
    await check({ home, env: credentials(server), clock });
    expect(server.exchanges()).toBe(1);
    now += 2_000;
    await check({ home, env: credentials(server), clock });
    expect(server.exchanges()).toBe(2);
  });

  test("a refused token is dropped and exchanged once more", async () => {
    const server = serve({
      call: (request) =>
        request.headers.get("authorization") === "Bearer token-2"
          ? protoAnswer(health, {})
          : errorAnswer(401, "unauthenticated", "token was revoked"),
    });
    const home = tempFolder();
    await check({ home, env: credentials(server) });
    expect(server.exchanges()).toBe(2);
    await check({ home, env: credentials(server) });
    expect(server.exchanges()).toBe(2);
  });

  test("a second refusal is exit 4 with `svc login`, after exactly two tries", async () => {
    const server = serve({ call: () => errorAnswer(401, "unauthenticated", "no such client") });
    await expect(check({ env: credentials(server) })).rejects.toMatchObject({ exitCode: 4, hint: expect.stringContaining("svc login") });
    expect(server.requests.filter(({ path }) => path.startsWith("/svc.")).length).toBe(2);
    expect(server.exchanges()).toBe(2);
  });

  test("rejected credentials are exit 4 and name where they came from", async () => {
    const server = serve({ exchange: () => Response.json({ error: "invalid_client" }, { status: 401 }) });
    const failed = check({ env: credentials(server) });
    await expect(failed).rejects.toMatchObject({ exitCode: 4, code: "credentials_rejected", hint: expect.stringContaining("svc login") });
    await expect(failed).rejects.toThrow("environment variable SVC_CLIENT_SECRET");
  });

  test("no credentials are exit 4 without a request", async () => {
    const server = serve();
    await expect(check({ env: { SVC_API_SERVER: server.url } })).rejects.toMatchObject({ exitCode: 4 });
    expect(server.requests).toEqual([]);
  });

  test("an access token is used as it is, and nothing is exchanged or kept", async () => {
    const server = serve({ call: () => protoAnswer(health, {}) });
    const home = tempFolder();
    await check({ home, env: { SVC_API_SERVER: server.url, SVC_ACCESS_TOKEN: "given-token" } });
    expect(server.requests.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer given-token"]);
    expect(existsSync(join(home, ".svc/cache"))).toBe(false);
  });

  test("a symbolic link in the cache is refused", async () => {
    const server = serve({ call: () => protoAnswer(health, {}) });
    const home = tempFolder();
    await check({ home, env: credentials(server) });
    const cache = join(home, ".svc/cache");
    const path = join(cache, tokenFiles(home)[0] as string);
    const target = join(home, "stolen");
    await Bun.file(path).delete();
    writeFileSync(target, "");
    symlinkSync(target, path);
    await expect(check({ home, env: credentials(server) })).rejects.toMatchObject({ code: "symlink_refused" });
    expect(readFileSync(target, "utf8")).toBe("");
  });

  test("a damaged file is exchanged over, not an error", async () => {
    const server = serve({ call: () => protoAnswer(health, {}) });
    const home = tempFolder();
    await check({ home, env: credentials(server) });
    const path = join(home, ".svc/cache", tokenFiles(home)[0] as string);
    for (const text of ["", "{", '{"format":1}', "\0\0\0"]) {
      writeFileSync(path, text);
      await check({ home, env: credentials(server) });
    }
    expect(server.exchanges()).toBe(5);
  });

  test("commands work where the cache cannot be written", async () => {
    const server = serve({ call: () => protoAnswer(health, {}) });
    const home = tempFolder();
    mkdirSync(join(home, ".svc"));
    writeFileSync(join(home, ".svc/cache"), "a file where the folder would be");
    await check({ home, env: credentials(server) });
    await check({ home, env: credentials(server) });
    expect(server.exchanges()).toBe(2);
  });

  test("20 processes at once make one exchange", async () => {
    const server = serve({
      call: (request) =>
        request.headers.get("authorization") === "Bearer token-1" ? protoAnswer(health, {}) : errorAnswer(401, "unauthenticated", "old"),
      exchange: async (_, count) => {
        await Bun.sleep(100);
        return tokenAnswer(`token-${count}`);
      },
    });
    const home = tempFolder();
    expect(await exitCodes(20, home, server)).toEqual(Array(20).fill(0));
    expect(server.exchanges()).toBe(1);
  }, 300_000);

  test("20 processes whose token was revoked make one more exchange", async () => {
    let revoked = false;
    const server = serve({
      call: (request) =>
        request.headers.get("authorization") === (revoked ? "Bearer token-2" : "Bearer token-1")
          ? protoAnswer(health, {})
          : errorAnswer(401, "unauthenticated", "revoked"),
    });
    const home = tempFolder();
    await check({ home, env: credentials(server) });
    revoked = true;
    expect(await exitCodes(20, home, server)).toEqual(Array(20).fill(0));
    expect(server.exchanges()).toBe(2);
  }, 300_000);

  test("doctor's work: cached tokens are removed and counted, other files stay", async () => {
    const server = serve({ call: () => protoAnswer(health, {}) });
    const home = tempFolder();
    await check({ home, env: credentials(server) });
    await check({ home, env: credentials(server, { SVC_CLIENT_ID: "client-2" }) });
    writeFileSync(join(home, ".svc/cache/other.txt"), "kept");
    const { context } = await testContext({ home });
    expect(await context.http.forgetTokens()).toBe(2);
    expect(await context.http.forgetTokens()).toBe(0);
    expect(existsSync(join(home, ".svc/cache/other.txt"))).toBe(true);
  });
});
