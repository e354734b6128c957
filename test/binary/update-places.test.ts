/** Machines on which an update cannot or must not be made, and flags that make no sense. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InstalledMachine } from "../harness/installed-machine.ts";
import { lacksNamespaces } from "../harness/needs.ts";
import { builtFeed, linkOrCopy } from "../harness/release-feed.ts";
import { BINARY } from "../harness/sandbox.ts";

const built = await builtFeed();

describe("this machine", () => {
  test("a build without a key updates nothing", async () => {
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    rmSync(machine.svc);
    linkOrCopy(BINARY, machine.svc);
    expect((await machine.refusal(["update"])).code).toBe("release_no_key");
  });

  test("nobody has said where releases come from", async () => {
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    writeFileSync(join(machine.bin, ".svc-install.json"), "{}");
    const { code, message } = await machine.refusal(["update"]);
    expect([code, message]).toEqual(["release_no_source", "nobody has said where releases come from"]);
    expect((await machine.refusal(["update"], { env: { SVC_RELEASES: join(machine.root, "nothing-here") } })).code).toBe(
      "release_not_found",
    );
  });

  test.each([
    ["Cellar/svc/0.1.0/bin", "Homebrew", "brew upgrade svc"],
    ["scoop/apps/svc/current", "Scoop", "scoop update svc"],
  ])("an installation in %s belongs to %s", async (folder, name, command) => {
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const path = join(machine.root, folder, "svc");
    mkdirSync(join(machine.root, folder), { recursive: true });
    linkOrCopy(join(machine.bin, "svc-v0.1.0"), path);
    const child = Bun.spawnSync([path, "update", "--from", built.dir], { env: machine.env });
    expect([child.exitCode, child.stderr.toString()]).toEqual([
      1,
      expect.stringMatching(new RegExp(`belongs to ${name}[\\s\\S]*\`${command}\``)),
    ]);
  });

  const lacksMounts = lacksNamespaces("-rm");
  const mounted = (machine: InstalledMachine, script: string) =>
    machine.run(["update", "--from", built.dir], { wrapper: ["unshare", "-rm", "sh", "-c", `${script} && exec "$@"`, "sh"] });

  test.skipIf(lacksMounts)("a folder that cannot be written", async () => {
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { exitCode, stderr } = await mounted(
      machine,
      `mount --bind ${machine.bin} ${machine.bin} && mount -o remount,bind,ro ${machine.bin}`,
    );
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`${machine.bin} cannot be written`)]);
    expect(stderr).toContain("--dir");
  });

  test.skipIf(lacksMounts)("not enough space on the disk", async () => {
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const full = join(machine.root, "full");
    mkdirSync(full);
    const script = `mount -t tmpfs -o size=150m none ${full} && cp -a ${machine.bin}/. ${full} && mount --bind ${full} ${machine.bin}`;
    const { exitCode, stderr } = await mounted(machine, script);
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/has \d+\.\d [MG]B of free space; \d+\.\d MB are needed/)]);
    expect(await machine.version()).toBe("v0.1.0");
  });

  test("flags that make no sense together are a mistake of usage", async () => {
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    for (const args of [
      ["--list", "--rollback"],
      ["--rollback", "--version", "v1.0.0"],
      ["--prune", "--from", "/"],
      ["--version", "newest"],
      ["--yes"],
    ]) {
      const { exitCode } = await machine.run(["update", ...args]);
      expect([args, exitCode]).toEqual([args, 2]);
    }
  });
});
