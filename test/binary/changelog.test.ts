/** `svc changelog`, `svc releases list` and `svc version --check`: from a feed, and without one. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReleaseFeed } from "../../src/domain/release/manifest.ts";
import { InstalledMachine } from "../harness/installed-machine.ts";
import { lacksProgram } from "../harness/needs.ts";
import { builtFeed } from "../harness/release-feed.ts";
import { ReleaseHost } from "../harness/release-host.ts";
import { addSmallRelease, readDocument, SmallFeeds, writeSigned } from "../harness/small-release.ts";

const built = await builtFeed();
const feeds = new SmallFeeds(built);
const small = feeds.empty();
beforeAll(async () => {
  for (const version of ["v0.1.0", "v0.2.0"]) await addSmallRelease(small, version);
  const index = join(small.dir, "index.json");
  const feed = readDocument<ReleaseFeed>(index);
  const sdk = {
    version: "v0.2.0",
    component: "sdk",
    published_at: "2026-02-01T00:00:00Z",
    notes: "* The SDK\u001b[31m",
    manifest: "sdk.json",
  };
  await writeSigned(index, "index", { ...feed, releases: [...feed.releases, sdk] }, small.key);
});
afterAll(() => feeds[Symbol.dispose]());

const OFFLINE = "http://127.0.0.1:9";

describe("svc releases list", () => {
  test("versions, components, dates and notes", async () => {
    await using host = await ReleaseHost.serve(small.dir);
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: host.url });
    const { exitCode, stdout, stderr } = await machine.run(["releases", "list"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    const rows = stdout.trim().split("\n");
    expect(rows[0]).toMatch(/^Version +Component +Published +Notes$/);
    expect(rows[1]).toMatch(/^v0\.2\.0 +svc +2026-01-01 +What is new in v0\.2\.0\.$/);
    expect(rows[3]).toMatch(/^v0\.2\.0 +sdk +2026-02-01 +The SDK/);
    expect(stdout).not.toContain("\u001b");
    const { releases } = JSON.parse((await machine.run(["releases", "list", "--component", "sdk", "--json"])).stdout) as {
      releases: { version: string; component: string }[];
    };
    expect(releases).toEqual([
      { version: "v0.2.0", component: "sdk", published_at: "2026-02-01T00:00:00Z", notes: "* The SDK\u001b[31m" },
    ] as never);
  });

  test("without a network: the list that was fetched last, and before that this build, each with a note", async () => {
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: OFFLINE });
    const never = await machine.run(["releases", "list"]);
    expect([never.exitCode, never.stderr]).toEqual([0, expect.stringMatching(/connection refused[\s\S]*What this build knows is shown/)]);
    expect(never.stdout).toMatch(/^v0\.1\.0 +svc +\d{4}-\d\d-\d\d +\S/m);

    let url: string;
    {
      await using host = await ReleaseHost.serve(small.dir);
      url = host.url;
      await machine.run(["releases", "list"], { env: { SVC_RELEASES: url } });
    }
    const later = await machine.run(["releases", "list"], { env: { SVC_RELEASES: url } });
    expect([later.exitCode, later.stderr]).toEqual([0, expect.stringMatching(/What is shown was fetched at \d{4}-/)]);
    expect(later.stdout).toContain("v0.2.0");
    expect((await machine.run(["releases", "list"])).stdout).not.toContain("v0.2.0");
    expect((await machine.run(["releases", "list", "--json"], { env: { SVC_RELEASES: url } })).stderr).toBe("");
  });

  test("a list that nobody can trust is an error, one that has not been renewed a warning", async () => {
    const old = feeds.empty();
    await addSmallRelease(old, "v0.2.0", { expiresAt: "2020-01-01T00:00:00Z" });
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { exitCode, stdout, stderr } = await machine.run(["releases", "list", "--from", old.dir]);
    expect([exitCode, stdout, stderr]).toEqual([
      0,
      expect.stringContaining("v0.2.0"),
      expect.stringContaining("not been renewed since 2020-01-01"),
    ]);
    writeFileSync(join(old.dir, "index.json"), " ", { flag: "a" });
    expect((await machine.refusal(["releases", "list", "--from", old.dir])).code).toBe("signature_wrong");
  });
});

describe("svc version --check", () => {
  test("compares with the feed", async () => {
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: small.dir });
    const { stdout } = await machine.run(["version", "--check"]);
    expect(stdout).toContain("Latest: v0.2.0 (newer than this build: run `svc update`)");
    expect(JSON.parse((await machine.run(["version", "--check", "--json"])).stdout)).toMatchObject({ latest: "v0.2.0", up_to_date: false });
    expect((await machine.refusal(["version", "--check"], { env: { SVC_RELEASES: OFFLINE } })).code).toBe("release_unreachable");
  });
});

describe("svc changelog", () => {
  test("in a pipe: plain Markdown, newest first", async () => {
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: small.dir });
    const { exitCode, stdout, stderr } = await machine.run(["changelog"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toBe(
      "# Changelog\n\n## v0.2.0 - 2026-01-01\n\nWhat is new in **v0.2.0**.\n\n## v0.1.0 - 2026-01-01\n\nWhat is new in **v0.1.0**.\n",
    );
    const { entries } = JSON.parse((await machine.run(["changelog", "--json"])).stdout) as { entries: object[] };
    expect(entries).toEqual([
      { version: "v0.2.0", published_at: "2026-01-01T00:00:00Z", notes: "What is new in **v0.2.0**." },
      { version: "v0.1.0", published_at: "2026-01-01T00:00:00Z", notes: "What is new in **v0.1.0**." },
    ]);
  });

  test("without a network, without a feed, or with a bad one: what the build carries, and a note", async () => {
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: OFFLINE });
    const offline = await machine.run(["changelog"]);
    expect([offline.exitCode, offline.stdout]).toEqual([0, expect.stringMatching(/^# Changelog\n\n## /)]);
    expect(offline.stderr).toContain("connection refused");
    writeFileSync(join(machine.bin, ".svc-install.json"), "{}");
    const nowhere = await machine.run(["changelog"]);
    expect([nowhere.exitCode, nowhere.stdout, nowhere.stderr]).toEqual([0, offline.stdout, ""]);
    const bad = await machine.run(["changelog"], { env: { SVC_RELEASES: join(small.dir, "releases") } });
    expect([bad.exitCode, bad.stdout, bad.stderr]).toEqual([0, offline.stdout, expect.stringContaining("changelog of this build")]);
  });

  const env = { LESS: undefined, NO_COLOR: undefined };

  test("on a terminal: rendered, in $PAGER", async () => {
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: small.dir });
    const pager = join(machine.root, "my-pager");
    writeFileSync(pager, '#!/bin/sh\necho "paged by $1 with LESS=$LESS"\ncat\n');
    chmodSync(pager, 0o755);
    const { exitCode, screen } = await machine.onTerminal(["changelog"], { env: { ...env, PAGER: `${pager} me` } });
    expect([exitCode, screen]).toEqual([0, expect.stringContaining("paged by me with LESS=-FRX")]);
    expect(screen).toContain("\u001b[1mv0.2.0\u001b[");
    expect(screen).not.toContain("**");
    const plain = await machine.onTerminal(["changelog", "--no-color"], { env: { ...env, PAGER: `${pager} me` } });
    expect(plain.screen).not.toContain("\u001b[");
    expect((await machine.onTerminal(["changelog"], { env: { ...env, PAGER: "cat" } })).screen).toContain("What is new in");
  });

  test.skipIf(lacksProgram("less"))("on a terminal: in less, when no pager is named", async () => {
    const long = feeds.empty();
    for (let minor = 2; minor < 12; minor++) await addSmallRelease(long, `v0.${minor}.0`);
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: long.dir });
    const { exitCode, screen } = await machine.onTerminal(["changelog"], {
      env: { ...env, PAGER: undefined },
      keys: [
        [":", " "],
        [":", "q"],
      ],
    });
    expect(exitCode).toBe(0);
    expect(screen).toContain("v0.11.0");
    expect(screen).not.toContain("v0.2.0");
  });

  test("on a terminal without any pager: svc's own, with q, space and /", async () => {
    const long = feeds.empty();
    for (let minor = 2; minor < 12; minor++) await addSmallRelease(long, `v0.${minor}.0`);
    using machine = new InstalledMachine(built, ["v0.1.0"], { source: long.dir });
    const nothing = join(machine.root, "empty");
    mkdirSync(nothing);
    const { exitCode, screen } = await machine.onTerminal(["changelog"], {
      env: { ...env, PAGER: undefined, PATH: nothing },
      keys: [
        ["q leaves", " "],
        ["q leaves", "/new in v0.3\r"],
        ["What is new in", "/no such thing\r"],
        ["not found", "q"],
      ],
    });
    expect(exitCode).toBe(0);
    const screens = screen.split("\u001b[H");
    expect(screens[0]).toContain("\u001b[?1049h");
    expect(screens[1]).toContain("v0.11.0");
    expect(screens[1]).not.toContain("v0.9.0");
    expect(screens[2]).toContain("v0.9.0");
    expect(screen).toContain("v0.3.0");
    expect(screen).toEndWith("\u001b[?25h\u001b[?1049l");
    const interrupted = await machine.onTerminal(["changelog"], {
      env: { ...env, PAGER: undefined, PATH: nothing },
      keys: [["q leaves", "\u0003"]],
    });
    expect(interrupted.screen).toEndWith("\u001b[?25h\u001b[?1049l");
    expect(interrupted.exitCode).toBe(0);
  });
});
