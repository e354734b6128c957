/**
 * Feeds: what is in them after publishing, what is refused, and that a reader never sees half of
 * anything.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseFeed, parseManifest } from "../../src/domain/release/manifest.ts";
import { createSecretKey, type SecretKey, verify } from "../../src/domain/release/minisign.ts";
import { publish, renew } from "../../src/packaging/publish.ts";
import { writeSmallRelease } from "./release-on-disk.ts";

const EXPIRES = "2099-01-01T00:00:00Z";
const root = mkdtempSync(join(tmpdir(), "svc-publish-"));
let key: SecretKey;
beforeAll(async () => {
  key = await createSecretKey();
  for (const version of ["v0.1.0", "v0.2.0", "v0.10.0"]) await writeSmallRelease({ dir: join(root, version), version, key });
  writeFileSync(
    join(root, "CHANGELOG.md"),
    "# Changelog\n\n## Unreleased\n\nNot yet.\n\n## v0.2.0 - 2024-02-29\n\n- Two.\n\n## 0.1.0\n\n- One.\n",
  );
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

let feeds = 0;
const freshFeed = () => join(root, `feed-${feeds++}`);
const add = (feed: string, version: string, more: { key?: SecretKey; now?: string } = {}) =>
  publish({ root, release: join(root, version), feed, key: more.key ?? key, now: more.now ?? "2024-03-01T00:00:00Z", expiresAt: EXPIRES });

async function signedText(path: string): Promise<{ text: string; comment: string }> {
  const text = readFileSync(path, "utf8");
  return { text, comment: await verify(Buffer.from(text), readFileSync(`${path}.minisig`, "utf8"), key.public) };
}

describe("publishing", () => {
  test("puts the release, latest, the index with notes, the changelog and the install scripts in place, and leaves nothing else", async () => {
    const feed = freshFeed();
    await add(feed, "v0.1.0");
    await add(feed, "v0.2.0");
    expect(readdirSync(feed).sort()).toEqual(
      [".publishing.lock", "changelog.md", "index.json", "index.json.minisig", "install.ps1", "install.sh", "latest", "releases"].sort(),
    );
    expect(readdirSync(join(feed, "releases")).sort()).toEqual(["v0.1.0", "v0.2.0"]);
    for (const [folder, version] of [
      ["releases/v0.1.0", "v0.1.0"],
      ["releases/v0.2.0", "v0.2.0"],
      ["latest", "v0.2.0"],
    ] as const) {
      const sums = Bun.spawnSync(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], { cwd: join(feed, folder) });
      expect(sums.stderr.toString() + sums.stdout.toString()).toBe("");
      const manifest = await signedText(join(feed, folder, "manifest.json"));
      expect(manifest.comment).toBe(`svc manifest version:${version} expires:${EXPIRES}`);
      expect(parseManifest(manifest.text).version).toBe(version);
      expect((await signedText(join(feed, folder, "SHA256SUMS"))).comment).toBe(`svc sums version:${version} expires:${EXPIRES}`);
    }
    const index = await signedText(join(feed, "index.json"));
    expect(index.comment).toBe(`svc index version:v0.2.0 expires:${EXPIRES}`);
    expect(parseFeed(index.text)).toMatchObject({
      latest: "v0.2.0",
      expires_at: EXPIRES,
      releases: [
        { version: "v0.2.0", component: "svc", notes: "- Two.", manifest: "releases/v0.2.0/manifest.json" },
        { version: "v0.1.0", component: "svc", notes: "- One.", manifest: "releases/v0.1.0/manifest.json" },
      ],
    });
    expect(readFileSync(join(feed, "install.sh"), "utf8")).toContain("v0.2.0");
    expect(readFileSync(join(feed, "changelog.md"), "utf8")).toBe(readFileSync(join(root, "CHANGELOG.md"), "utf8"));
    expect(statSync(join(feed, "latest", "svc-linux-amd64")).ino).toBe(statSync(join(feed, "releases/v0.2.0/svc-linux-amd64")).ino);
    expect(statSync(join(feed, "latest", "svc-linux-amd64")).ino).not.toBe(statSync(join(root, "v0.2.0/svc-linux-amd64")).ino);
  });

  test("an older release published later does not become the latest; versions are ordered as numbers", async () => {
    const feed = freshFeed();
    await add(feed, "v0.10.0");
    const index = await add(feed, "v0.2.0");
    expect(index.latest).toBe("v0.10.0");
    expect(index.releases.map(({ version }) => version)).toEqual(["v0.10.0", "v0.2.0"]);
    expect(index.releases[0]?.notes).toBe("Not yet.");
    expect(parseManifest(readFileSync(join(feed, "latest/manifest.json"), "utf8")).version).toBe("v0.10.0");
    expect(readFileSync(join(feed, "install.sh"), "utf8")).toContain("v0.10.0");
  });

  test("again with the same files changes nothing but the expiry; with others it is refused, and the feed stays as it was", async () => {
    const feed = freshFeed();
    await add(feed, "v0.1.0", { now: "2024-03-01T00:00:00Z" });
    expect((await add(feed, "v0.1.0", { now: "2024-04-01T00:00:00Z" })).releases).toMatchObject([{ published_at: "2024-03-01T00:00:00Z" }]);
    const before = readFileSync(join(feed, "index.json"), "utf8");
    const other = join(root, "other");
    await writeSmallRelease({ dir: other, version: "v0.1.0", key, content: () => "another build" });
    await expect(publish({ root, release: other, feed, key, now: EXPIRES, expiresAt: EXPIRES })).rejects.toThrow(
      "is published already, with other files: a release never changes",
    );
    expect(readFileSync(join(feed, "index.json"), "utf8")).toBe(before);
    expect(readFileSync(join(feed, "latest/svc-linux-amd64"), "utf8")).toBe("v0.1.0 for linux-amd64");
  });

  test("a feed of another key, a damaged index and a folder that is no release are refused with a reason", async () => {
    const feed = freshFeed();
    await add(feed, "v0.1.0");
    await expect(add(feed, "v0.2.0", { key: await createSecretKey() })).rejects.toThrow(
      /the feed belongs to another key: .*only .* is trusted/,
    );
    expect(existsSync(join(feed, "releases/v0.2.0"))).toBe(false);
    writeFileSync(join(feed, "index.json"), readFileSync(join(feed, "index.json"), "utf8").replace("- One", "- Won"));
    await expect(add(feed, "v0.2.0")).rejects.toThrow("index.json: the signature does not fit the file");
    mkdirSync(join(root, "empty"));
    await expect(add(freshFeed(), "empty")).rejects.toThrow("is no folder of a release");
  });

  test("what a publisher that was killed left behind is not in the way", async () => {
    const feed = freshFeed();
    for (const leftover of [".new-1", "releases/.new-2"]) {
      mkdirSync(join(feed, leftover), { recursive: true });
      writeFileSync(join(feed, leftover, "svc-linux-amd64"), "half");
    }
    await add(feed, "v0.1.0");
    expect(readdirSync(join(feed, "releases"))).toEqual(["v0.1.0"]);
    expect(readdirSync(feed).filter((name) => name.startsWith(".new-"))).toEqual([]);
  });

  test("publishers at the same moment wait for each other: no release is lost", async () => {
    const feed = freshFeed();
    await Promise.all([add(feed, "v0.2.0"), add(feed, "v0.10.0"), add(feed, "v0.1.0")]);
    const { latest, releases } = parseFeed((await signedText(join(feed, "index.json"))).text);
    expect([latest, releases.map(({ version }) => version)]).toEqual(["v0.10.0", ["v0.10.0", "v0.2.0", "v0.1.0"]]);
    expect(parseManifest(readFileSync(join(feed, "latest/manifest.json"), "utf8")).version).toBe("v0.10.0");
    for (const name of readdirSync(feed)) expect([name, statSync(join(feed, name)).mode & 0o044]).toEqual([name, 0o044]);
    expect(statSync(feed).mode & 0o055).toBe(0o055);
  });

  test("one file under two names is copied once", async () => {
    const [release, feed] = [join(root, "two-names"), freshFeed()];
    await writeSmallRelease({ dir: release, version: "v0.3.0", key });
    linkSync(join(release, "svc-windows-amd64.exe"), join(release, "svc-windows-amd64"));
    await add(feed, "two-names");
    const numbers = ["releases/v0.3.0/svc-windows-amd64", "releases/v0.3.0/svc-windows-amd64.exe", "latest/svc-windows-amd64"];
    expect(new Set(numbers.map((name) => statSync(join(feed, name)).ino)).size).toBe(1);
  });

  test("a reader sees the old latest or the new one, whole", async () => {
    const feed = freshFeed();
    await add(feed, "v0.1.0");
    const seen = new Map<string, number>();
    let done = false;
    const reader = (async () => {
      while (!done) {
        const version = parseManifest(await readFile(join(feed, "latest/manifest.json"), "utf8")).version;
        const { latest } = parseFeed(await readFile(join(feed, "index.json"), "utf8"));
        expect(existsSync(join(feed, "releases", latest, "manifest.json"))).toBe(true);
        seen.set(version, (seen.get(version) ?? 0) + 1);
      }
    })();
    await add(feed, "v0.2.0");
    await add(feed, "v0.10.0");
    for (let round = 0; round < 10; round++) await renew({ feed, key, expiresAt: `20${50 + round}-01-01T00:00:00Z` });
    done = true;
    await reader;
    expect([...seen.keys()]).toContain("v0.10.0");
  });
});

describe("renewing", () => {
  test("states a later expiry in all four signatures, and changes no other file", async () => {
    const feed = freshFeed();
    await add(feed, "v0.1.0");
    await add(feed, "v0.2.0");
    const later = "2100-01-01T00:00:00Z";
    const sums = readFileSync(join(feed, "latest/SHA256SUMS"), "utf8");
    await renew({ feed, key, expiresAt: later });
    for (const folder of ["latest", "releases/v0.2.0"]) {
      const manifest = await signedText(join(feed, folder, "manifest.json"));
      expect(manifest.comment).toBe(`svc manifest version:v0.2.0 expires:${later}`);
      expect(parseManifest(manifest.text).expires_at).toBe(later);
      expect(await signedText(join(feed, folder, "SHA256SUMS"))).toEqual({
        text: sums,
        comment: `svc sums version:v0.2.0 expires:${later}`,
      });
    }
    const index = await signedText(join(feed, "index.json"));
    expect(index.comment).toBe(`svc index version:v0.2.0 expires:${later}`);
    expect(parseFeed(index.text).expires_at).toBe(later);
    expect(parseManifest(readFileSync(join(feed, "releases/v0.1.0/manifest.json"), "utf8")).expires_at).toBe(EXPIRES);
  });

  test("refuses what is no feed, another key, and a release whose statements were changed", async () => {
    const expiresAt = "2100-01-01T00:00:00Z";
    await expect(renew({ feed: join(root, "nowhere"), key, expiresAt })).rejects.toThrow("is no feed");
    const feed = freshFeed();
    await add(feed, "v0.1.0");
    await expect(renew({ feed, key: await createSecretKey(), expiresAt })).rejects.toThrow("the feed belongs to another key");
    const sums = join(feed, "releases/v0.1.0/SHA256SUMS");
    writeFileSync(
      sums,
      readFileSync(sums, "utf8").replace(/^./, (digit) => (digit === "0" ? "1" : "0")),
    );
    await expect(renew({ feed, key, expiresAt })).rejects.toThrow("SHA256SUMS: the signature does not fit the file");
  });
});
