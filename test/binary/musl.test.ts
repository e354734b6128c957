/**
 * The build for musl, run in a root file system whose C library is musl. Debian has no libstdc++
 * built for musl, so its own stands in: musl's loader resolves names whatever their versions, and a
 * small library brings the few that only glibc has.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { lacks, lacksNamespaces, lacksProgram } from "../harness/needs.ts";
import type { Outcome } from "../harness/sandbox.ts";

const [arch, target] = process.arch === "arm64" ? ["aarch64", "linux-arm64-musl"] : ["x86_64", "linux-amd64-musl"];
const LOADER = `/lib/ld-musl-${arch}.so.1`;
/** Debian's libraries, by the names under which they are asked for. */
const LIBRARIES = ["libstdc++.so.6", "libgcc_s.so.1"].map((name) => join(`/usr/lib/${arch}-linux-gnu`, name));
const GLIBC_LOADER = arch === "x86_64" ? "ld-linux-x86-64.so.2" : "ld-linux-aarch64.so.1";

/**
 * What libstdc++ and libgcc_s take from glibc alone. Destructors of a thread that ends are not
 * called: those of a process that ends are not missed.
 */
const ONLY_IN_GLIBC = `
typedef unsigned long size_t;
char __libc_single_threaded = 0;
unsigned int __cpu_model[4];
int __cpu_indicator_init(void) { return 0; }
int _dl_find_object(void *pc, void *result) { return -1; }
extern size_t strftime_l(char *, size_t, const char *, const void *, void *);
size_t __strftime_l(char *s, size_t n, const char *f, const void *t, void *l) { return strftime_l(s, n, f, t, l); }
int __cxa_thread_atexit_impl(void (*f)(void *), void *o, void *d) { return 0; }
extern long getrandom(void *, size_t, unsigned);
unsigned int arc4random(void) { unsigned int x; getrandom(&x, sizeof x, 0); return x; }
`;

const isAbsent =
  lacks("musl", existsSync(LOADER)) ||
  lacks("libstdc++6", LIBRARIES.every(existsSync)) ||
  lacksProgram("cc", "busybox") ||
  lacksNamespaces("-rmpf");

const ROOT = mkdtempSync(join(tmpdir(), "svc-musl-"));
afterAll(() => rmSync(ROOT, { recursive: true, force: true }));

function copy(from: string, to = from): void {
  mkdirSync(join(ROOT, dirname(to)), { recursive: true });
  copyFileSync(from, join(ROOT, to));
}

/** Runs a script of busybox's shell as root of the file system. */
async function run(script: string): Promise<Outcome> {
  const mounts = 'mount -t proc proc "$R/proc"; touch "$R/dev/null"; mount --bind /dev/null "$R/dev/null"';
  const inside = 'exec chroot "$R" /bin/busybox env -i PATH=/bin HOME=/root SVC_NO_UPDATE_CHECK=1 /bin/busybox sh';
  const child = Bun.spawn(["unshare", "-rmpf", "sh", "-ec", `${mounts}\n${inside}`], {
    env: { PATH: process.env.PATH ?? "", R: ROOT },
    stdin: new TextEncoder().encode(script),
    stdout: "pipe",
    stderr: "pipe",
    timeout: 300_000,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exitCode: await child.exited, stdout, stderr };
}

describe.skipIf(isAbsent)("where the C library is musl", () => {
  beforeAll(() => {
    for (const folder of ["bin", "lib", "proc", "dev", "root", "tmp"]) mkdirSync(join(ROOT, folder));
    const binary = join(ROOT, "bin", "svc");
    const built = Bun.spawnSync([process.execPath, "build.ts", "--single", "--without-tables", `--targets=${target}`, `--out=${binary}`], {
      cwd: join(import.meta.dir, "../.."),
      stdout: "ignore",
      stderr: "pipe",
    });
    if (!built.success) throw new Error(String(built.stderr));
    copy(Bun.which("busybox") ?? "", "/bin/busybox");
    copy(LOADER);
    symlinkSync(basename(LOADER), join(ROOT, `lib/libc.musl-${arch}.so.1`));
    const source = join(ROOT, "only-in-glibc.c");
    writeFileSync(source, ONLY_IN_GLIBC);
    const library = join(ROOT, "lib", GLIBC_LOADER);
    const compiled = Bun.spawnSync(["cc", "-shared", "-fPIC", "-nostdlib", `-Wl,-soname,${GLIBC_LOADER}`, "-o", library, source], {
      stderr: "pipe",
    });
    if (!compiled.success) throw new Error(String(compiled.stderr));
  }, 300_000);

  test("without libstdc++ it says what it misses, and nothing else happens", async () => {
    const { exitCode, stdout, stderr } = await run("/bin/svc version");
    expect([exitCode, stdout]).toEqual([127, ""]);
    expect(stderr.split("\n")[0]).toContain("libstdc++.so.6");
  });

  test("with it the binary runs: its own facts, a project, and a server", async () => {
    for (const path of LIBRARIES) copy(path, `/lib/${basename(path)}`);
    const version = await run("/bin/svc version --json");
    expect(version.stderr).toBe("");
    expect(JSON.parse(version.stdout)).toMatchObject({ platform: target });
    const { exitCode, stdout, stderr } = await run(`set -e
busybox mkdir -p /tmp/p && cd /tmp/p && /bin/svc init > /dev/null && /bin/svc files
/bin/svc server start --detach --port 0 --json > /dev/null
/bin/svc healthcheck
/bin/svc user
echo '{"name": "k", "kind": "kafka", "environment_variables": {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"}}' | /bin/svc integration apply -f - > /dev/null
/bin/svc integration test k || true
/bin/svc server stop --json
`);
    expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining("Error")]);
    expect(stdout).toContain("features.py");
    expect(stdout).toContain("HEALTH_CHECK_STATUS_OK");
    expect(stdout).toContain("User:");
    // The client of Kafka was loaded, with its WebAssembly.
    expect(stdout).toContain("127.0.0.1:1 cannot be reached");
    expect(stdout).toContain('"stopped": true');
  }, 300_000);
});
