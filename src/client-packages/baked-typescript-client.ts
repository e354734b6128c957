/** The TypeScript client as JavaScript and its types. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Text of every compiled file, by its name, sorted. A run from source compiles them each time. */
export function typescriptClientFiles(): Record<string, string> {
  const root = join(import.meta.dir, "../..");
  const out = mkdtempSync(join(tmpdir(), "svc-typescript-"));
  try {
    const compiler = [join(root, "node_modules/typescript/bin/tsc"), "-p", join(root, "src/typescript-client"), "--outDir", out];
    const compiled = Bun.spawnSync([process.execPath, ...compiler], { env: { ...process.env, BUN_BE_BUN: "1" } });
    if (!compiled.success) throw new Error(`the TypeScript client does not compile:\n${compiled.stdout}${compiled.stderr}`);
    const texts = readdirSync(out)
      .sort()
      .map((name) => [name, readFileSync(join(out, name), "utf8")] as const);
    // The compiler writes the names of modules in declarations as they are in the sources.
    return Object.fromEntries(texts.map(([name, text]) => [name, text.replace(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"')]));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}
