import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const ROOT = join(import.meta.dir, "../../..");
const transpiler = new Bun.Transpiler({ loader: "ts" });

/**
 * Modules that are loaded before `start` runs: its static imports, transitively, without imports of
 * types.
 */
function loadedWith(entry: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const { path, kind } of transpiler.scanImports(readFileSync(join(ROOT, file), "utf8"))) {
      if (kind !== "import-statement") continue;
      if (path.startsWith(".")) visit(relative(ROOT, join(ROOT, dirname(file), path)));
      else packages.add(path);
    }
  };
  visit(entry);
  return { files, packages };
}

test("a server answers before the contract, its runtime and the engine are loaded", () => {
  const { files, packages } = loadedWith("src/server/boot/start.ts");
  expect(files.size).toBeGreaterThan(15);
  expect([...packages].sort()).toEqual(["bun:sqlite", "node:crypto", "node:fs", "node:fs/promises", "node:path"]);
  expect(
    [...files].filter((file) =>
      /^(gen|src\/python|src\/server\/(query|sql|python\/(?!worker-memory)|wire\/services|ui|deployments))\//.test(file),
    ),
  ).toEqual([]);
});
