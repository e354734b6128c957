import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { unifiedHunks } from "../../src/domain/line-diff.ts";
import { lacksProgram } from "../harness/needs.ts";
import { patience, seeded } from "../harness/seed.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-diff-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("unified hunks", () => {
  test("equal texts have none", () => expect(unifiedHunks("a\n", "a\n")).toBe(""));
  test("a change with its surroundings", () => {
    const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    expect(unifiedHunks(before, before.replace("5\n", "five\n"))).toBe("@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8");
  });
  test("new and gone files", () => {
    expect(unifiedHunks("", "a\nb\n")).toBe("@@ -0,0 +1,2 @@\n+a\n+b");
    expect(unifiedHunks("a\n", "")).toBe("@@ -1 +0,0 @@\n-a");
  });
  test("a newline that is missing at the end is told", () => {
    expect(unifiedHunks("a\n", "a")).toBe("@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file");
  });

  test.skipIf(lacksProgram("patch"))(
    "the patch tool turns any text into any other with them",
    () => {
      const line = fc.constantFrom("a", "b", "c", "", " ", "@@ -1 +1 @@");
      const text = fc
        .tuple(fc.array(line, { maxLength: 14 }), fc.boolean())
        .map(([lines, end]) => lines.join("\n") + (end && lines.length > 0 ? "\n" : ""));
      fc.assert(
        fc.property(text, text, (before, after) => {
          fc.pre(before !== after);
          const [old, diff, out] = [join(folder, "old"), join(folder, "diff"), join(folder, "out")];
          writeFileSync(old, before);
          writeFileSync(diff, `--- old\n+++ new\n${unifiedHunks(before, after)}\n`);
          rmSync(out, { force: true });
          const said = Bun.spawnSync(["patch", "-s", "-f", "-o", out, old, diff]);
          if (said.exitCode !== 0) throw new Error(said.stdout.toString() + said.stderr.toString());
          expect(after === "" ? "" : readFileSync(out, "utf8")).toBe(after);
        }),
        { ...seeded(150, 10_000), verbose: true },
      );
    },
    patience(300_000),
  );
});
