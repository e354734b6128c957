/** The packages that this program is made with: its dependencies, and theirs. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A package. */
export interface ProgramPackage {
  readonly name: string;
  readonly version: string;
  /** Its licences as an SPDX expression. */
  readonly license: string;
  /** The text of its licence and its notices; empty when it comes without. */
  readonly notice: string;
}

/** What a package says of itself. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Names of files with the text of a licence, or with what its holders want to be said. */
const NOTICES = /^(licen[cs]e|copying|notice)\b/i;

/** The packages, by name and version. A run from source reads them when it is asked. */
export function packages(): ProgramPackage[] {
  const found = new Map<string, ProgramPackage>();
  const add = (folder: string): void => {
    for (const name of Object.keys(manifestOf(folder).dependencies ?? {})) {
      const path = pathOf(name, folder);
      if (path === undefined || found.has(path)) continue;
      const { license = "", name: own, version } = manifestOf(path);
      found.set(path, { name: own, version, license: license.replace(/^\((.*)\)$/, "$1"), notice: noticeOf(path) });
      add(path);
    }
  };
  add(join(import.meta.dir, ".."));
  return [...found.values()].sort((a, b) => `${a.name} ${a.version}`.localeCompare(`${b.name} ${b.version}`, "en"));
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** The folder of a package as another one finds it; undefined when it is not installed. */
function pathOf(name: string, from: string): string | undefined {
  const path = join(from, "node_modules", name);
  if (existsSync(join(path, "package.json"))) return path;
  return dirname(from) === from ? undefined : pathOf(name, dirname(from));
}

function noticeOf(folder: string): string {
  const files = readdirSync(folder).filter((name) => NOTICES.test(name));
  return files
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8").trim())
    .join("\n\n");
}
