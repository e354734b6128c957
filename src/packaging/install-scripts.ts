/** The install scripts, with the release's key and host filled in. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PackagingError } from "./packaging-error.ts";

/** Paths of the scripts in the sources, by their names in a feed. */
const SOURCES: Readonly<Record<string, string>> = { "install.sh": "install.sh", "install.ps1": "src/packaging/install.ps1" };

/** Names of the scripts, at the root of a feed. */
export const INSTALL_SCRIPTS: readonly string[] = Object.keys(SOURCES);

/**
 * Texts by name: `install.sh` and `install.ps1` of the sources, with their two empty settings
 * filled in. Throws PackagingError.
 */
export async function filledInstallScripts(root: string, publicKey: string, baseUrl: string): Promise<Map<string, string>> {
  const filled = new Map<string, string>();
  for (const [name, path] of Object.entries(SOURCES)) {
    const text = await readFile(join(root, path), "utf8").catch((error: Error) => {
      throw new PackagingError(`a release has the install scripts with it: ${error.message}`);
    });
    filled.set(name, fill(fill(text, "PUBLIC_KEY", publicKey, name), "BASE_URL", baseUrl, name));
  }
  return filled;
}

/**
 * Fills in a setting that is alone on its line: `NAME=""` of a shell, `$NAME = ""` of PowerShell.
 */
function fill(text: string, setting: string, value: string, script: string): string {
  const line = new RegExp(`^(\\$?${setting} ?= ?)""(?=[ \\t\\r]*$)`, "gm");
  if ([...text.matchAll(line)].length !== 1) throw new PackagingError(`${script} has not exactly one line ${setting}="" to fill in`);
  return text.replace(line, (_, head: string) => `${head}"${value}"`);
}
