import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { main } from "../../src/cli/run.ts";
import { readEntries } from "../../src/config/file.ts";
import { tempFolder, testRun } from "../client/test-context.ts";
import { decideLogin, exchange, openSession, redeem } from "../harness/browser-session.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform.server.stop());

const secret = () => platform.env.SVC_CLIENT_SECRET ?? "";
const run = (path: string, words: readonly string[] = [], options: Parameters<typeof runCommand>[2] = {}) =>
  runCommand(path, words, { home: platform.home, env: platform.env, ...options });
const withCredentials = () => ["--client-id", platform.env.SVC_CLIENT_ID ?? "", "--client-secret", secret(), "--api-host", platform.url];

describe("login with a client ID and secret", () => {
  test("takes the secret from stdin", async () => {
    const id = platform.env.SVC_CLIENT_ID ?? "";
    const words = ["--client-id", id, "--client-secret-stdin", "--api-host", platform.url];
    const home = tempFolder();
    const done = await runCommand("login", words, { home, input: [secret()] });
    expect([done.exitCode, (await readEntries(join(home, ".config/svc.yml"))).get("default")?.clientSecret]).toEqual([0, secret()]);
    for (const wrong of [["--client-secret-stdin"], [...words, "--client-secret", "x"]])
      expect((await runCommand("login", wrong, { home, input: [secret()] })).exitCode).toBe(2);
  });

  test("checks them, stores them privately as the default, and later commands use them", async () => {
    const home = tempFolder();
    const done = await runCommand("login", [...withCredentials(), "--json"], { home });
    expect(done.exitCode).toBe(0);
    const file = join(home, ".config/svc.yml");
    expect(done.json()).toEqual({
      client_id: platform.env.SVC_CLIENT_ID,
      environment: platform.environmentId,
      api_server: platform.url,
      config_file: file,
      config_key: "default",
      secret_in: "file",
    });
    expect(done.stdout + done.stderr).not.toContain(secret());
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await readEntries(file)).get("default")).toEqual({
      name: "test-host",
      clientId: platform.env.SVC_CLIENT_ID,
      clientSecret: secret(),
      apiServer: platform.url,
      activeEnvironment: platform.environmentId,
    });
    expect((await runCommand("user", [], { home })).exitCode).toBe(0);
  });
  test("under the name of a profile they are beside others, and of use with that name alone", async () => {
    const home = tempFolder();
    const dir = writeProject();
    const done = await runCommand("login", [...withCredentials(), "--profile", "staging"], { home, dir });
    expect(done.stdout).toContain("Stored as the profile staging in ");
    expect((await runCommand("user", ["--profile", "staging"], { home })).exitCode).toBe(0);
    expect((await runCommand("user", [], { home, dir })).exitCode).toBe(4);
    const unknown = await runCommand("user", ["--profile", "stagign"], { home });
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining("did you mean 'staging'?")]);
    expect((await runCommand("config", ["--profile", "stagign"], { home })).exitCode).toBe(1);
    const listed = await runCommand("config/profiles", ["--json"], { home, env: { SVC_PROFILE: "staging" } });
    expect(listed.json()).toEqual({
      profiles: [
        {
          name: "staging",
          api_server: platform.url,
          environment: platform.environmentId,
          client_id: platform.env.SVC_CLIENT_ID,
          secret_in: "file",
          used: true,
        },
      ],
    });
  });

  test("in a project they belong to it", async () => {
    const home = tempFolder();
    const dir = writeProject();
    const done = await runCommand("login", withCredentials(), { home, dir });
    expect(done.stdout).toContain(dir);
    expect([...(await readEntries(join(home, ".config/svc.yml"))).keys()]).toEqual([dir]);
    expect((await runCommand("user", [], { home, dir })).exitCode).toBe(0);
    expect((await runCommand("user", [], { home })).exitCode).toBe(4);
  });
  test("wrong ones are exit 4 and store nothing", async () => {
    const home = tempFolder();
    const done = await runCommand("login", ["--client-id", "nobody", "--client-secret", "wrong-secret", "--api-host", platform.url], {
      home,
    });
    expect(done.exitCode).toBe(4);
    expect(done.stderr).not.toContain("wrong-secret");
    expect(await Bun.file(join(home, ".config/svc.yml")).exists()).toBe(false);
  });
  test("one without the other is a usage error", async () => {
    expect((await runCommand("login", ["--client-id", "x"])).exitCode).toBe(2);
  });
  test("environment variables that win are told", async () => {
    const done = await runCommand("login", withCredentials(), { env: { SVC_CLIENT_SECRET: "x" } });
    expect(done.stderr).toContain("SVC_CLIENT_SECRET is set and wins");
  });
});

describe("login through the page", () => {
  const press = async (url: string, decision: "all" | "deny") => {
    const { SVC_CLIENT_ID: id = "", SVC_CLIENT_SECRET: secret = "" } = platform.env;
    return decideLogin(url, await openSession(platform.url, await exchange(platform.url, id, secret)), decision);
  };
  const answering = (decision: "all" | "deny", opened: string[]) => ({
    openUrl: async (url: string) => {
      opened.push(url);
      return (await press(url, decision)).ok;
    },
  });
  test("confirmed: credentials of its own are stored", async () => {
    const home = tempFolder();
    const opened: string[] = [];
    const done = await runCommand("login", ["--no-prompt", "--api-host", platform.url], { home, machine: answering("all", opened) });
    expect(done.exitCode).toBe(0);
    expect(opened.length).toBe(1);
    expect(done.stderr).toContain(opened[0] as string);
    expect(opened[0]).toMatch(new RegExp(`^${platform.url}/cli/`));
    const entry = (await readEntries(join(home, ".config/svc.yml"))).get("default");
    expect(entry?.clientId).not.toBe(platform.env.SVC_CLIENT_ID);
    expect(entry?.activeEnvironment).toBe(platform.environmentId);
    expect((await runCommand("user", [], { home })).exitCode).toBe(0);
  });
  test("denied: exit 4, nothing is stored", async () => {
    const home = tempFolder();
    const done = await runCommand("login", ["--no-prompt", "--api-host", platform.url], { home, machine: answering("deny", []) });
    expect(done.exitCode).toBe(4);
    expect(done.stderr).toContain("refused on the page");
    expect(await Bun.file(join(home, ".config/svc.yml")).exists()).toBe(false);
  });
  test("without a terminal the URL is printed, nothing is asked or opened, and the command waits", async () => {
    const opened: string[] = [];
    const home = tempFolder();
    const clock = {
      now: Date.now,
      sleep: async () => {
        const url = /http:\S+\/cli\/\S+/.exec(login.stderr())?.[0];
        if (url) await press(url, "all");
      },
    };
    const login = testRun({ home, clock, machine: answering("all", opened) });
    expect(await main(["login", "--api-host", platform.url, "--json"], login.deps)).toBe(0);
    const said = login.stderr();
    const done = JSON.parse(login.stdout()) as { environment: string };
    expect(done.environment).toBe(platform.environmentId);
    expect(opened).toEqual([]);
    expect(said).not.toContain("[y/n]");
    expect(said).toMatch(/^Confirm the login [A-Z]{4}-[A-Z]{4} on this page:$/m);
    expect(said).toMatch(
      /^Confirm it in a browser that is logged in to this server, or let its owner run `svc dashboard \/cli\/login_\w+`\.$/m,
    );
  });
  /**
   * Opens the address that a command asks to open: the entrance's code gives the session that
   * decides.
   */
  const entering = (opened: string[]) => ({
    openUrl: async (url: string, options?: { privately?: string }) => {
      opened.push(`${options?.privately ?? "openly"} ${url}`);
      const fragment = new URLSearchParams(new URL(url).hash.slice(1));
      const session = await redeem(platform.url, fragment.get("code") ?? "");
      return (await decideLogin(new URL(fragment.get("to") ?? "", url).href, session, "all")).ok;
    },
  });
  test("the owner of the server, who can read its data directory, is let in to confirm", async () => {
    const home = tempFolder();
    const opened: string[] = [];
    const words = ["--no-prompt", "--api-host", platform.url, "--data-dir", join(platform.home, "data")];
    const done = await runCommand("login", words, { home, machine: entering(opened) });
    expect(done.exitCode).toBe(0);
    expect(opened).toEqual([
      expect.stringMatching(new RegExp(`^${home}/.svc/browser ${platform.url}/enter#code=[\\w-]{32}&to=%2Fcli%2Flogin_`)),
    ]);
    expect(done.stderr).not.toContain("let its owner run");
    expect((await runCommand("user", [], { home })).exitCode).toBe(0);
  });
  test("an earlier login that still works is enough, and is sent to its own server only", async () => {
    const home = tempFolder();
    await runCommand("login", withCredentials(), { home });
    const opened: string[] = [];
    const words = ["--no-prompt", "--api-host", platform.url];
    expect((await runCommand("login", words, { home, machine: entering(opened) })).exitCode).toBe(0);
    expect(opened).toHaveLength(1);
    const asked: string[] = [];
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        asked.push(`${new URL(request.url).pathname} ${await request.text()}`);
        return new Response(null, { status: 404 });
      },
    });
    const elsewhere = ["--no-prompt", "--api-host", `http://127.0.0.1:${other.port}`, "--data-dir", join(platform.home, "data")];
    expect((await runCommand("login", elsewhere, { home, machine: entering(opened) })).exitCode).toBe(1);
    await other.stop(true);
    expect(asked.map((one) => one.split(" ")[0])).toEqual(["/svc.v1.AuthService/CreateLoginSession"]);
  });
  test("a session that nobody confirms ends", async () => {
    let now = Date.now();
    const clock = {
      now: () => now,
      sleep: async () => {
        now += 60_000;
      },
    };
    const done = await runCommand("login", ["--api-host", platform.url], { clock });
    expect([done.exitCode, done.stderr.includes("not confirmed in time")]).toEqual([4, true]);
  });
});

describe("environment", () => {
  test("shows the active one", async () => {
    expect((await run("environment")).stdout).toBe(`default (${platform.environmentId})\n`);
    expect((await run("environment", ["--json"])).json()).toEqual({ id: platform.environmentId, name: "default" });
  });
  test("stores another choice by name or id", async () => {
    for (const name of ["default", platform.environmentId]) {
      const home = tempFolder();
      const done = await run("environment", [name, "--json"], { home });
      expect(done.json()).toEqual({ id: platform.environmentId, name: "default", config_file: join(home, ".config/svc.yml") });
      expect(readFileSync(join(home, ".config/svc.yml"), "utf8")).toContain(platform.environmentId);
    }
  });
  test("works although the stored one is gone", async () => {
    const env = { ...platform.env, SVC_ENVIRONMENT: "env_gone" };
    const done = await run("environment", ["default"], { home: tempFolder(), env });
    expect(done.exitCode).toBe(0);
    expect(done.stderr).toContain("SVC_ENVIRONMENT names 'env_gone' and wins");
  });
  test("an unknown name lists what there is", async () => {
    const done = await run("environment", ["defualt"]);
    expect(done.exitCode).toBe(1);
    expect(done.stderr).toContain("did you mean 'default'?");
    expect(done.stderr).toContain(`Available: default (${platform.environmentId})`);
  });
});

describe("config", () => {
  test("the table: rows in order, the secret masked, a source for each", async () => {
    const lines = (await run("config")).stdout.trimEnd().split("\n");
    expect(lines.map((line) => line.split(/ {2,}/)[0])).toEqual([
      "Name",
      "Client ID",
      "Client Secret",
      "Environment",
      "Environment Name",
      "API Server",
      "GRPC API Server",
      "Gateway",
      "Query Server",
    ]);
    expect(lines[2]).toContain(`********${secret().slice(-4)}`);
    expect(lines.join("\n")).not.toContain(secret());
    expect(lines.slice(1).map((line) => line.split(/ {2,}/).at(-1))).toEqual([
      "SVC_CLIENT_ID",
      "SVC_CLIENT_SECRET",
      "service",
      "service",
      "SVC_API_SERVER",
      "service",
      "service",
      "service",
    ]);
  });
  test("json, by either flag", async () => {
    for (const words of [["--json"], ["--format", "json"]]) {
      expect((await run("config", words)).json()).toEqual({
        client_id: { value: platform.env.SVC_CLIENT_ID, source: "SVC_CLIENT_ID" },
        client_secret: { value: secret(), source: "SVC_CLIENT_SECRET" },
        environment: { value: platform.environmentId, source: "service" },
        environment_name: { value: "default", source: "service" },
        api_server: { value: platform.url, source: "SVC_API_SERVER" },
        grpc_api_server: { value: platform.server.grpcUrl, source: "service" },
        gateway: { value: platform.server.gatewayUrl, source: "service" },
        query_server: { value: platform.url, source: "service" },
      });
    }
    expect((await run("config", ["--json", "--format", "env"])).exitCode).toBe(2);
  });
  test("env and shell can be read by a shell, also with special characters", async () => {
    const odd = 'a\'b $(touch x) "c"';
    const env = { SVC_CLIENT_ID: odd, SVC_ENVIRONMENT: "e1", SVC_API_SERVER: "http://127.0.0.1:1" };
    for (const format of ["env", "shell"]) {
      const { stdout } = await runCommand("config", ["--format", format], { env });
      expect(stdout.split("\n").map((line) => line.split("=")[0])).toEqual(
        ["SVC_CLIENT_ID", "SVC_CLIENT_SECRET", "SVC_ENVIRONMENT", "SVC_API_SERVER", ""].map((name) =>
          format === "shell" && name ? `export ${name}` : name,
        ),
      );
      const shell = Bun.spawnSync(["sh", "-c", `${stdout}\nprintf '%s|%s' "$SVC_CLIENT_ID" "$SVC_API_SERVER"`], { env: {} });
      expect(shell.stdout.toString()).toBe(`${odd}|http://127.0.0.1:1`);
    }
  });
  test("svcpy is a Python call", async () => {
    const { stdout } = await run("config", ["--format", "svcpy"]);
    const python = Bun.which("python3");
    if (!python) throw new Error("python3 is needed for this test");
    const checked = Bun.spawnSync(
      [python, "-c", `import svc.client\nsvc.client.SvcClient = lambda **k: k\n${stdout}\nprint(sorted(client), client["client_secret"])`],
      { env: { PATH: process.env.PATH, PYTHONPATH: join(import.meta.dir, "../../src/sdk"), PYTHONDONTWRITEBYTECODE: "1" } },
    );
    expect(checked.stdout.toString().trim()).toBe(`['api_server', 'client_id', 'client_secret', 'environment'] ${secret()}`);
  });
  test("works without a server and without credentials", async () => {
    const nothing = await runCommand("config", []);
    expect([nothing.exitCode, nothing.stderr]).toEqual([0, ""]);
    expect(nothing.stdout).toMatch(/Client ID +- +empty/);
    const unreachable = await runCommand("config", ["--api-host", "http://127.0.0.1:1"], {
      env: { SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "bbbb" },
    });
    expect(unreachable.exitCode).toBe(0);
    expect(unreachable.stderr).toContain("connection refused");
  });
});

describe("small ones", () => {
  test("user", async () => {
    expect((await run("user")).stdout).toMatch(
      /^User: +\S+\nName: +first start\nEnvironment: +env_\S+\nTeam: +team_\S+\nExpires: +never\n$/,
    );
    expect((await run("user", ["--json"])).json()).toMatchObject({ environment: platform.environmentId });
  });
  test("healthcheck", async () => {
    const done = await run("healthcheck");
    expect(done.exitCode).toBe(0);
    const names = done.stdout
      .trimEnd()
      .split("\n")
      .slice(1)
      .map((line) => line.split(/ {2,}/)[0]);
    expect(names).toEqual([
      ...["Metadata DB", "gRPC Client Query", "Logging Client", "Metrics DB", "Push Registry", "Source Bucket"],
      ...["Online Store", "Tile Store", "Offline Store", "Table Engine", "Python Workers", "Topics", "Streams", "Scheduler"],
      ...["Webhook Outbox", "Node Lease"],
    ]);
    expect(done.stdout).toMatch(/Metadata DB +HEALTH_CHECK_STATUS_OK/);
  });
  test("dashboard prints an address that logs a browser in, once", async () => {
    const done = await run("dashboard", ["--no-browser"]);
    const entry = new URL(done.stdout.trim());
    const fragment = new URLSearchParams(entry.hash.slice(1));
    expect([entry.origin, entry.pathname, fragment.get("to")]).toEqual([platform.url, "/enter", `/environments/${platform.environmentId}`]);
    const session = await redeem(platform.url, fragment.get("code") ?? "");
    const page = await fetch(new URL(fragment.get("to") ?? "", entry), { headers: session.headers });
    expect([page.status, page.headers.get("content-type")?.split(";")[0]]).toEqual([200, "text/html"]);
    expect(await redeem(platform.url, fragment.get("code") ?? "").catch(String)).toContain("was used already");
  });
  test("dashboard opens the page that is named, by path or address, and no other server's", async () => {
    const toOf = (done: { stdout: string }) => new URLSearchParams(new URL(done.stdout.trim()).hash.slice(1)).get("to");
    expect(toOf(await run("dashboard", ["/environments/x?from=2#stages", "-n"]))).toBe("/environments/x?from=2#stages");
    expect(toOf(await run("dashboard", [`${platform.url}/cli/login_1`, "-n"]))).toBe("/cli/login_1");
    expect(toOf(await run("dashboard", ["/metrics?e=x", "-n"]))).toBe(`/environments/${platform.environmentId}/metrics?e=x`);
    for (const page of ["https://evil.example/", "//evil.example/x", "/\\\\evil.example"])
      expect([page, (await run("dashboard", [page, "-n"])).exitCode]).toEqual([page, 2]);
  });
  test("dashboard opens the browser on a terminal, through a file that only the user may read", async () => {
    const opened: unknown[] = [];
    const machine = {
      openUrl: async (url: string, options?: { privately?: string }) => {
        opened.push([new URL(url).pathname, options?.privately]);
        return true;
      },
    };
    const home = tempFolder();
    const done = await run("dashboard", ["--read-only"], { home, terminal: true, machine });
    expect(opened).toEqual([["/enter", join(home, ".svc/browser")]]);
    expect(done.stdout).toStartWith(`Opened ${platform.url}/environments/${platform.environmentId}\n`);
    expect(done.stdout).not.toContain("code=");
    expect((await run("dashboard", ["--json"], { terminal: true, machine })).json()).toMatchObject({ opened: false });
  });
  test("commands that need a login say so", async () => {
    for (const path of ["user", "query", "branch/list", "features/list", "healthcheck"]) {
      const words = path === "query" ? ["--in", "user.id=1"] : [];
      const done = await runCommand(path, [...words, "--json"]);
      expect([path, done.exitCode, JSON.parse(done.stderr).error.code]).toEqual([path, 4, "unauthenticated"]);
    }
  });
});
