/** The name of a folder's project, without reading the rest: every call of a command sends it. */

import { join } from "node:path";
import { loadProject, PROJECT_FILES } from "./load.ts";
import { readTextFile } from "./text-file.ts";
import { refuseForeign } from "./trust.ts";

/**
 * The name that the project file of a folder states; undefined when it states none, cannot be read,
 * or is one that another user has put there.
 * @param root absolute path of the folder with the project file
 * @param env environment variables: they say which projects of other users are trusted
 */
export async function projectNameIn(root: string, env: Readonly<Record<string, string | undefined>>): Promise<string | undefined> {
  try {
    for (const file of PROJECT_FILES) {
      const text = readTextFile(join(root, file));
      if (text === undefined) continue;
      await refuseForeign(join(root, file), env);
      const { project, name } = (Bun.YAML.parse(text) ?? {}) as { readonly project?: unknown; readonly name?: unknown };
      const stated = project ?? name;
      if (typeof stated === "string" || stated === undefined || stated === null) return stated || undefined;
      return (await loadProject(root, { env })).name;
    }
  } catch {
    // A command that needs the project says what is wrong with it.
  }
  return undefined;
}
