/**
 * Another user of the same machine: everything that he can reach without the owner's files, he
 * tries; none of it lets him in.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callAuth } from "../harness/browser-session.ts";
import { lacksProgram, lacksRoot } from "../harness/needs.ts";
import { BINARY, Sandbox } from "../harness/sandbox.ts";

describe.skipIf(lacksRoot() || lacksProgram("setpriv", "curl"))("another user of this machine", () => {
  let sandbox: Sandbox;
  let open: string;
  beforeAll(async () => {
    sandbox = new Sandbox();
    const outcome = Bun.spawnSync(["sh", "-c", 'umask 0; exec "$0" server start --detach --port 0 --json', sandbox.binary], {
      cwd: sandbox.work,
      env: sandbox.env,
    });
    if (!outcome.success) throw new Error(outcome.stderr.toString());
    sandbox.url = (JSON.parse(outcome.stdout.toString()) as { url: string }).url;
    open = mkdtempSync(join(tmpdir(), "svc-other-"));
    mkdirSync(join(open, "home"));
    copyFileSync(BINARY, join(open, "svc"));
    for (const path of [open, join(open, "svc")]) chmodSync(path, 0o755);
    chmodSync(join(open, "home"), 0o777);
    // Folders are opened to everybody, so that the files' own rights are what protects them.
    for (const folder of ["", "home", "home/.svc", "home/.svc/data", "home/.config"]) chmodSync(join(sandbox.root, folder), 0o755);
  }, 300_000);
  afterAll(async () => {
    await sandbox?.[Symbol.asyncDispose]();
    if (open) rmSync(open, { recursive: true, force: true });
  });

  /** The words that run a program as the user nobody, with nothing of the owner's environment. */
  const asOther = (argv: readonly string[]) => [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "env",
    "-i",
    `PATH=${process.env.PATH}`,
    `HOME=${join(open, "home")}`,
    ...argv,
  ];
  const run = async (...argv: string[]) => {
    const child = Bun.spawn(asOther(argv), { stdin: "ignore", stdout: "pipe", stderr: "pipe", cwd: "/", timeout: 300_000 });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { exitCode: await child.exited, stdout, stderr };
  };
  const curl = async (path: string, ...words: string[]) => {
    const { stdout } = await run("curl", "-s", "-w", "\n%{http_code}", ...words, new URL(path, sandbox.url).href);
    const [, body = "", status = ""] = /^([\s\S]*)\n(\d+)$/.exec(stdout) ?? [];
    return { body, status: Number(status) };
  };
  const clients = async () => (await sandbox.json<{ clients: unknown[] }>(["logout", "--list"])).clients.length;

  /** Starts `svc login`, and gives what it said until it waits. */
  async function startLogin(argv: readonly string[], env?: Record<string, string>) {
    const child = Bun.spawn([...argv], { stdin: "ignore", stdout: "ignore", stderr: "pipe", ...(env ? { env } : {}), cwd: "/" });
    let said = "";
    const decoder = new TextDecoder();
    const reader = child.stderr.getReader();
    while (!/let its owner run.*\n|%2Fcli%2Flogin_\w+\n/.test(said)) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`the login ended: ${said}`);
      said += decoder.decode(value, { stream: true });
    }
    reader.releaseLock();
    return { child, said };
  }

  test("cannot confirm his own login: not by the page, not by a forged Origin, not with the page's own token", async () => {
    const before = await clients();
    const { child, said } = await startLogin(asOther([join(open, "svc"), "login", "-y", "--api-host", sandbox.url]));
    try {
      expect(said).toContain("or let its owner run `svc dashboard /cli/login_");
      const path = new URL(/http\S+\/cli\/\w+/.exec(said)?.[0] ?? "").pathname;
      const code = /Confirm the login (\S+) on/.exec(said)?.[1] ?? "?";
      const page = await curl(path, "-c", join(open, "home/jar"));
      expect([page.status, page.body.includes(code)]).toEqual([200, false]);
      const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)?.[1] ?? "";
      for (const decision of ["confirm", "all"]) {
        for (const headers of [[], ["-H", "svc-page-key: svcb_x"], ["-H", "X-Forwarded-For: 127.0.0.1", "-H", "svc-page-key: "]]) {
          const answer = await curl(
            path,
            ...["-b", join(open, "home/jar"), "-H", `Origin: ${sandbox.url}`, ...headers],
            ...["--data", `csrf=${encodeURIComponent(csrf)}&decision=${decision}`],
          );
          expect([path, answer.status]).toEqual([path, 401]);
        }
      }
      expect(child.exitCode).toBeNull();
      expect(await clients()).toBe(before);
    } finally {
      child.kill();
      await child.exited;
    }
  }, 300_000);

  test("sees no page, calls no method, and guesses no code", async () => {
    const config = await sandbox.json<Record<string, { value: string }>>(["config"]);
    const environment = config.environment?.value ?? "?";
    for (const path of ["/", `/environments/${environment}`, "/enter"]) {
      const { body } = await curl(path, "-H", "svc-page-key: svcb_x", "-b", `svc_session_${new URL(sandbox.url).port}=svcb_x`);
      expect([path, body.includes(environment)]).toEqual([path, false]);
    }
    const post = ["-H", "content-type: application/json", "--data", "{}"];
    for (const method of ["CreateEntry", "WhoAmI", "ListSessions", "EndSessions", "ListClients", "DeleteClient"])
      expect([method, (await curl(`/svc.v1.AuthService/${method}`, ...post)).status]).toEqual([method, 401]);
    expect((await curl("/svc.v1.AuthService/RedeemEntry", ...post)).status).toBe(404);
  }, 300_000);

  test("reads none of the owner's files, also those that were made with no umask", async () => {
    const data = join(sandbox.home, ".svc/data");
    const files = readdirSync(data)
      .map((name) => join(data, name))
      .filter((path) => statSync(path).isFile());
    expect(files.map((path) => path.slice(data.length + 1))).toEqual(
      expect.arrayContaining(["server.owner.json", "server.key", "meta.db"]),
    );
    for (const path of [...files, join(sandbox.home, ".config/svc.yml")]) {
      const { exitCode, stderr } = await run("cat", path);
      expect([path, exitCode, stderr.includes("Permission denied")]).toEqual([path, 1, true]);
    }
    const stolen = await run(
      join(open, "svc"),
      "login",
      "-y",
      "--api-host",
      sandbox.url,
      "--data-dir",
      data,
      "--client-id",
      "x",
      "--client-secret",
      "y",
    );
    expect(stolen.exitCode).toBe(4);
  }, 300_000);

  test("sees no code when the owner opens a browser, neither among the running programs' words nor in the file that forwards", async () => {
    const browser = join(open, "browser");
    writeFileSync(browser, '#!/bin/sh\necho "$1" > "$SEEN"\nsleep 10\n');
    chmodSync(browser, 0o755);
    const seen = join(sandbox.root, "seen");
    const { child, said } = await startLogin([sandbox.binary, "login", "-y", "--api-host", sandbox.url], {
      ...sandbox.env,
      BROWSER: browser,
      SEEN: seen,
    });
    try {
      const code = /code=([\w-]{32})/.exec(said)?.[1] ?? "?";
      while (!(await Bun.file(seen).exists()) || (await Bun.file(seen).text()) === "") await Bun.sleep(20);
      const file = (await Bun.file(seen).text()).trim();
      expect(file).toStartWith(join(sandbox.home, ".svc/browser/"));
      expect(await Bun.file(file).text()).toContain(code);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      chmodSync(join(sandbox.home, ".svc/browser"), 0o755);
      expect((await run("cat", file)).stderr).toContain("Permission denied");
      const programsThatName = async (word: string) => {
        writeFileSync(join(open, "word"), word);
        const { stdout } = await run("sh", "-c", `grep -laFf '${join(open, "word")}' /proc/[0-9]*/cmdline 2>/dev/null`);
        return stdout.split("\n").filter((line) => line.startsWith("/proc/")).length;
      };
      expect([await programsThatName(file), await programsThatName(code)]).toEqual([1, 0]);
      expect((await callAuth(sandbox.url, "RedeemEntry", { code })).status).toBe(200);
    } finally {
      child.kill();
      await child.exited;
    }
  }, 300_000);
});
