/** The module that a build puts in the place of the database library's files. */

import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RELEASE_TARGETS } from "../../src/domain/release/target.ts";
import { duckdbPlugin } from "../../src/packaging/duckdb.ts";
import { checkOf } from "../../src/server/tables/duckdb/unpack-library.ts";

type Load = (module: { readonly path: string }) => { readonly contents: string };

/** The module for a target. */
function moduleFor(root: string, bunTarget: string | undefined, included = true): string {
  const loads: Load[] = [];
  const build = { onLoad: (_: unknown, made: Load) => void loads.push(made) };
  void duckdbPlugin(root, bunTarget, { included, level: 1 }).setup(build as unknown as Bun.PluginBuilder);
  return loads[0]?.({ path: join(root, "library-files.ts") }).contents ?? "";
}

test("each target has the library of its system, compressed once; one that is not installed is named with what installs it", () => {
  const root = mkdtempSync(join(tmpdir(), "svc-duckdb-"));
  try {
    const scope = join(root, "node_modules/@duckdb");
    const content = Buffer.from("library ".repeat(1_000));
    for (const name of ["linux-x64", "win32-arm64"]) {
      mkdirSync(join(scope, `node-bindings-${name}`), { recursive: true });
      for (const file of ["duckdb.node", name === "linux-x64" ? "libduckdb.so" : "duckdb.dll", "LICENSE"])
        writeFileSync(join(scope, `node-bindings-${name}`, file), content);
    }
    const first = moduleFor(root, "bun-linux-x64-baseline");
    expect(moduleFor(root, "bun-linux-x64")).toBe(first);
    expect(first).toContain(`name: "libduckdb.so", asset: file1, size: ${content.length}, check: "${checkOf(content)}"`);
    expect(first).not.toContain("LICENSE");
    expect(moduleFor(root, "bun-windows-arm64")).toContain('"duckdb.dll"');
    const [path] = /"[^"]+libduckdb\.so\.zst"/.exec(first) ?? [];
    expect(Bun.zstdDecompressSync(readFileSync(join(root, JSON.parse(path as string) as string))).equals(content)).toBe(true);
    expect(readdirSync(join(root, "node_modules/.cache/svc"))).toHaveLength(1);
    expect(() => moduleFor(root, "bun-linux-x64-musl")).toThrow(
      /^@duckdb\/node-bindings-linux-x64-musl is not installed.*`bun install --frozen-lockfile --os='\*' --cpu='\*'`.*--without-tables/,
    );
    expect(moduleFor(root, "bun-linux-x64-musl", false)).toContain('kind: "absent"');
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test("there is a package for every target, and the lockfile has it", () => {
  const lockfile = readFileSync(join(import.meta.dir, "../../bun.lock"), "utf8");
  for (const { bun } of RELEASE_TARGETS) {
    let name: string | undefined;
    try {
      moduleFor("/nowhere", bun);
    } catch (error) {
      name = /^(@duckdb\/\S+) is not installed/.exec((error as Error).message)?.[1];
    }
    expect(lockfile).toContain(`"${name}": "1.5.6-r.1"`);
  }
});
