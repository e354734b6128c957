/**
 * Updating real builds from a real feed: the delta, the ways around it, going back, and what stays
 * on the disk.
 */

import { describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, readlinkSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ReleaseManifest } from "../../src/domain/release/manifest.ts";
import { InstalledMachine } from "../harness/installed-machine.ts";
import { lacksProgram } from "../harness/needs.ts";
import { builtFeed, copyFeed, TARGET } from "../harness/release-feed.ts";
import { ReleaseHost, stalls } from "../harness/release-host.ts";
import { readDocument } from "../harness/small-release.ts";

const feed = await builtFeed();

const NAME = `svc-${TARGET}`;
const binaryOf = (version: string) =>
  readDocument<ReleaseManifest>(join(feed.dir, "releases", version, "manifest.json")).targets[TARGET] ?? expect.unreachable();

interface Updated {
  readonly version: string;
  readonly method: string;
  readonly downloaded_bytes: number;
  readonly changed: boolean;
  readonly path: string;
  readonly previous: string | null;
}

async function update(machine: InstalledMachine, ...args: string[]): Promise<Updated> {
  const { exitCode, stdout, stderr } = await machine.run(["update", ...args, "--json"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Updated;
}

describe("from a host", () => {
  test.skipIf(lacksProgram("zstd"))("the delta is taken for the installed build, and moves a fraction of the bytes", async () => {
    await using host = await ReleaseHost.serve(feed.dir);
    using machine = new InstalledMachine(feed, ["v0.1.0"], { source: host.url });
    const { exitCode, stdout, stderr } = await machine.run(["update", "--version", "0.2.0"]);
    expect([exitCode, stderr]).toEqual([0, "Downloading svc v0.2.0\n"]);
    for (const line of [
      "Version: v0.2.0",
      `Platform: ${TARGET}`,
      `Hash: ${readDocument<ReleaseManifest>(join(feed.dir, "releases/v0.2.0/manifest.json")).commit}`,
      /^Build Time: \d{4}-/m,
      `OS: ${TARGET.split("-")[0]}`,
      `Arch: ${TARGET.split("-")[1]}`,
      join(machine.bin, "svc-v0.2.0"),
    ])
      expect(stdout).toMatch(line);
    expect(host.served.map(({ path }) => path).sort()).toEqual([
      "/releases/v0.2.0/manifest.json",
      "/releases/v0.2.0/manifest.json.minisig",
      `/releases/v0.2.0/${NAME}.from-v0.1.0.zstpatch`,
    ]);
    expect(host.bytes).toBeLessThan((binaryOf("v0.2.0").encodings.zst?.size ?? 0) / 20);
    expect(await machine.version()).toBe("v0.2.0");
    expect(machine.files()).toEqual([".svc-install.json", ".svc-update.lock", "svc", "svc-v0.1.0", "svc-v0.2.0"]);
    expect(readlinkSync(machine.svc)).toBe("svc-v0.2.0");
    expect(statSync(join(machine.bin, "svc-v0.2.0")).mode & 0o777).toBe(0o755);
  });

  test("without a delta from what is installed, the best compressed form is taken", async () => {
    await using host = await ReleaseHost.serve(feed.dir);
    using machine = new InstalledMachine(feed, ["v0.1.0"], { source: host.url });
    const { version, method, downloaded_bytes } = await update(machine);
    expect([version, method]).toEqual(["v0.3.0", "zst"]);
    expect(downloaded_bytes).toBe(binaryOf("v0.3.0").encodings.zst?.size ?? -1);
    expect(await machine.version()).toBe("v0.3.0");
    const again = await update(machine);
    expect([again.changed, again.downloaded_bytes]).toEqual([false, 0]);
    expect((await machine.run(["update"])).stdout).toContain("svc v0.3.0 is current already.");
  });

  test("on a terminal the bytes are counted, in a pipe they are not", async () => {
    await using host = await ReleaseHost.serve(feed.dir);
    using machine = new InstalledMachine(feed, ["v0.1.0"], { source: host.url });
    const whole = `${((binaryOf("v0.3.0").encodings.zst?.size ?? 0) / 1e6).toFixed(1)} MB`;
    const { exitCode, screen } = await machine.onTerminal(["update"]);
    expect([exitCode, screen]).toEqual([0, expect.stringContaining(`Downloading svc v0.3.0: ${whole} of ${whole}`)]);
    expect(screen).toContain("svc v0.3.0 is current now (it was v0.1.0;");
  });

  test("a build that somebody has changed is never patched", async () => {
    await using host = await ReleaseHost.serve(feed.dir);
    using machine = new InstalledMachine(feed, ["v0.1.0"], { source: host.url });
    const path = join(machine.bin, "svc-v0.1.0");
    const bytes = readFileSync(path);
    rmSync(path);
    writeFileSync(path, Buffer.concat([bytes, Buffer.from("\n")]), { mode: 0o755 });
    expect((await update(machine, "--version", "v0.2.0")).method).toBe("zst");
  });

  test.skipIf(lacksProgram("zstd"))(
    "whatever way fails, the next is taken: damaged delta, missing zst, damaged gz, the file itself",
    async () => {
      const copy = copyFeed(feed, join(tmpdir(), `svc-feed-${crypto.randomUUID()}`));
      await using host = await ReleaseHost.serve(copy.dir);
      try {
        const folder = join(copy.dir, "releases", "v0.2.0");
        const size = binaryOf("v0.2.0").deltas[0]?.size ?? 0;
        const seen: string[] = [];
        const spoil = [
          () => {
            rmSync(join(folder, `${NAME}.from-v0.1.0.zstpatch`));
            writeFileSync(join(folder, `${NAME}.from-v0.1.0.zstpatch`), Buffer.alloc(size, 7));
          },
          () => rmSync(join(folder, `${NAME}.zst`)),
          () => {
            rmSync(join(folder, `${NAME}.gz`));
            writeFileSync(join(folder, `${NAME}.gz`), "short");
          },
        ];
        for (const damage of spoil) {
          damage();
          using machine = new InstalledMachine(feed, ["v0.1.0"], { source: host.url });
          seen.push((await update(machine, "--version", "v0.2.0")).method);
          expect(await machine.version()).toBe("v0.2.0");
          expect(machine.files().filter((name) => name.startsWith(".svc-update-"))).toEqual([]);
        }
        expect(seen).toEqual(["zst", "gz", "full"]);
      } finally {
        rmSync(copy.dir, { recursive: true, force: true });
      }
    },
  );
});

describe("builds on the disk", () => {
  test("a list, going back and forth, and removing what nobody needs", async () => {
    using machine = new InstalledMachine(feed, ["v0.1.0"]);
    await update(machine, "--version", "v0.2.0");
    await update(machine);
    const { stdout } = await machine.run(["update", "--list", "--json"]);
    const { builds } = JSON.parse(stdout) as { builds: { version: string; size: number; current: boolean }[] };
    expect(builds.map(({ version, current }) => [version, current])).toEqual([
      ["v0.3.0", true],
      ["v0.2.0", false],
      ["v0.1.0", false],
    ]);
    expect(builds[0]?.size).toBe(binaryOf("v0.3.0").size);
    expect((await machine.run(["update", "--list"])).stdout).toMatch(/^v0\.3\.0 +\d+\.\d MB +\d{4}-\d\d-\d\d +✓$/m);

    expect((await update(machine, "--rollback")).version).toBe("v0.2.0");
    expect(await machine.version()).toBe("v0.2.0");
    expect((await update(machine, "--rollback")).version).toBe("v0.3.0");
    expect((await update(machine, "--version", "v0.1.0")).method).toBe("kept");
    expect(await machine.version()).toBe("v0.1.0");
    expect((await update(machine, "--rollback")).version).toBe("v0.3.0");

    const no = await machine.run(["update", "--prune"], { input: "n\n" });
    expect([no.exitCode, no.stderr]).toEqual([1, expect.stringContaining("Aborted.")]);
    expect(no.stderr).toContain("Remove v0.2.0");
    expect(machine.files()).toContain("svc-v0.2.0");
    const yes = await machine.run(["update", "--prune", "--yes"]);
    expect([yes.exitCode, yes.stdout]).toEqual([0, expect.stringMatching(/^Removed v0\.2\.0/)]);
    expect(machine.files().filter((name) => name.startsWith("svc-"))).toEqual(["svc-v0.1.0", "svc-v0.3.0"]);
    expect((await machine.run(["update", "--prune", "--yes"])).stdout).toContain("nothing to remove");
  });

  test("going back to a build that is damaged is refused, and the current one stays", async () => {
    using machine = new InstalledMachine(feed, ["v0.2.0", "v0.1.0"]);
    expect((await machine.refusal(["update", "--rollback"])).code).toBe("no_previous_build");
    await update(machine, "--version", "v0.2.0");
    const damaged = join(machine.bin, "svc-v0.1.0");
    rmSync(damaged);
    writeFileSync(damaged, "\u007fELF and nothing else");
    chmodSync(damaged, 0o755);
    expect((await machine.refusal(["update", "--rollback"])).code).toBe("release_does_not_run");
    expect(await machine.version()).toBe("v0.2.0");
    const repaired = await update(machine, "--version", "v0.1.0");
    expect(repaired.method).not.toBe("kept");
    expect(await machine.version()).toBe("v0.1.0");
  });

  test("offline, a version that is installed can be switched to; another one cannot", async () => {
    using machine = new InstalledMachine(feed, ["v0.1.0", "v0.2.0"], { source: "http://127.0.0.1:9" });
    const refused = await machine.refusal(["update"]);
    expect([refused.code, refused.exitCode]).toEqual(["release_unreachable", 1]);
    expect((await machine.refusal(["update", "--version", "v0.3.0"])).code).toBe("release_unreachable");
    const { exitCode, stderr } = await machine.run(["update", "--version", "v0.1.0"]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("the v0.1.0 that is installed is taken")]);
    expect(await machine.version()).toBe("v0.1.0");
  });

  test("a binary that was put somewhere by hand installs into the folder of builds, and stays as it is", async () => {
    using machine = new InstalledMachine(feed, ["v0.1.0"]);
    const elsewhere = join(machine.root, "tools", "svc");
    await Bun.write(elsewhere, Bun.file(join(feed.dir, "releases", "v0.2.0", NAME)));
    chmodSync(elsewhere, 0o755);
    rmSync(join(machine.home, ".svc"), { recursive: true });
    const env = { ...machine.env, PATH: `${join(machine.root, "tools")}:/usr/bin:/bin` };
    const child = Bun.spawnSync([elsewhere, "update", "--from", feed.dir], { env, cwd: machine.root });
    expect(child.stderr.toString()).toContain(`PATH leads to another svc, ${elsewhere}`);
    expect(child.exitCode).toBe(0);
    expect(await machine.version()).toBe("v0.3.0");
    expect(statSync(join(machine.home, ".svc")).mode & 0o077).toBe(0);
    expect(Bun.spawnSync([elsewhere, "version", "--tag-only"], { env }).stdout.toString()).toBe("v0.2.0\n");
    const receipt = JSON.parse(readFileSync(join(machine.bin, ".svc-install.json"), "utf8")) as { source: string };
    expect(receipt.source).toBe(feed.dir);
  });

  test.skipIf(lacksProgram("zstd"))("a folder that holds one release alone is enough, and HOME may have any name", async () => {
    using machine = new InstalledMachine(feed, ["v0.1.0"], { home: "my höme 'with' $signs" });
    const done = await update(machine, "--from", join(feed.dir, "releases", "v0.2.0"));
    expect([done.version, done.method]).toEqual(["v0.2.0", "delta"]);
    expect(await machine.version()).toBe("v0.2.0");
  });
});

describe("at the same time", () => {
  test("two updates: both end well, and one of them did the work", async () => {
    await using host = await ReleaseHost.serve(feed.dir);
    using machine = new InstalledMachine(feed, ["v0.1.0"], { source: host.url });
    const both = await Promise.all([update(machine), update(machine)]);
    expect(both.map(({ version }) => version)).toEqual(["v0.3.0", "v0.3.0"]);
    expect(both.map(({ changed }) => changed).sort()).toEqual([false, true]);
    expect(host.served.filter(({ path }) => path.endsWith(".zst")).length).toBe(1);
    expect(await machine.version()).toBe("v0.3.0");
    expect(machine.files()).toEqual([".svc-install.json", ".svc-update.lock", "svc", "svc-v0.1.0", "svc-v0.3.0"]);
  });

  test("while builds of it run: no text busy, and what runs goes on", async () => {
    using machine = new InstalledMachine(feed, ["v0.2.0", "v0.1.0"]);
    const running = Bun.spawn([machine.svc, "lsp"], {
      env: machine.env,
      cwd: machine.root,
      stdin: "pipe",
      stdout: "ignore",
      stderr: "ignore",
    });
    const other = Bun.spawn([join(machine.bin, "svc-v0.2.0"), "lsp"], {
      env: machine.env,
      cwd: machine.root,
      stdin: "pipe",
      stdout: "ignore",
      stderr: "ignore",
    });
    try {
      truncateSync(join(machine.bin, ".svc-install.json"), 0);
      expect((await update(machine, "--version", "v0.2.0", "--from", feed.dir)).method).toBe("kept");
      expect((await update(machine, "--from", feed.dir)).version).toBe("v0.3.0");
      expect([running.exitCode, other.exitCode]).toEqual([null, null]);
    } finally {
      for (const child of [running, other]) {
        child.kill("SIGKILL");
        await child.exited;
      }
    }
    expect(await machine.version()).toBe("v0.3.0");
  });

  test("Ctrl-C in the middle of a download: exit 130, nothing left, the old build runs", async () => {
    await using host = await ReleaseHost.serve(feed.dir);
    using machine = new InstalledMachine(feed, ["v0.1.0"], { source: host.url });
    host.faults.push([/v0\.3\.0\/svc-.*\.zst$/, stalls(binaryOf("v0.3.0").encodings.zst?.size, 1_000_000)]);
    const child = Bun.spawn([machine.svc, "update"], {
      env: machine.env,
      cwd: machine.root,
      stdout: "pipe",
      stderr: "pipe",
      stdin: "ignore",
    });
    while (!machine.files().some((name) => name.endsWith(".part"))) await Bun.sleep(5);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(await new Response(child.stderr).text()).toContain("Interrupted.");
    expect(machine.files()).toEqual([".svc-install.json", ".svc-update.lock", "svc", "svc-v0.1.0"]);
    expect(await machine.version()).toBe("v0.1.0");
  });
});

test("the signature of a file is checked with the key of the build", async () => {
  using machine = new InstalledMachine(feed, ["v0.1.0"]);
  const index = join(feed.dir, "index.json");
  const good = await machine.run(["__verify", index, `${index}.minisig`]);
  expect([good.exitCode, good.stdout]).toEqual([0, expect.stringMatching(/^svc index version:v0\.3\.0 expires:\S+Z\n$/)]);
  const sums = join(feed.dir, "releases", "v0.1.0", "SHA256SUMS.minisig");
  for (const [file, signature] of [
    [index, sums],
    [index, index],
    [index, "/nonexistent"],
  ] as const) {
    const bad = await machine.run(["__verify", file, signature]);
    expect([bad.exitCode, bad.stdout]).toEqual([1, ""]);
    expect(bad.stderr).toStartWith("Error: ");
  }
});
