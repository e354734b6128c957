/** Where releases come from, by rank, and which addresses are none. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findOrigin } from "../../src/release/origin.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "svc-origin-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function find(from: string | undefined, env: Record<string, string> = {}) {
  return findOrigin(from, { env, homeDir: home, execPath: "/nowhere/svc", platform: "linux" }, "/work");
}

test("--from, then SVC_RELEASES, then the note of the installation, then nothing", () => {
  expect(find(undefined)).toBeUndefined();
  mkdirSync(join(home, ".svc", "bin"), { recursive: true });
  writeFileSync(join(home, ".svc", "bin", ".svc-install.json"), '{"source": "https://noted.example.com/svc/"}');
  expect(find(undefined)).toMatchObject({ base: "https://noted.example.com/svc", isUrl: true, source: { kind: "file" } });
  const env = { SVC_RELEASES: "/media/releases" };
  expect(find(undefined, env)).toMatchObject({ base: "/media/releases", isUrl: false, source: { kind: "env", name: "SVC_RELEASES" } });
  expect(find("http://127.0.0.1:8080//", env)).toMatchObject({ base: "http://127.0.0.1:8080", isUrl: true, source: { kind: "flag" } });
});

test("a folder is looked for from where the command was called", () => {
  expect(find("dist/feed")).toMatchObject({ base: "/work/dist/feed", isUrl: false });
  expect(find("file:///media/my%20releases")).toMatchObject({ base: "/media/my releases", isUrl: false });
});

test.each(["ftp://example.com", "https://", "https://ada:secret@example.com", "https://example.com/?token=1"])(
  "%s is no address",
  (text) => {
    expect(() => find(text)).toThrow(/is no address of a release host/);
  },
);
