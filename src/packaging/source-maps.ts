/**
 * Source maps of a binary, kept beside it. Maps change the compiler's output (the names and sizes
 * of modules), so they come from a second build of the same sources, whose modules contain the same
 * code in the same order, and get the names that the released binary shows in stack traces.
 */

import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { type BakedFacts, type CompileOptions, executable } from "./compile.ts";
import { type EmbeddedModule, embeddedModules, MODULE_ROOT } from "./module-graph.ts";
import { PackagingError } from "./packaging-error.ts";

/**
 * Writes the maps of `binary`, which was made from `root` with `facts`, into the folder `out`, by
 * the names of its modules: `chunk-xqd0jqqw.js.map`. Returns their number. Throws PackagingError.
 */
export async function writeSourceMaps(
  root: string,
  binary: string,
  out: string,
  facts: BakedFacts,
  options: Omit<CompileOptions, "sourceMaps">,
): Promise<number> {
  const temporary = await mkdtemp(join(tmpdir(), "svc-source-maps-"));
  try {
    const twin = await executable(root, join(temporary, basename(binary)), facts, { ...options, sourceMaps: true });
    const [released, mapped] = [scripts(await readFile(binary)), scripts(await readFile(twin))];
    const names = mapped.map(({ name }) => basename(name));
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new PackagingError(`two files are called ${twice}, of which there is one source map: rename one`);
    if (released.length !== mapped.length) throw new PackagingError(`the build of source maps has other parts than ${basename(binary)}`);
    for (const [index, part] of released.entries()) {
      const same = mapped[index];
      if (same === undefined || plain(same.code) !== plain(part.code))
        throw new PackagingError(`the build of source maps differs from ${basename(binary)} in ${part.name}`);
      const map = join(out, `${part.name.slice(MODULE_ROOT.length)}.map`);
      await mkdir(dirname(map), { recursive: true });
      await rename(join(temporary, `${basename(same.name)}.map`), map);
    }
    return released.length;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

function scripts(file: Buffer): EmbeddedModule[] {
  return embeddedModules(file).filter(({ code }) => code.startsWith("// @bun"));
}

/** The code without the facts of its build; the line and column of everything else stay. */
function plain(code: string): string {
  return code
    .replace(/^\/\/ @bun.*\n/, "")
    .replace(/\n*\/\/# debugId=.*\s*$/, "")
    .replaceAll(/chunk-[a-z0-9]{8}/g, "chunk-")
    .trimEnd();
}
