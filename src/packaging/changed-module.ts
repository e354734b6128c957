/** Modules of libraries whose source the bundler changes for the binary. */

import { PackagingError } from "./packaging-error.ts";

/** A change of one module's source. */
export interface Change {
  readonly file: RegExp;
  /** What it replaces, once: a build of another version fails. */
  readonly from: RegExp;
  readonly to: string;
  /** A line in front of the module. */
  readonly head?: string;
}

/**
 * The plugin that makes the changes, each of a module of its own. Fails the build where a module
 * has nothing to change.
 */
export function changeModules(library: string, changes: readonly Change[]): Bun.BunPlugin {
  return {
    name: library,
    setup(build) {
      for (const { file, from, to, head = "" } of changes)
        build.onLoad({ filter: file }, async ({ path }) => {
          const source = await Bun.file(path).text();
          if (!from.test(source)) throw new PackagingError(`${path} is not what it was: src/packaging changes it for the binary`);
          return { contents: `${head}\n${source.replace(from, to)}`, loader: "js" };
        });
    },
  };
}
