/**
 * Which files of a project are left out of a deployment: `.gitignore` and `.svcignore` files in every folder, the ignore file of an environment, and
 * what is never uploaded. The rules are git's: a deeper file wins over a higher one, a later line over an earlier one, `!` takes a file back in, and
 * nothing below an ignored folder comes back. In one folder `.svcignore` is read behind `.gitignore`, so that it can take back in what git ignores.
 */

import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
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
  /** Names of the ignore files to obey; default `IGNORE_FILES`. */
  readonly ignoreFiles?: readonly string[];
}

interface Level {
  /** Folder relative to the root of the listing, ending in `/`, or empty. */
  readonly prefix: string;
  readonly rules: Ignore;
}

/** The files of a folder that are not ignored, sorted by path. Links are followed when they stay inside of the root. */
export async function listFiles(root: string, options: ListOptions = {}): Promise<ProjectFile[]> {
  return await new Lister(await realpath(root), options).list();
}

class Lister {
  readonly #files: ProjectFile[] = [];
  readonly #never = ignore({ ignorecase: false }).add(NEVER_UPLOADED);

  constructor(
    readonly root: string,
    readonly options: ListOptions,
  ) {}

  async list(): Promise<ProjectFile[]> {
    const above = await this.#rulesAbove();
    const own = await this.#environmentRules();
    await this.#walk("", this.root, [...own, ...above], [this.root]);
    return this.#files.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Rules of the folders above, up to the top of the git work tree; none when they ignore the project's folder itself. */
  async #rulesAbove(): Promise<Level[]> {
    const folders: string[] = [];
    for (let folder = this.root; ; folder = dirname(folder)) {
      folders.push(folder);
      if (await exists(join(folder, ".git"))) break;
      if (dirname(folder) === folder) return [];
    }
    const levels: Level[] = [];
    for (const folder of folders.slice(1)) {
      const rules = await this.#rulesOf(folder);
      const inside = `${relative(folder, this.root).split(sep).join("/")}/`;
      if (!rules) continue;
      if (rules.ignores(inside)) return [];
      levels.push({ prefix: `^${inside}`, rules });
    }
    return levels;
  }

  async #environmentRules(): Promise<Level[]> {
    const { ignoreFile } = this.options;
    if (!ignoreFile) return [];
    const text = await readIfThere(resolve(this.root, ignoreFile));
    if (text === undefined)
      throw new CliError(`The ignore file ${ignoreFile} named in the project file does not exist.`, { code: "ignore_file_missing" });
    return [{ prefix: "", rules: ignore({ ignorecase: false }).add(text) }];
  }

  async #rulesOf(folder: string): Promise<Ignore | undefined> {
    const texts = await Promise.all((this.options.ignoreFiles ?? IGNORE_FILES).map((name) => readIfThere(join(folder, name))));
    const found = texts.filter((text) => text !== undefined);
    return found.length > 0 ? ignore({ ignorecase: false, allowRelativePaths: true }).add(found.join("\n")) : undefined;
  }

  /** `levels` has the deepest folder's rules first; `trail` the real folders on the way, against links that go in circles. */
  async #walk(prefix: string, folder: string, levels: readonly Level[], trail: readonly string[]): Promise<void> {
    const rules = await this.#rulesOf(folder);
    const own = rules ? [{ prefix, rules }, ...levels] : levels;
    const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      throw new CliError(`Cannot read the folder ${prefix || this.root}: ${error.message}.`, { code: "unreadable", cause: error });
    });
    for (const entry of entries) {
      const path = prefix + entry.name;
      const full = join(folder, entry.name);
      const isFolder = entry.isDirectory();
      if (this.#isIgnored(path, isFolder, own)) continue;
      if (isFolder) await this.#walk(`${path}/`, full, own, [...trail, full]);
      else if (entry.isFile()) this.#files.push({ path, size: (await stat(full)).size });
      else if (entry.isSymbolicLink()) await this.#link(path, full, own, trail);
      else this.options.note?.(`Skipped ${path}: it is no file.`);
    }
  }

  async #link(path: string, full: string, levels: readonly Level[], trail: readonly string[]): Promise<void> {
    const target = await realpath(full).catch(() => undefined);
    if (target === undefined) this.options.note?.(`Skipped ${path}: the link leads nowhere.`);
    else if (target !== this.root && !target.startsWith(this.root + sep))
      this.options.note?.(`Skipped ${path}: the link leads out of the project, to ${target}.`);
    else {
      const found = await stat(target);
      if (found.isFile()) this.#files.push({ path, size: found.size });
      else if (trail.some((folder) => folder === target || folder.startsWith(target + sep)))
        this.options.note?.(`Skipped ${path}: the link leads to a folder that it is in.`);
      else if (found.isDirectory() && !this.#isIgnored(path, true, levels))
        await this.#walk(`${path}/`, target, levels, [...trail, target]);
    }
  }

  #isIgnored(path: string, isFolder: boolean, levels: readonly Level[]): boolean {
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (this.#never.ignores(name)) return true;
    const tested = isFolder ? `${path}/` : path;
    for (const { prefix, rules } of levels) {
      const result = rules.test(prefix.startsWith("^") ? prefix.slice(1) + tested : tested.slice(prefix.length));
      if (result.ignored) return true;
      if (result.unignored) return false;
    }
    return false;
  }
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
