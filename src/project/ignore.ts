/**
 * Which files of a project are left out of a deployment: `.gitignore` and `.svcignore` files in every folder, the ignore file of an environment, and
 * what is never uploaded. The rules are git's: a deeper file wins over a higher one, a later line over an earlier one, `!` takes a file back in, and
 * nothing below an ignored folder comes back. In one folder `.svcignore` is read behind `.gitignore`, so that it can take back in what git ignores.
 */

import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { isPortableName } from "../domain/portable-name.ts";
import { CliError } from "../errors/cli-error.ts";
import type { ProjectFile } from "./project.ts";

/** Names of ignore files, in the order in which they are read. */
export const IGNORE_FILES = [".gitignore", ".svcignore"] as const;
const NEVER_UPLOADED = [".git", "__pycache__", ".venv", "node_modules", "*.pyc"];

/** What listing a project may be told. */
export interface ListOptions {
  /** Ignore file of the environment, relative to the root; read last. */
  readonly ignoreFile?: string;
  /** Called with a line for each thing that is left out for another reason than an ignore rule. */
  readonly note?: (text: string) => void;
}

/** The files of a folder that are not ignored, sorted by path. Links are followed when they stay inside of the root. */
export async function listFiles(root: string, options: ListOptions = {}): Promise<ProjectFile[]> {
  return await new Lister(await realpath(root), options).list();
}

class Lister {
  readonly #files: ProjectFile[] = [];
  readonly #never = ignore({ ignorecase: false }).add(NEVER_UPLOADED);
  /** Path of the root from the top of the rules, ending in `/`, or empty. */
  #inside = "";

  constructor(
    readonly root: string,
    readonly options: ListOptions,
  ) {}

  async list(): Promise<ProjectFile[]> {
    const rules = await this.#rulesAbove();
    await this.#walk("", this.root, rules, [this.root]);
    return this.#files.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Rules of the folders above, up to the top of the git work tree; none when they ignore the project's folder itself. */
  async #rulesAbove(): Promise<Ignore> {
    const folders: string[] = [];
    const none = ignore({ ignorecase: false });
    for (let folder = this.root; ; folder = dirname(folder)) {
      folders.unshift(folder);
      if (await exists(join(folder, ".git"))) break;
      if (dirname(folder) === folder) return none;
    }
    const top = folders[0] as string;
    const inside = relative(top, this.root).split(sep).join("/");
    if (inside === "") return none;
    let rules = none;
    for (const folder of folders.slice(0, -1)) rules = await this.#withRulesOf(folder, relative(top, folder).split(sep).join("/"), rules);
    if (rules.ignores(`${inside}/`)) return none;
    this.#inside = `${inside}/`;
    return rules;
  }

  /** The rules with those of a folder behind them, which is at `prefix` from the top of the rules. */
  async #withRulesOf(folder: string, prefix: string, rules: Ignore): Promise<Ignore> {
    const texts = await Promise.all(IGNORE_FILES.map((name) => readIfThere(join(folder, name))));
    if (folder === this.root) texts.push(await this.#environmentRules());
    const found = texts.filter((text) => text !== undefined);
    if (found.length === 0) return rules;
    return ignore({ ignorecase: false })
      .add(rules)
      .add(found.flatMap((text) => patternsBelow(prefix, text)));
  }

  async #environmentRules(): Promise<string | undefined> {
    const { ignoreFile } = this.options;
    if (!ignoreFile) return undefined;
    const text = await readIfThere(resolve(this.root, ignoreFile));
    if (text !== undefined) return text;
    throw new CliError(`The ignore file ${ignoreFile} named in the project file does not exist.`, { code: "ignore_file_missing" });
  }

  /** `trail` holds the real folders on the way, against links that go in circles. */
  async #walk(prefix: string, folder: string, above: Ignore, trail: readonly string[]): Promise<void> {
    const rules = await this.#withRulesOf(folder, (this.#inside + prefix).slice(0, -1), above);
    const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      throw new CliError(`Cannot read the folder ${prefix || this.root}: ${error.message}.`, { code: "unreadable", cause: error });
    });
    for (const entry of entries) {
      const path = prefix + entry.name;
      const full = join(folder, entry.name);
      const isFolder = entry.isDirectory();
      if (this.#isIgnored(path, isFolder, rules)) continue;
      if (process.platform === "win32" && !isPortableName(entry.name)) {
        this.options.note?.(`Skipped ${path}: Windows takes the name for something else.`);
        continue;
      }
      if (isFolder) await this.#walk(`${path}/`, full, rules, [...trail, full]);
      else if (entry.isFile()) this.#files.push({ path, size: (await stat(full)).size });
      else if (entry.isSymbolicLink()) await this.#link(path, full, rules, trail);
      else this.options.note?.(`Skipped ${path}: it is no file.`);
    }
  }

  async #link(path: string, full: string, rules: Ignore, trail: readonly string[]): Promise<void> {
    const target = await realpath(full).catch(() => undefined);
    if (target === undefined) this.options.note?.(`Skipped ${path}: the link leads nowhere.`);
    else if (target !== this.root && !target.startsWith(this.root + sep))
      this.options.note?.(`Skipped ${path}: the link leads out of the project, to ${target}.`);
    else {
      const found = await stat(target);
      if (found.isFile()) this.#files.push({ path, size: found.size });
      else if (trail.some((folder) => folder === target || folder.startsWith(target + sep)))
        this.options.note?.(`Skipped ${path}: the link leads to a folder that it is in.`);
      else if (found.isDirectory() && !this.#isIgnored(path, true, rules)) await this.#walk(`${path}/`, target, rules, [...trail, target]);
    }
  }

  #isIgnored(path: string, isFolder: boolean, rules: Ignore): boolean {
    const name = path.slice(path.lastIndexOf("/") + 1);
    return this.#never.ignores(name) || rules.ignores(this.#inside + path + (isFolder ? "/" : ""));
  }
}

/** The patterns of a folder's ignore file, written for the top of the rules: `x` of folder `a/b` is `/a/b/` + `**` + `/x`, `/x` is `/a/b/x`. */
function patternsBelow(prefix: string, text: string): string[] {
  const lines = text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .map((line) => line.replace(/(?<!\\) +$/, ""))
    .filter((line) => !/^(?:#.*|!?\/?)$/.test(line));
  if (prefix === "") return lines;
  const folder = prefix.replaceAll(/[\\*?[\]! #]/g, (sign) => `\\${sign}`);
  return lines.map((line) => {
    const negation = line.startsWith("!") ? "!" : "";
    const pattern = line.slice(negation.length);
    const isAnchored = pattern.slice(0, -1).includes("/");
    return `${negation}/${folder}/${isAnchored ? pattern.replace(/^\//, "") : `**/${pattern}`}`;
  });
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") return undefined;
    throw new CliError(`Cannot read ${path}: ${(error as Error).message}.`, { code: "unreadable", cause: error });
  }
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
