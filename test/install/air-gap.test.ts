/**
 * A team without a way to the network: one machine is the mirror, the others install, update, roll
 * back and uninstall from it.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AirGap, lacksAirGap, SERVER_ADDRESS } from "../harness/air-gap.ts";
import { lacksProgram } from "../harness/needs.ts";
import { type BuiltFeed, builtFeed, linkOrCopy } from "../harness/release-feed.ts";
import { Sandbox } from "../harness/sandbox.ts";

const isAbsent = lacksAirGap() || lacksProgram("curl", "strace");

const PORT = 5757;
const MIRROR = `http://${SERVER_ADDRESS}:${PORT}`;
const PROJECT = {
  "svc.yaml": "project: people\nenvironments:\n  default: {}\n",
  "features.py":
    'from svc import online\nfrom svc.features import features\n\n@features\nclass User:\n    id: int\n    name: str\n\n@online\ndef get_name(id: User.id) -> User.name:\n    return f"user {id}"\n',
};

describe.skipIf(isAbsent)("without a route", () => {
  const root = isAbsent ? "" : mkdtempSync(join(tmpdir(), "svc-air-"));
  const home = join(root, "home");
  const env = { HOME: home, PATH: process.env.PATH ?? "", SHELL: "/bin/sh", LANG: "C.UTF-8", CI: "1" };
  let feed: BuiltFeed;
  let gap: AirGap;
  let team: Sandbox;

  const onServer = (args: readonly string[], cwd = team.work) =>
    gap.run("server", [team.binary, ...args], { env: { ...team.env, CI: "1" }, cwd });
  const onClient = (argv: readonly string[], more: Record<string, string> = {}) =>
    gap.run("client", argv, { env: { ...env, ...more }, cwd: home });
  const svc = (...args: string[]) => onClient([join(home, ".svc/bin/svc"), ...args]);
  const current = async () => (await svc("version", "--tag-only")).stdout.trim();
  const installer = (...args: string[]) => onClient(["sh", "-c", `curl -fsSL ${MIRROR}/install.sh | sh -s -- "$@"`, "sh", ...args]);

  beforeAll(async () => {
    mkdirSync(home);
    feed = await builtFeed();
    team = new Sandbox();
    rmSync(team.binary);
    linkOrCopy(join(feed.dir, "latest", `svc-${feed.target}`), team.binary);
    gap = await AirGap.open(join(root, "ready"));
    const started = await onServer(["server", "start", "--detach", "--releases", feed.dir, "--host", "0.0.0.0", "--port", String(PORT)]);
    expect([started.exitCode, started.stderr]).toEqual([0, expect.not.stringContaining("Error")]);
  }, 600_000);
  afterAll(async () => {
    if (gap) {
      await onServer(["server", "stop"]);
      await gap[Symbol.asyncDispose]();
    }
    await team?.[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });

  test("there is no way out", async () => {
    for (const side of ["server", "client"] as const) {
      const { stdout } = await gap.run(side, ["ip", "route", "show", "default"], { env });
      expect(stdout).toBe("");
    }
  });

  test("other machines reach the releases and nothing else", async () => {
    const get = async (path: string, ...more: string[]) =>
      (await onClient(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", ...more, `${MIRROR}${path}`])).stdout;
    for (const path of ["/install.sh", "/changelog.md", "/index.json", "/latest/manifest.json", `/releases/v0.1.0/svc-${feed.target}.zst`])
      expect([path, await get(path, "-r", "0-9")]).toEqual([path, expect.stringMatching(/^20[06]$/)]);
    const host = ["-H", `Host: 127.0.0.1:${PORT}`];
    for (const path of ["/", "/health", "/v1/who-am-i", "/svc.v1.AuthService/GetToken", "/cli/login_0"])
      expect([path, await get(path), await get(path, ...host)]).toEqual([path, "403", "403"]);
    expect(await get("/v1/oauth/token", "-X", "POST", "-H", "content-type: application/json", "-d", "{}", ...host)).toBe("403");
    const script = await onClient(["curl", "-s", `${MIRROR}/install.ps1`]);
    expect(script.stdout).toContain(`\n$BASE_URL = "${MIRROR}"`);
    const page = await onClient(["curl", "-s", `${MIRROR}/latest/svc-windows-386`]);
    expect(page.stdout).toContain("There is no svc for 32-bit Windows");
  });

  test("install, update, roll back, forward again, uninstall", async () => {
    const installed = await installer("--version", "v0.1.0");
    expect([installed.exitCode, installed.stdout + installed.stderr]).toEqual([0, expect.stringContaining("v0.1.0")]);
    expect(await current()).toBe("v0.1.0");
    expect(JSON.parse(readFileSync(join(home, ".svc/bin/.svc-install.json"), "utf8"))).toMatchObject({ source: MIRROR });

    const releases = JSON.parse((await svc("releases", "list", "--json")).stdout) as unknown;
    expect(JSON.stringify(releases)).toContain("v0.3.0");
    const updated = await svc("update");
    expect([updated.exitCode, updated.stdout + updated.stderr]).toEqual([0, expect.stringContaining("v0.3.0")]);
    expect(await current()).toBe("v0.3.0");
    expect((await svc("changelog")).stdout).toMatch(/^#|v?0\.\d\.0/);

    const back = await svc("update", "--rollback");
    expect([back.exitCode, await current()]).toEqual([0, "v0.1.0"]);
    expect((await installer()).exitCode).toBe(0);
    expect(await current()).toBe("v0.3.0");

    const removed = await installer("--uninstall");
    expect(removed.exitCode).toBe(0);
    expect(existsSync(join(home, ".svc/bin")) ? readdirSync(join(home, ".svc/bin")) : []).toEqual([]);
  }, 300_000);

  test("the machine of the mirror deploys and queries on the same server", async () => {
    const project = await team.write(PROJECT);
    const applied = await onServer(["apply", "--force", "--await"], project);
    expect([applied.exitCode, applied.stderr]).toEqual([0, expect.not.stringContaining("Error")]);
    const query = await onServer(["query", "--in", "user.id=7", "--out", "user.name"], project);
    expect([query.exitCode, query.stdout]).toEqual([0, expect.stringContaining("user 7")]);
  }, 300_000);

  test.each([
    ["an address without a route", ["user", "--api-host", "http://192.0.2.1:5757"]],
    ["a name", ["user", "--api-host", "https://svc.example"]],
    ["a name, for a query", ["query", "--in", "user.id=1", "--out", "user.name", "--api-host", "https://svc.example"]],
    ["a name, for an update", ["update", "--from", "https://releases.example"]],
  ])("what needs the network fails without waiting for an answer, and in a line: %s", async (_name, args) => {
    const credentials = args.includes("--api-host") ? ["--client-id", "id", "--client-secret", "secret"] : [];
    const outcome = await gap.run("client", [team.binary, ...args, ...credentials], { env, cwd: home });
    expect(outcome.exitCode).not.toBe(0);
    expect(outcome.stderr.split("\n").filter((line) => line.startsWith("Error"))).toHaveLength(1);
    expect(outcome.stderr).not.toMatch(/\n\s+at .*[(:]\d+:\d+/);
    expect(outcome.stderr).not.toContain("no answer within");
  });

  test("the list of releases is what this machine knows, with a note and without waiting for an answer", async () => {
    const listed = await gap.run("client", [team.binary, "releases", "list", "--from", "http://192.0.2.1"], { env, cwd: home });
    expect(listed.stdout + listed.stderr).not.toContain("no answer within");
    expect([listed.exitCode, listed.stdout + listed.stderr]).toEqual([0, expect.stringContaining("192.0.2.1")]);
    expect(listed.stdout).toContain("v0.3.0");
  });

  test("what does not need it looks for no host: no name is asked for and no address connected to", async () => {
    const project = await team.write({ ...PROJECT, "tests.md": "" }, "local");
    const commands = [
      ["version"],
      ["version", "--tag-only"],
      ["--help"],
      ["help", "apply"],
      ["completion", "bash"],
      ["config"],
      ["files"],
      ["project"],
      ["init"],
      ["lint", "--local"],
      ["update", "--list"],
    ];
    for (const args of commands) {
      const trace = join(root, "trace");
      const traced = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", trace];
      const { exitCode, stderr } = await gap.run("client", [...traced, team.binary, ...args], {
        env: env,
        cwd: project,
      });
      expect([args, exitCode, stderr.includes("Error")]).toEqual([args, 0, false]);
      const attempts = readFileSync(trace, "utf8")
        .split("\n")
        .filter((line) => /AF_INET|htons/.test(line));
      expect([args, attempts]).toEqual([args, []]);
    }
  }, 300_000);
});
