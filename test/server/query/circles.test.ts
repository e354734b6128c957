/** The rooms of the query engine know each other in one direction, but for a few small circles. */

import { expect, test } from "bun:test";
import { dirname, join, relative } from "node:path";
import { findComponents } from "../../../src/domain/components.ts";

const ENGINE = join(import.meta.dir, "../../../src/server/query");
/** Most files that may need each other in a circle; imports of types count. */
const MAX_CIRCLE = 3;

test("no more than three files of the engine import each other in a circle", async () => {
  const imports = new Map<string, readonly string[]>();
  for await (const file of new Bun.Glob("**/*.ts").scan(ENGINE)) {
    const text = await Bun.file(join(ENGINE, file)).text();
    const paths = [...text.matchAll(/^(?:import|export|\}) (?:[^"\n]*from )?"(\.[^"\n]+)";$/gm)].map(([, path]) => path as string);
    imports.set(
      file,
      paths.map((path) => relative(ENGINE, join(ENGINE, dirname(file), path))),
    );
  }
  expect(imports.get("run/executor.ts")).toContain("ops/registry.ts");
  const circles = new Set(findComponents(imports.keys(), (file) => imports.get(file) ?? []).values());
  expect([...circles].filter(({ size }) => size > MAX_CIRCLE).map((files) => [...files].sort())).toEqual([]);
});
