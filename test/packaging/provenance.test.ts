/** Which commit and time a build states, in a repository made for the purpose. */

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { provenanceOf } from "../../src/packaging/provenance.ts";
import { lacksProgram } from "../harness/needs.ts";

const root = mkdtempSync(join(tmpdir(), "svc-provenance-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function git(...args: string[]): string {
  const identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_COMMITTER_DATE: "2021-03-04T05:06:07Z" };
  const result = Bun.spawnSync(["git", ...identity, ...args], { cwd: root, env });
  if (!result.success) throw new Error(result.stderr.toString());
  return result.stdout.toString().trim();
}

test.skipIf(lacksProgram("git"))("the commit and its time; a changed tree says so; SOURCE_DATE_EPOCH wins", () => {
  git("init", "--quiet");
  writeFileSync(join(root, "a.txt"), "1");
  git("add", ".");
  git("commit", "--quiet", "-m", "one");
  const commit = git("rev-parse", "HEAD");
  expect(provenanceOf(root, {})).toEqual({ commit, builtAt: "2021-03-04T05:06:07Z" });
  writeFileSync(join(root, "a.txt"), "2");
  expect(provenanceOf(root, { SOURCE_DATE_EPOCH: "0" })).toEqual({ commit: `${commit}-dirty`, builtAt: "1970-01-01T00:00:00Z" });
  expect(provenanceOf(root, { SOURCE_DATE_EPOCH: "0", PATH: "/nonexistent" }).commit).toBe("unknown");
});

test("outside of a repository the commit is unknown, and the time is now", () => {
  const outside = mkdtempSync(join(tmpdir(), "svc-no-repository-"));
  try {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const { commit, builtAt } = provenanceOf(outside, {});
    expect(commit).toBe("unknown");
    expect(Date.parse(builtAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(builtAt)).toBeLessThanOrEqual(Date.now());
  } finally {
    rmSync(outside, { recursive: true, force: true });
  }
});
