/**
 * The installer and the binary in root file systems that hold next to nothing: busybox, a C library
 * or none, /proc or not. Either svc starts, or one line says what is missing.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { lacksNamespaces, lacksProgram } from "../harness/needs.ts";
import { builtFeed } from "../harness/release-feed.ts";
import type { Outcome } from "../harness/sandbox.ts";

/** A machine that is busy takes its time for so much copying. */
setDefaultTimeout(300_000);

const feed = await builtFeed();
const program = join(feed.dir, "latest", `svc-${feed.target}`);
const ISOLATED = ["unshare", "-rmpf"];
const isAbsent = lacksNamespaces("-rmpf") || lacksProgram("busybox");

/** The shared libraries that the binary names, with its loader. */
const LIBRARIES = isAbsent
  ? []
  : (Bun.spawnSync(["ldd", program])
      .stdout.toString()
      .match(/\/\S+(?= \(0x)/g) ?? []);

/** A root file system with busybox, and the feed at /feed. */
class RootFilesystem implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), "svc-rootfs-"));

  constructor(libraries: readonly string[] = LIBRARIES) {
    for (const folder of ["bin", "proc", "feed", "root", "tmp", "dev", "mnt"]) mkdirSync(join(this.root, folder));
    this.copy(Bun.which("busybox") ?? "", "/bin/busybox");
    for (const name of Bun.spawnSync(["busybox", "--list"]).stdout.toString().trim().split("\n"))
      if (name !== "busybox") symlinkSync("busybox", join(this.root, "bin", name));
    for (const library of libraries) this.copy(library, library);
  }

  copy(from: string, to: string): void {
    mkdirSync(dirname(join(this.root, to)), { recursive: true });
    copyFileSync(from, join(this.root, to));
    chmodSync(join(this.root, to), 0o755);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    rmSync(join(this.root, path), { force: true });
    writeFileSync(join(this.root, path), text, { mode: 0o755 });
  }

  /**
   * Runs a script as root of it. `mounts` is what is done before, outside; `$R` is the root there.
   */
  async run(script: string, mounts = 'mount -t proc proc "$R/proc"'): Promise<Outcome> {
    const child = Bun.spawn(
      [
        ...ISOLATED,
        "sh",
        "-ec",
        `mount --bind "$F" "$R/feed"\ntouch "$R/dev/null"\nmount --bind /dev/null "$R/dev/null"\n${mounts}\nexec chroot "$R" /bin/env -i PATH=/bin HOME=/root /bin/sh`,
      ],
      {
        env: { PATH: process.env.PATH ?? "", R: this.root, F: feed.dir },
        stdin: new TextEncoder().encode(script),
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { exitCode: await child.exited, stdout, stderr };
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** From the file that needs no unpacking, which busybox does slowly. */
const INSTALL = `sh /feed/install.sh --from /feed/latest/svc-${feed.target} --no-modify-path\n`;
const CHOOSE = "sh /feed/install.sh --from /feed\n";
const oneLine = (text: string) => ({ exitCode: 1, stdout: "", stderr: `svc install: ${text}\n` });

describe.skipIf(isAbsent)("root file systems", () => {
  test("the loader, the C library and /proc are enough", async () => {
    using system = new RootFilesystem();
    const { exitCode, stdout, stderr } = await system.run(
      `${INSTALL}/root/.svc/bin/svc version --tag-only\n/root/.svc/bin/svc help | head -n 1`,
    );
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("checked by the downloaded svc itself") });
    expect(stdout).toContain("Path: /root/.svc/bin/svc-v0.3.0\nv0.3.0\n");
  });

  test("without /proc", async () => {
    using system = new RootFilesystem();
    expect(await system.run(INSTALL, ":")).toEqual(oneLine("svc needs /proc, which is not mounted here"));
  });

  test("without a C library", async () => {
    using system = new RootFilesystem([]);
    expect(await system.run(INSTALL)).toEqual(oneLine("there is no C library here that svc can use: neither glibc nor musl"));
  });

  test("without a library that it needs; the loader of musl beside glibc is no reason to take musl's build", async () => {
    using system = new RootFilesystem(LIBRARIES.filter((path) => !path.includes("libm.so")));
    system.write("/lib/ld-musl-x86_64.so.1", "");
    const { exitCode, stderr } = await system.run(INSTALL);
    expect(exitCode).toBe(1);
    expect(stderr).toStartWith(`Getting svc v0.3.0 for ${feed.target}\n`);
    expect(stderr).toMatch(/\nsvc install: the new svc does not start, as .* is not on this system: .*libm\.so\.6.*\n$/);
    expect(existsSync(join(system.root, "root/.svc"))).toBe(false);
  });

  test("with a glibc that is too old", async () => {
    using system = new RootFilesystem();
    system.write("/bin/getconf", "#!/bin/sh\necho glibc 2.12\n");
    expect(await system.run(INSTALL)).toEqual(oneLine("svc needs glibc 2.17 or newer; this is glibc 2.12"));
    system.write("/bin/getconf", "#!/bin/sh\nexit 1\n");
    system.write("/bin/ldd", "#!/bin/sh\necho 'ldd (GNU libc) 2.5'\n");
    expect(await system.run(INSTALL)).toEqual(oneLine("svc needs glibc 2.17 or newer; this is glibc 2.5"));
  });

  const needed = (target: string) => expect.stringContaining(`has no svc for this machine (${target})`);
  const musl = feed.target.replace(/^(linux-\w+)/, "$1-musl");

  test("musl, by its loader, or by the system's programs where both are", async () => {
    using system = new RootFilesystem([]);
    system.write("/lib/ld-musl-x86_64.so.1", "");
    expect(await system.run(CHOOSE)).toMatchObject({ exitCode: 1, stderr: needed(musl) });
    system.write("/lib64/ld-linux-x86-64.so.2", "");
    system.write("/usr/bin/env", "\x7fELF\0\0/lib/ld-musl-x86_64.so.1\0");
    expect(await system.run(CHOOSE)).toMatchObject({ exitCode: 1, stderr: needed(musl) });
  });

  test.skipIf(process.arch !== "x64")("a processor without AVX2", async () => {
    using system = new RootFilesystem();
    system.write("/cpuinfo", "flags\t\t: fpu sse4_2 avx\n");
    const mounts = 'mount -t proc proc "$R/proc"; mount --bind "$R/cpuinfo" "$R/proc/cpuinfo"';
    const outcome = await system.run(CHOOSE, mounts);
    if (feed.target === "linux-amd64-baseline") expect(outcome).toMatchObject({ exitCode: 0 });
    else expect(outcome).toMatchObject({ exitCode: 1, stderr: needed("linux-amd64-baseline") });
  });

  test("a folder where nothing may run", async () => {
    using system = new RootFilesystem();
    const mounts = 'mount -t proc proc "$R/proc"; mount -t tmpfs -o noexec tmpfs "$R/mnt"';
    const { exitCode, stderr } = await system.run(`${INSTALL.trim()} --dir /mnt/bin; code=$?; ls -A /mnt; exit $code`, mounts);
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("cannot run programs in /mnt/bin: is it mounted with noexec?"),
    });
  });

  test("a full disk", async () => {
    using system = new RootFilesystem();
    const mounts = 'mount -t proc proc "$R/proc"; mount -t tmpfs -o size=20m tmpfs "$R/mnt"';
    const { exitCode, stdout, stderr } = await system.run(`${INSTALL.trim()} --dir /mnt/bin; code=$?; ls -A /mnt; exit $code`, mounts);
    expect({ exitCode, stdout, stderr }).toMatchObject({
      exitCode: 1,
      stdout: "",
      stderr: expect.stringMatching(/\nsvc install: .*is the disk full\?\n$/),
    });
  });

  test("what the binary says where it cannot run is a line or two", async () => {
    using bare = new RootFilesystem(LIBRARIES.filter((path) => !path.includes("libm.so")));
    const { exitCode, stderr } = await bare.run(`cp /feed/latest/svc-${feed.target} /bin/svc-here\n/bin/svc-here version`);
    expect(exitCode).not.toBe(0);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toContain("libm.so.6");
  });
});
