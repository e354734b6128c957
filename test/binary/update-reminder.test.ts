/**
 * The daily look for a newer version: for people on a terminal only, after the command, and never
 * in its way.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { InstalledMachine } from "../harness/installed-machine.ts";
import { builtFeed } from "../harness/release-feed.ts";
import { ReleaseHost } from "../harness/release-host.ts";
import { SmallFeeds } from "../harness/small-release.ts";

const DAY_MS = 86_400_000;
const REMINDER = "svc v0.2.0 is available: run `svc update`";

const built = await builtFeed();
const feeds = new SmallFeeds(built);
const small = await feeds.spoiled();
afterAll(() => feeds[Symbol.dispose]());

const ON = { SVC_NO_UPDATE_CHECK: undefined, CI: undefined };
const notePath = (machine: InstalledMachine) => join(machine.home, ".svc", "cache", "update-check.json");

function remember(machine: InstalledMachine, note: { checkedAt: number; toldAt: number; latest: string }): void {
  mkdirSync(join(machine.home, ".svc", "cache"), { recursive: true });
  writeFileSync(notePath(machine), JSON.stringify(note));
}

const known = (machine: InstalledMachine) => {
  try {
    return (JSON.parse(readFileSync(notePath(machine), "utf8")) as { latest: string }).latest;
  } catch {
    return "";
  }
};

test("one command looks, a later one tells, and for a day nothing more is said or asked", async () => {
  await using host = await ReleaseHost.serve(small.dir);
  using machine = new InstalledMachine(built, ["v0.1.0"], { source: host.url });
  const first = await machine.onTerminal(["version", "--tag-only"], { env: ON });
  expect([first.exitCode, first.screen]).toEqual([0, "v0.1.0\r\n"]);
  await eventually(() => known(machine) === "v0.2.0", "a note of the newer version");
  const second = await machine.onTerminal(["version", "--tag-only"], { env: ON });
  expect([second.exitCode, second.screen]).toEqual([0, `v0.1.0\r\n${REMINDER}\r\n`]);
  const third = await machine.onTerminal(["version", "--tag-only"], { env: ON });
  expect(third.screen).toBe("v0.1.0\r\n");
  expect(host.served.map(({ path }) => path).sort()).toEqual(["/index.json", "/index.json.minisig"]);
});

test("after an update nothing is said about the version that was just installed", async () => {
  using machine = new InstalledMachine(built, ["v0.1.0"], { source: small.dir });
  remember(machine, { checkedAt: Date.now(), toldAt: 0, latest: "v0.2.0" });
  const { exitCode, screen } = await machine.onTerminal(["update"], { env: ON });
  expect(exitCode).toBe(0);
  expect(screen).toContain("svc v0.2.0 is current now");
  expect(screen).not.toContain("is available");
});

describe("says nothing and asks nobody", () => {
  const quiet: [string, readonly string[], Record<string, string | undefined>][] = [
    ["with --json", ["version", "--json"], {}],
    ["in CI", ["version"], { CI: "true" }],
    ["with SVC_NO_UPDATE_CHECK", ["version"], { SVC_NO_UPDATE_CHECK: "1" }],
    ["with --no-update-check", ["version", "--no-update-check"], {}],
    ["for --version", ["--version"], {}],
    ["for help", ["--help"], { PAGER: "cat" }],
  ];
  test.each(quiet)("%s", async (_, args, env) => {
    await using host = await ReleaseHost.serve(small.dir);
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: host.url });
    remember(machine, { checkedAt: 0, toldAt: 0, latest: "v0.2.0" });
    const before = readFileSync(notePath(machine), "utf8");
    const { exitCode, screen } = await machine.onTerminal(args, { env: { ...ON, ...env } });
    expect([exitCode, screen.includes("is available")]).toEqual([0, false]);
    expect([readFileSync(notePath(machine), "utf8"), host.served]).toEqual([before, []]);
  });

  test("when stderr is no terminal", async () => {
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: small.dir });
    remember(machine, { checkedAt: 0, toldAt: 0, latest: "v0.2.0" });
    const before = readFileSync(notePath(machine), "utf8");
    const { stdout, stderr } = await machine.run(["version", "--tag-only"], { env: ON });
    expect([stdout, stderr, readFileSync(notePath(machine), "utf8")]).toEqual(["v0.1.0\n", "", before]);
  });

  test.each(["updateCheck: false\n", 'updateCheck: "off"\ntokens: {}\n'])("when the config file says %j", async (text) => {
    await using host = await ReleaseHost.serve(small.dir);
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: host.url });
    remember(machine, { checkedAt: 0, toldAt: 0, latest: "v0.2.0" });
    const before = readFileSync(notePath(machine), "utf8");
    mkdirSync(join(machine.home, ".config"));
    writeFileSync(join(machine.home, ".config", "svc.yml"), text);
    const { exitCode, screen } = await machine.onTerminal(["config", "--format", "env"], { env: ON });
    expect([exitCode, screen.includes("is available")]).toEqual([0, false]);
    expect([readFileSync(notePath(machine), "utf8"), host.served]).toEqual([before, []]);
  });
});

test("a host that never answers is waited for by no command, and is not asked twice", async () => {
  let asked = 0;
  const left: number[] = [];
  let turn = 0;
  const silent = Bun.listen<number>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = turn;
        asked++;
      },
      close: (socket) => void left.push(socket.data),
      data() {},
    },
  });
  try {
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: `http://127.0.0.1:${silent.port}` });
    for (; turn < 3; turn++) {
      rmSync(notePath(machine), { force: true });
      expect((await machine.onTerminal(["version"], { env: ON })).exitCode).toBe(0);
      expect([turn, left.includes(turn)]).toEqual([turn, false]);
      await eventually(() => asked === 2 * (turn + 1), "two questions");
    }
    expect(known(machine)).toBe("");
    await machine.onTerminal(["version"], { env: ON });
    expect(asked).toBe(2 * turn);
  } finally {
    silent.stop(true);
  }
});

test("a note that is damaged, or from a clock that was ahead, is no trouble", async () => {
  using machine = new InstalledMachine(built, ["v0.1.0"], { source: "http://127.0.0.1:9" });
  for (const note of ["", "{", "[]", '{"latest": 7}', JSON.stringify({ checkedAt: 0, toldAt: 0, latest: "v0.2.0\u001b[31m" })]) {
    remember(machine, { checkedAt: 0, toldAt: 0, latest: "" });
    writeFileSync(notePath(machine), note);
    const { exitCode, screen } = await machine.onTerminal(["version", "--tag-only"], { env: ON });
    expect([note, exitCode, screen]).toEqual([note, 0, "v0.1.0\r\n"]);
  }
  remember(machine, { checkedAt: Date.now() + 900 * DAY_MS, toldAt: Date.now() + 900 * DAY_MS, latest: "v0.2.0" });
  expect((await machine.onTerminal(["version", "--tag-only"], { env: ON })).screen).toContain(REMINDER);
});

test("a home that cannot be written is no trouble", async () => {
  using machine = new InstalledMachine(built, ["v0.1.0"], { source: small.dir });
  const { exitCode, screen } = await machine.onTerminal(["version", "--tag-only"], { env: { ...ON, SVC_HOME: "/proc/no-home" } });
  expect([exitCode, screen]).toEqual([0, "v0.1.0\r\n"]);
  expect(existsSync("/proc/no-home")).toBe(false);
});
