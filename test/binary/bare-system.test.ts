/**
 * The binary on a system that holds nothing but its libraries: a root folder with the loader, the C
 * library and `/proc`.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { lacksNamespaces, lacksProgram, programPath } from "../harness/needs.ts";
import { BINARY, type Outcome } from "../harness/sandbox.ts";

const chroot = programPath("chroot");
const isAbsent = lacksNamespaces("-rmpf") || lacksProgram("chroot");

/** The loader and the libraries that a program asks for, as `ldd` finds them. */
function librariesOf(program: string): string[] {
  const { stdout } = Bun.spawnSync(["ldd", program]);
  return [...stdout.toString().matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path]) => path ?? "");
}

describe.skipIf(isAbsent)("a bare system", () => {
  const root = isAbsent ? "" : mkdtempSync(join(tmpdir(), "svc-bare-"));
  let libraries: string[];

  /** Runs the binary inside, in an environment of nothing but HOME. */
  const inside = async (
    args: readonly string[],
    { proc = true, env = {} }: { proc?: boolean; env?: Record<string, string> } = {},
  ): Promise<Outcome> => {
    const mount = proc ? `mount -t proc none "$0/proc" && ` : "";
    const script = `${mount}exec ${chroot} "$0" /svc "$@"`;
    const child = Bun.spawn(["unshare", "-rmpf", "/bin/sh", "-c", script, root, ...args], {
      cwd: "/",
      env: { HOME: "/home", ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: 300_000,
      killSignal: "SIGKILL",
    });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { exitCode: await child.exited, stdout, stderr };
  };

  beforeAll(() => {
    libraries = librariesOf(BINARY);
    for (const folder of ["proc", "home", "project"]) mkdirSync(join(root, folder));
    copyFileSync(BINARY, join(root, "svc"));
    for (const path of libraries) {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      copyFileSync(realpathSync(path), join(root, path));
    }
    writeFileSync(join(root, "project", "query.svc.sql"), "-- resolves: user\nselect 1\n");
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  test("needs the loader, the C library and three of its parts", () => {
    const names = libraries.map((path) => path.replace(/^.*\//, "")).sort();
    expect(names).toEqual([expect.stringMatching(/^ld-linux/), "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0"]);
  });

  test("there it works: no shell, no /dev, no /tmp, no /etc, no locale, no time zones", async () => {
    const version = await inside(["version"]);
    expect([version.exitCode, version.stdout, version.stderr]).toEqual([0, expect.stringMatching(/^Version: +v/), ""]);
    expect((await inside(["init", "--dir", "/project"])).exitCode).toBe(0);
    expect((await inside(["files", "--dir", "/project"])).stdout.trim().split("\n")).toEqual([
      ".svcignore",
      "features.py",
      "query.svc.sql",
      "svc.yaml",
    ]);
    const lint = await inside(["lint", "--local", "--dir", "/project"]);
    expect([lint.exitCode, lint.stdout + lint.stderr]).toEqual([1, expect.stringContaining("no Python 3.10 to 3.13 was found")]);
    expect(lint.stdout + lint.stderr).toContain("query.svc.sql:1:1");
    const query = await inside(["query", "--in", "user.id=1", "--out", "user.name"]);
    expect([query.exitCode, query.stderr]).toEqual([4, expect.stringContaining("svc login")]);
  });

  test.skipIf(lacksProgram("busybox"))("with a /dev/null too, a server there starts in the background, answers and stops", async () => {
    mkdirSync(join(root, "dev"));
    writeFileSync(join(root, "dev", "null"), "");
    const script = `"$0" server start --detach --port 0 --data-dir /home/data --json && "$0" server status --data-dir /home/data && "$0" server stop --data-dir /home/data`;
    copyFileSync(programPath("busybox") ?? "", join(root, "sh"));
    const child = Bun.spawnSync(
      ["unshare", "-rmpf", "/bin/sh", "-c", `mount -t proc none "$0/proc" && exec ${chroot} "$0" /sh -c "$1" /svc`, root, script],
      { env: { HOME: "/home" }, timeout: 300_000 },
    );
    expect([child.exitCode, child.stdout.toString()]).toEqual([0, expect.stringMatching(/Status: +running[\s\S]*Stopped the server/)]);
  });

  test.skipIf(lacksProgram("openssl"))(
    "https has its own list of authorities: a stranger's certificate is refused, for that reason",
    async () => {
      const certificate = join(root, "home", "stranger.crt");
      const key = join(root, "stranger.key");
      const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
      Bun.spawnSync([
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        ...names,
        "-keyout",
        key,
        "-out",
        certificate,
      ]);
      const server = Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        tls: { cert: Bun.file(certificate), key: Bun.file(key) },
        fetch: () => new Response("there", { status: 418 }),
      });
      try {
        const args = ["user", "--client-id", "id", "--client-secret", "secret", "--api-host", `https://127.0.0.1:${server.port}`];
        const refused = await inside(args);
        expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringMatching(/certificate|self.signed/i)]);
        const trusted = await inside(args, { env: { NODE_EXTRA_CA_CERTS: "/home/stranger.crt" } });
        expect([trusted.exitCode, trusted.stderr]).toEqual([1, expect.not.stringMatching(/certificate|self.signed/i)]);
      } finally {
        await server.stop(true);
      }
    },
  );

  test("without /proc the runtime ends before svc begins; the installer says so first", async () => {
    const outcome = await inside(["version"], { proc: false });
    expect([outcome.exitCode === 0, outcome.stdout]).toEqual([false, ""]);
    expect(await Bun.file(join(import.meta.dir, "../../install.sh")).text()).toContain("svc needs /proc, which is not mounted here");
  });
});
