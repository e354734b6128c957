/**
 * The modules that are imported by path, as a table that the bundler sees: it replaces
 * `src/modules.ts` in a bundle.
 */

import { join } from "node:path";
import { commandFile } from "../cli/command-files.ts";
import { implementationOf, SERVICES } from "../contract/services.ts";

/** Paths relative to `src` of the modules that are imported by path, sorted. */
export function modulesByPath(root: string): string[] {
  const commands = [...new Bun.Glob("**/*.ts").scanSync(join(root, "src/commands"))].map((path) => path.replaceAll("\\", "/"));
  const paths = commands.filter((file) => commandFile(file).role === "command").map((file) => `commands/${file}`);
  return [...paths, ...Object.values(SERVICES).map(implementationOf)].sort();
}

/** The plugin that puts the table into a bundle of the sources below `root`. */
export function modulesByPathPlugin(root: string): Bun.BunPlugin {
  const table = modulesByPath(root).map((path) => `${JSON.stringify(path)}: () => import(${JSON.stringify(`./${path}`)}),`);
  const contents = `const modules = {\n${table.join("\n")}\n};\nexport const importModule = async (path) => modules[path]();\n`;
  return {
    name: "modules by path",
    setup(build) {
      build.onLoad({ filter: /[\\/]src[\\/]modules\.ts$/ }, () => ({ contents, loader: "js" }));
    },
  };
}
