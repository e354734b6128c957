import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readEntries } from "../../src/config/file.ts";
import { isHeld, readLocalServer } from "../../src/config/local-server.ts";
import { tempFolder } from "../client/test-context.ts";
import { BINARY } from "../harness/sandbox.ts";

const started: { home: string; dataDir: string }[] = [];

async function svc(home: string, words: readonly string[], env: Record<string, string> = {}) {
  const child = Bun.spawn([BINARY, ...words], {
    cwd: home,
    env: { PATH: process.env.PATH ?? "", HOME: home, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, exitCode, json: () => JSON.parse(stdout) as Record<string, unknown> };
}
async function startDetached(home: string, words: readonly string[] = []) {
  const dataDir = words.includes("--data-dir") ? (words[words.indexOf("--data-dir") + 1] ?? "") : join(home, ".svc/data");
  started.push({ home, dataDir });
  return svc(home, ["server", "start", "--detach", "--port", "0", ...words]);
}
afterAll(async () => {
  for (const { home, dataDir } of started) await svc(home, ["server", "stop", "--data-dir", dataDir]);
});

describe("svc server", () => {
  const home = tempFolder();
  let url = "";
  let grpcUrl = "";

  test("status, stop and logs before the first start", async () => {
    expect(await svc(home, ["server", "status"])).toMatchObject({ exitCode: 1, stdout: expect.stringContaining("svc server start") });
    expect((await svc(home, ["server", "stop", "--json"])).json()).toMatchObject({ stopped: false, pid: null });
    expect((await svc(home, ["server", "logs"])).stderr).toContain("no log yet");
  }, 300_000);
  test("start --detach returns when it answers, and the CLI is logged in", async () => {
    const done = await startDetached(home, ["--json"]);
    expect(done.exitCode).toBe(0);
    const said = done.json();
    url = String(said.url);
    grpcUrl = String(said.grpc_url);
    expect(said).toMatchObject({ detached: true, data_dir: join(home, ".svc/data"), logged_in: join(home, ".config/svc.yml") });
    expect(said).not.toHaveProperty("client_secret");
    expect((await fetch(`${url}/health`)).status).toBe(200);
    expect((await svc(home, ["user"])).exitCode).toBe(0);
  }, 300_000);
  test("everything it wrote is private", () => {
    for (const name of [".config/svc.yml", ".svc/data/server.log", ".svc/data/server.json", ".svc/data/server.err", ".svc/data/meta.db"]) {
      expect([name, statSync(join(home, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
    expect(readFileSync(join(home, ".svc/data/server.log"), "utf8")).not.toContain("svcs_");
  });
  test("status says where it runs", async () => {
    const done = await svc(home, ["server", "status", "--json"]);
    expect(done.exitCode).toBe(0);
    expect(done.json()).toMatchObject({ status: "running", url, grpc_url: grpcUrl, data_dir: join(home, ".svc/data") });
    expect((await svc(home, ["server", "status"])).stdout).toContain(`gRPC:    ${grpcUrl}\n`);
  }, 300_000);
  test("a second start on the same data says who holds it", async () => {
    const pid = String((await readLocalServer(join(home, ".svc/data")))?.pid);
    for (const words of [[], ["--detach"]]) {
      const done = await svc(home, ["server", "start", "--port", "0", ...words]);
      expect(done.exitCode).toBe(1);
      expect(done.stderr).toContain(pid);
      expect(done.stderr).toContain("svc server stop");
    }
  }, 300_000);
  test("an allowed host that cannot be one is a usage error", async () => {
    for (const host of ["https://svc.example.com", "a b", "svc.example.com/x", ""]) {
      const done = await svc(home, ["server", "start", "--port", "0", "--data-dir", join(home, "hosts"), "--allowed-host", host]);
      expect([host, done.exitCode, done.stderr.includes("--allowed-host")]).toEqual([host, 2, true]);
    }
    expect(existsSync(join(home, "hosts"))).toBe(false);
  }, 300_000);
  test("a store that is named twice is a usage error, one that cannot be used says who named it, and one elsewhere is used", async () => {
    const dataDir = join(home, "stores");
    const start = (...addresses: string[]) =>
      startDetached(home, ["--data-dir", dataDir, "--json", ...addresses.flatMap((address) => ["--store", address])]);
    const address = `metadata=sqlite:${join(home, "elsewhere", "meta.db")}`;
    expect((await start(address, address)).exitCode).toBe(2);
    const unknown = await start("metadata=redis://localhost");
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining("There is no driver 'redis'")]);
    expect(existsSync(join(dataDir, "server.key"))).toBe(false);
    expect((await start(address)).json()).toMatchObject({ detached: true });
    expect([existsSync(join(home, "elsewhere", "meta.db")), existsSync(join(dataDir, "meta.db"))]).toEqual([true, false]);
    await svc(home, ["server", "stop", "--data-dir", dataDir]);
  }, 300_000);
  test("a port that is in use: who uses it, and what to do", async () => {
    const port = new URL(url).port;
    const svcThere = await svc(home, ["server", "start", "--port", port, "--data-dir", join(home, "two")]);
    expect(svcThere.exitCode).toBe(1);
    expect(svcThere.stderr).toContain(`an svc server`);
    expect(svcThere.stderr).toContain("--port");
    const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("not svc") });
    const otherThere = await svc(home, ["server", "start", "--port", String(other.port), "--data-dir", join(home, "two")]);
    expect(otherThere.stderr).toContain("in use by another program");
    await other.stop(true);
  }, 300_000);
  test("a data directory that cannot be used", async () => {
    writeFileSync(join(home, "file"), "");
    const done = await svc(home, ["server", "start", "--port", "0", "--data-dir", join(home, "file")]);
    expect([done.exitCode, done.stderr.includes("--data-dir")]).toEqual([1, true]);
  }, 300_000);
  test("another first start leaves the stored login and says how to log in", async () => {
    const dataDir = join(home, "second");
    const done = await startDetached(home, ["--data-dir", dataDir]);
    expect(done.exitCode).toBe(0);
    expect(done.stdout).toContain("svc login --api-host http://127.0.0.1:");
    expect((await readEntries(join(home, ".config/svc.yml"))).get("default")?.apiServer).toBe(url);
  }, 300_000);
  test("logs: the last lines, as text and as JSON Lines", async () => {
    const text = await svc(home, ["server", "logs", "--lines", "2"]);
    expect(text.stdout.trimEnd().split("\n").length).toBe(2);
    expect(text.stdout).toMatch(/^\d{4}-\d\d-\d\dT\S+ INFO +request .*path=\/\S+/m);
    const json = await svc(home, ["server", "logs", "--json"]);
    const first = JSON.parse(json.stdout.split("\n")[0] ?? "") as Record<string, unknown>;
    expect(first).toMatchObject({ level: "info", message: "server started", url });
  }, 300_000);
  test("logs --follow prints what comes", async () => {
    const child = Bun.spawn([BINARY, "server", "logs", "--follow", "--lines", "0", "--json"], {
      env: { PATH: process.env.PATH ?? "", HOME: home },
      stdout: "pipe",
      stderr: "ignore",
    });
    const reader = child.stdout.getReader();
    let text = "";
    const seen = (async () => {
      while (!text.includes("/followed")) {
        const { done, value } = await reader.read();
        if (done) break;
        text += new TextDecoder().decode(value);
      }
    })();
    const knock = setInterval(() => void fetch(`${url}/followed`), 100);
    await seen;
    clearInterval(knock);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(text).toContain("/followed");
  }, 300_000);
  test("stop waits until the server has let go", async () => {
    const done = await svc(home, ["server", "stop", "--json"]);
    expect(done.json()).toMatchObject({ stopped: true });
    expect(await isHeld(join(home, ".svc/data"))).toBe(false);
    expect(existsSync(join(home, ".svc/data/server.json"))).toBe(false);
    const after = await svc(home, ["user"]);
    expect(after.exitCode).toBe(1);
    expect(after.stderr).toContain("svc server start");
  }, 300_000);
  test("started again on another port, the stored login follows it", async () => {
    const busy = Bun.serve({ port: Number(new URL(url).port), hostname: "127.0.0.1", fetch: () => new Response("taken") });
    const done = await startDetached(home, ["--json"]);
    const { url: now } = done.json();
    expect(now).not.toBe(url);
    expect((await readEntries(join(home, ".config/svc.yml"))).get("default")?.apiServer).toBe(String(now));
    expect((await svc(home, ["user"])).exitCode).toBe(0);
    await busy.stop(true);
  }, 300_000);
});

test("a note that names another process than the one that answers: nothing is ended", async () => {
  const home = tempFolder();
  const innocent = Bun.spawn(["sleep", "600"]);
  const { url, pid } = (await startDetached(home, ["--json"])).json();
  const note = join(home, ".svc/data/server.json");
  const right = readFileSync(note);
  writeFileSync(note, JSON.stringify({ pid: innocent.pid, url, version: "x", startedAt: "" }));
  const done = await svc(home, ["server", "stop"]);
  expect([done.exitCode, done.stderr]).toEqual([
    1,
    expect.stringContaining(`names process ${innocent.pid}, and the server at ${url} is process ${pid}`),
  ]);
  expect(innocent.exitCode).toBeNull();
  expect((await fetch(`${url}/health`)).status).toBe(200);
  writeFileSync(note, right);
  expect((await svc(home, ["server", "stop", "--json"])).json()).toMatchObject({ stopped: true, pid });
  innocent.kill();
}, 300_000);

test("a lock file that is garbage is named, by every command that looks at it", async () => {
  const home = tempFolder();
  mkdirSync(join(home, ".svc/data"), { recursive: true });
  const lock = join(home, ".svc/data/server.lock");
  writeFileSync(lock, Buffer.alloc(5_000, "x"));
  for (const words of [["status"], ["stop"], ["start", "--port", "0"]]) {
    const { exitCode, stderr } = await svc(home, ["server", ...words]);
    expect([words, exitCode, stderr]).toEqual([words, 1, expect.stringMatching(new RegExp(`${lock} cannot be used: .*\n.*delete`))]);
  }
}, 300_000);

test("in the foreground: a banner, and Ctrl-C ends it cleanly", async () => {
  const home = tempFolder();
  const child = Bun.spawn([BINARY, "server", "start", "--port", "0"], {
    env: { PATH: process.env.PATH ?? "", HOME: home },
    stdout: "pipe",
    stderr: "pipe",
  });
  const reader = child.stdout.getReader();
  let text = "";
  while (!text.includes("Ctrl-C")) {
    const { done, value } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  expect(text).toMatch(/svc server at http:\/\/127\.0\.0\.1:\d+\n/);
  expect(text).toContain("You are logged in to it");
  child.kill("SIGINT");
  expect(await child.exited).toBe(130);
  expect(await isHeld(join(home, ".svc/data"))).toBe(false);
}, 300_000);

test("a note left by a server that was killed counts for nothing", async () => {
  const home = tempFolder();
  mkdirSync(join(home, ".svc/data"), { recursive: true });
  writeFileSync(
    join(home, ".svc/data/server.json"),
    JSON.stringify({ pid: process.pid, url: "http://127.0.0.1:1", version: "x", startedAt: "" }),
  );
  writeFileSync(join(home, ".svc/data/server.lock"), "");
  expect((await svc(home, ["server", "status", "--json"])).json()).toMatchObject({ status: "stopped" });
  expect((await svc(home, ["server", "stop", "--json"])).json()).toMatchObject({ stopped: false });
}, 300_000);
