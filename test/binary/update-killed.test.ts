/**
 * An update that is killed at each of its system calls: afterwards `svc` is the old build or the
 * new one and runs, and the next update ends well and leaves nothing behind. The new build is a
 * script, so that only what surrounds it counts.
 */

import { afterAll, expect, test } from "bun:test";
import { InstalledMachine } from "../harness/installed-machine.ts";
import { lacksProgram } from "../harness/needs.ts";
import { builtFeed } from "../harness/release-feed.ts";
import { seed } from "../harness/seed.ts";
import { SmallFeeds } from "../harness/small-release.ts";

/** System calls by what they do; all of them are killed at, from the first to the last. */
const CLASSES = {
  "renaming and linking": "rename,renameat,renameat2,symlink,symlinkat,link,linkat",
  flushing: "fsync,fdatasync",
  removing: "unlink,unlinkat",
  "changing rights": "chmod,fchmod,fchmodat",
  opening: "openat",
  writing: "write,pwrite64,writev",
  closing: "close",
  "starting programs": "execve,clone,clone3,vfork",
  locking: "fcntl",
} as const;

const WORKERS = 3;
const MOST_CALLS = 400;

const feed = await builtFeed();
const feeds = new SmallFeeds(feed);
const small = await feeds.spoiled();
afterAll(() => feeds[Symbol.dispose]());

/**
 * Kills an update at the nth call of a class. Resolves with false when there were fewer calls, so
 * that it came to its end. Not by `--seccomp-bpf`, with which strace injects errors, and no signals.
 */
async function killAt(calls: string, nth: number): Promise<boolean> {
  using machine = new InstalledMachine(feed, ["v0.1.0"], { source: small.dir });
  const where = `call ${nth} of ${calls}`;
  const wrapper = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", `trace=${calls}`, "-e", `inject=${calls}:signal=KILL:when=${nth}`];
  const { exitCode, stderr } = await machine.run(["update"], { wrapper });
  const said = await machine.version();
  expect([where, stderr, said]).toEqual([where, stderr, expect.stringMatching(/^v0\.[12]\.0$/)]);
  if (said === "v0.1.0") {
    const again = await machine.run(["update"]);
    expect([where, again.exitCode, again.stderr]).toEqual([where, 0, expect.not.stringContaining("Error")]);
    expect([where, await machine.version()]).toEqual([where, "v0.2.0"]);
    expect([where, machine.files().filter((name) => name.startsWith(".svc-update-"))]).toEqual([where, []]);
    expect([where, machine.files()]).toEqual([where, [".svc-install.json", ".svc-update.lock", "svc", "svc-v0.1.0", "svc-v0.2.0"]]);
  }
  return exitCode !== 0;
}

test.skipIf(lacksProgram("strace")).each(Object.entries(CLASSES))(
  "killed while %s",
  async (_, calls) => {
    let next = 1;
    let killed = 0;
    let ended = false;
    const work = async () => {
      while (!ended && next < MOST_CALLS) {
        if (await killAt(calls, next++)) killed++;
        else ended = true;
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
    expect([ended, killed > 0]).toEqual([true, true]);
  },
  300_000,
);

test("killed at a random moment of an update of real builds", async () => {
  for (let turn = 0; turn < 6; turn++) {
    using machine = new InstalledMachine(feed, ["v0.1.0"]);
    const child = Bun.spawn([machine.svc, "update", "--version", "v0.2.0"], {
      env: machine.env,
      cwd: machine.root,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    });
    await Bun.sleep(((seed * (turn + 7)) % 997) / 1.2);
    child.kill("SIGKILL");
    await child.exited;
    expect([seed, turn, await machine.version()]).toEqual([seed, turn, expect.stringMatching(/^v0\.[12]\.0$/)]);
    const again = await machine.run(["update", "--version", "v0.2.0"]);
    expect([seed, turn, again.exitCode, await machine.version()]).toEqual([seed, turn, 0, "v0.2.0"]);
    expect(machine.files()).toEqual([".svc-install.json", ".svc-update.lock", "svc", "svc-v0.1.0", "svc-v0.2.0"]);
  }
}, 300_000);
