/**
 * Everything that an update must refuse: each with its own code and exit 1, and each time the build
 * that was current still is.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReleaseFeed, ReleaseManifest } from "../../src/domain/release/manifest.ts";
import { createSecretKey } from "../../src/domain/release/minisign.ts";
import { InstalledMachine } from "../harness/installed-machine.ts";
import { builtFeed, TARGET, type TestFeed } from "../harness/release-feed.ts";
import { ReleaseHost } from "../harness/release-host.ts";
import {
  addSmallRelease,
  BUILD_FILES,
  changeTarget,
  readDocument,
  SmallFeeds,
  scriptBuild,
  writeSigned,
} from "../harness/small-release.ts";

const built = await builtFeed();
const feeds = new SmallFeeds(built);
afterAll(() => feeds[Symbol.dispose]());

const NAME = `svc-${TARGET}`;
const manifestOf = (feed: TestFeed, version = "v0.2.0") => join(feed.dir, "releases", version, "manifest.json");
const indexOf = (feed: TestFeed) => join(feed.dir, "index.json");
const LONG_AGO = "2020-01-01T00:00:00Z";

/** Makes every file of the release longer than its manifest says, by a megabyte. */
function lengthen(feed: TestFeed): void {
  for (const name of BUILD_FILES) {
    const path = join(feed.dir, "releases", "v0.2.0", name);
    writeFileSync(path, Buffer.alloc(1_000_000), { flag: "a" });
  }
}

/** Changes a byte of every file of the release. */
function damage(feed: TestFeed): void {
  for (const name of BUILD_FILES) writeFileSync(join(feed.dir, "releases", "v0.2.0", name), "X", { flag: "r+" });
}

interface Case {
  readonly name: string;
  readonly code: string;
  readonly feed: () => Promise<TestFeed>;
  readonly args?: readonly string[];
  readonly says?: RegExp;
}

const CASES: readonly Case[] = [
  {
    name: "an older version as the latest",
    code: "release_downgrade",
    feed: async () => {
      const feed = feeds.empty();
      await addSmallRelease(feed, "v0.0.9");
      return feed;
    },
    says: /v0\.0\.9, which is older than v0\.1\.0/,
  },
  {
    name: "an index that has expired",
    code: "release_expired",
    feed: () =>
      feeds.spoiled(async (feed) =>
        writeSigned(indexOf(feed), "index", { ...readDocument<ReleaseFeed>(indexOf(feed)), expires_at: LONG_AGO }, feed.key),
      ),
    says: /expired at 2020-01-01T00:00:00Z/,
  },
  {
    name: "a manifest that has expired",
    code: "release_expired",
    feed: () => feeds.offering((manifest) => ({ ...manifest, expires_at: LONG_AGO })),
  },
  {
    name: "a key that is not trusted",
    code: "signature_unknown_key",
    feed: () =>
      feeds.spoiled(async (feed) =>
        writeSigned(manifestOf(feed), "manifest", readDocument<ReleaseManifest>(manifestOf(feed)), await createSecretKey()),
      ),
    says: /signed by key [0-9A-F]{16}, and only [0-9A-F]{16} is trusted/,
  },
  {
    name: "the id of the trusted key on another key's signature",
    code: "signature_wrong",
    feed: () =>
      feeds.spoiled(async (feed) => {
        const other = await createSecretKey();
        const forged = { ...other, public: { ...other.public, id: feed.key.public.id } };
        await writeSigned(manifestOf(feed), "manifest", readDocument<ReleaseManifest>(manifestOf(feed)), forged);
      }),
  },
  {
    name: "an index that was changed after it was signed",
    code: "signature_wrong",
    feed: () => feeds.spoiled((feed) => writeFileSync(indexOf(feed), " ", { flag: "a" })),
  },
  {
    name: "the signature of something else",
    code: "signature_wrong",
    feed: () =>
      feeds.spoiled(async (feed) =>
        writeSigned(manifestOf(feed), "manifest", readDocument<ReleaseManifest>(manifestOf(feed)), feed.key, { what: "sums" }),
      ),
    says: /made for something else/,
  },
  {
    name: "a signature that names another version",
    code: "signature_wrong",
    feed: () =>
      feeds.spoiled(async (feed) =>
        writeSigned(manifestOf(feed), "manifest", readDocument<ReleaseManifest>(manifestOf(feed)), feed.key, { version: "v0.3.0" }),
      ),
  },
  {
    name: "a signature that names a later expiry",
    code: "signature_wrong",
    feed: () =>
      feeds.spoiled(async (feed) =>
        writeSigned(manifestOf(feed), "manifest", readDocument<ReleaseManifest>(manifestOf(feed)), feed.key, {
          expiresAt: "2222-01-01T00:00:00Z",
        }),
      ),
  },
  { name: "no signature", code: "signature_malformed", feed: () => feeds.spoiled((feed) => rmSync(`${indexOf(feed)}.minisig`)) },
  {
    name: "an empty signature",
    code: "signature_malformed",
    feed: () => feeds.spoiled((feed) => writeFileSync(`${indexOf(feed)}.minisig`, "")),
  },
  {
    name: "a page of HTML for a signature",
    code: "signature_malformed",
    feed: () =>
      feeds.spoiled((feed) => writeFileSync(`${manifestOf(feed)}.minisig`, "<!doctype html>\n<title>Log in</title>\n".repeat(500))),
  },
  {
    name: "no build for this machine",
    code: "release_target_missing",
    feed: () =>
      feeds.offering((manifest) => ({ ...manifest, targets: { "plan9-amd64": manifest.targets[TARGET] ?? expect.unreachable() } })),
    says: new RegExp(`no build for ${TARGET}`),
  },
  { name: "files larger than was signed", code: "release_too_large", feed: () => feeds.spoiled(lengthen) },
  { name: "files that are damaged", code: "release_checksum", feed: () => feeds.spoiled(damage) },
  {
    name: "a compressed file that is not one, without another way",
    code: "release_damaged",
    feed: async () => {
      const junk = Buffer.from("this is no zstd frame at all");
      const feed = await feeds.offering(
        (manifest) =>
          changeTarget(manifest, (target) => ({
            encodings: {
              zst: { ...target.encodings.zst, sha256: new Bun.CryptoHasher("sha256").update(junk).digest("hex"), size: junk.length },
            },
          })),
        scriptBuild("v0.2.0"),
      );
      writeFileSync(join(feed.dir, "releases", "v0.2.0", `${NAME}.zst`), junk);
      rmSync(join(feed.dir, "releases", "v0.2.0", NAME));
      return feed;
    },
  },
  { name: "nothing there", code: "release_not_found", feed: async () => feeds.empty(), says: /neither index\.json nor manifest\.json/ },
  { name: "a version that is not there", code: "release_not_found", feed: () => feeds.spoiled(), args: ["--version", "v0.7.0"] },
  {
    name: "the files of a release missing",
    code: "release_not_found",
    feed: () =>
      feeds.spoiled((feed) => {
        for (const name of BUILD_FILES) rmSync(join(feed.dir, "releases", "v0.2.0", name));
      }),
  },
  {
    name: "another version than was asked for",
    code: "release_wrong_version",
    feed: async () => {
      const feed = feeds.empty();
      await addSmallRelease(feed, "v0.2.0");
      cpSync(join(feed.dir, "releases", "v0.2.0"), join(feed.dir, "releases", "v0.4.0"), { recursive: true });
      return feed;
    },
    args: ["--version", "v0.4.0"],
  },
  {
    name: "another version than the index names",
    code: "release_wrong_version",
    feed: () =>
      feeds.spoiled(async (feed) => {
        await addSmallRelease(feed, "v0.3.0");
        cpSync(join(feed.dir, "releases", "v0.2.0"), join(feed.dir, "releases", "v0.3.0"), { recursive: true });
      }),
  },
  {
    name: "a release that this build is too old for",
    code: "release_too_old",
    feed: () => feeds.offering((manifest) => ({ ...manifest, min_version: "v0.1.5" })),
    says: /takes v0\.1\.5 or newer/,
  },
  {
    name: "a manifest of a later form",
    code: "release_damaged",
    feed: () => feeds.offering((manifest) => ({ ...manifest, format: 2 as 1 })),
    says: /reads format 1/,
  },
  {
    name: "a file name that leads out of the release",
    code: "release_damaged",
    feed: () => feeds.offering((manifest) => changeTarget(manifest, () => ({ url: "../../../etc/passwd" }))),
  },
  {
    name: "a build that does not run",
    code: "release_does_not_run",
    feed: () => feeds.offering((manifest) => manifest, scriptBuild("v0.2.0", "echo 'cannot load libstdc++' >&2; exit 127")),
    says: /cannot load libstdc\+\+/,
  },
  {
    name: "a build of another version than it is said to be",
    code: "release_does_not_run",
    feed: () => feeds.offering((manifest) => manifest, scriptBuild("v0.1.9")),
    says: /says that it is v0\.1\.9/,
  },
];

describe.each(["from a folder", "from a host"] as const)("%s", (place) => {
  test.each(CASES.map((one) => [one.name, one] as const))("%s", async (_, { code, feed: make, args = [], says }) => {
    const feed = await make();
    await using host = await ReleaseHost.serve(feed.dir);
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const before = machine.files();
    const refused = await machine.refusal(["update", "--from", place === "from a host" ? host.url : feed.dir, ...args]);
    expect([refused.code, refused.exitCode]).toEqual([code, 1]);
    if (says) expect(refused.message).toMatch(says);
    expect(await machine.version()).toBe("v0.1.0");
    expect(machine.files()).toEqual([".svc-install.json", ".svc-update.lock", ...before.slice(1)]);
  });
});

test("every code has a message of its own", async () => {
  const said = new Map<string, string>();
  for (const { code, feed: make, args = [] } of CASES) {
    if (said.has(code)) continue;
    const feed = await make();
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { exitCode, stderr } = await machine.run(["update", "--from", feed.dir, ...args]);
    expect(exitCode).toBe(1);
    expect(stderr).not.toMatch(/\n\s+at /);
    said.set(code, stderr.replaceAll(feed.dir, "<feed>"));
  }
  expect(new Set(said.values()).size).toBe(said.size);
  expect(said.size).toBeGreaterThan(11);
});

describe("what was asked for by name", () => {
  test("an older version is installed", async () => {
    const feed = feeds.empty();
    await addSmallRelease(feed, "v0.0.9", { change: (manifest) => ({ ...manifest, min_version: "v0.0.1" }) });
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { exitCode } = await machine.run(["update", "--from", feed.dir, "--version", "v0.0.9"]);
    expect([exitCode, await machine.version()]).toEqual([0, "v0.0.9"]);
  });

  test("a version that is past its expiry is installed", async () => {
    const feed = feeds.empty();
    await addSmallRelease(feed, "v0.2.0", { expiresAt: LONG_AGO });
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { exitCode } = await machine.run(["update", "--from", feed.dir, "--version", "0.2.0"]);
    expect([exitCode, await machine.version()]).toEqual([0, "v0.2.0"]);
  });
});
