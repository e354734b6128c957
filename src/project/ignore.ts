/**
 * The files of a project that are left out of a deployment: `.gitignore` and `.svcignore` files in
 * every folder, the ignore file of an environment, files that look like secrets, and what is never
 * uploaded. The rules are git's: a deeper file wins over a higher one, a later line over an earlier
 * one, `!` takes a file back in, and nothing below an ignored folder comes back. In one folder
 * `.svcignore` is read behind `.gitignore`, so that it can take back in what git ignores.
 */

import { isUtf8 } from "node:buffer";
import type { Dirent } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { escapeControls } from "../domain/name.ts";
import { isPortableName } from "../domain/portable-name.ts";
import { CliError } from "../errors/cli-error.ts";
import type { ProjectFile } from "./project.ts";
import { liesAmongSecrets, looksLikeSecret, takesBackByName } from "./secrets.ts";
import { readTextFile } from "./text-file.ts";

/** Names of ignore files, in the order in which they are read. */
export const IGNORE_FILES = [".gitignore", ".svcignore"] as const;
const NEVER_UPLOADED = [".git", "__pycache__", ".venv", "node_modules", "*.pyc"];

/** Longest line that is a pattern, in UTF-16 units; no path is longer. */
const LONGEST_PATTERN = 4096;

/** Options of listing a project. */
export interface ListOptions {
  /** Ignore file of the environment, relative to the root; read last. */
  readonly ignoreFile?: string;
  /** Called with a line for each thing that is left out for another reason than an ignore rule. */
  readonly note?: (text: string) => void;
  /**
   * Called with the path of each file, or folder (ending in `/`), that is left out because it looks
   * like a secret.
   */
  readonly onSecret?: (path: string) => void;
}

/** The rules that apply in a folder. */
interface Rules {
  /** The rules of all ignore files. */
  readonly all: Ignore;
  /**
   * The rules of svc's own ignore files that take files back in by name; only they take back
   * secrets.
   */
  readonly named: Ignore;
}

/** An entry of a folder, whose name is valid UTF-8. */
type Entry = Pick<Dirent, "name" | "isDirectory" | "isFile" | "isSymbolicLink">;

/**
 * The files of a folder that are not ignored, sorted by path. Links are followed when they stay
 * inside of the root.
 */
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

  /**
   * Rules of the folders above, up to the top of the git work tree; none when they ignore the
   * project's folder itself.
   */
  async #rulesAbove(): Promise<Rules> {
    const folders: string[] = [];
    const none: Rules = { all: ignore({ ignorecase: false }), named: ignore({ ignorecase: false }) };
    for (let folder = this.root; ; folder = dirname(folder)) {
      folders.unshift(folder);
      if (await exists(join(folder, ".git"))) break;
      if (dirname(folder) === folder) return none;
    }
    const top = folders[0] as string;
    const inside = relative(top, this.root).split(sep).join("/");
    if (inside === "") return none;
    let rules = none;
    for (const folder of folders.slice(0, -1)) rules = this.#withRulesOf(folder, relative(top, folder).split(sep).join("/"), rules);
    if (rules.all.ignores(`${inside}/`)) return none;
    this.#inside = `${inside}/`;
    return rules;
  }

  /**
   * The rules with those of a folder behind them, which is at `prefix` from the top of the rules.
   */
  #withRulesOf(folder: string, prefix: string, rules: Rules): Rules {
    const [git, own] = IGNORE_FILES.map((name) => readTextFile(join(folder, name)));
    const texts = [git, own, folder === this.root ? this.#environmentRules() : undefined];
    const [ofGit = [], ...ofSvc] = texts.map((text) => (text === undefined ? [] : patternsBelow(prefix, text)));
    const behind = (before: Ignore, lines: readonly string[]) =>
      lines.length === 0 ? before : ignore({ ignorecase: false }).add(before).add(lines);
    return { all: behind(rules.all, [...ofGit, ...ofSvc.flat()]), named: behind(rules.named, ofSvc.flat().filter(takesBackByName)) };
  }

  #environmentRules(): string | undefined {
    const { ignoreFile } = this.options;
    if (!ignoreFile) return undefined;
    const text = readTextFile(resolve(this.root, ignoreFile));
    if (text !== undefined) return text;
    throw new CliError(`The ignore file ${ignoreFile} named in the project file does not exist.`, { code: "ignore_file_missing" });
  }

  /** Walks a folder. `trail` holds the real folders on the way, against links that form a cycle. */
  async #walk(prefix: string, folder: string, above: Rules, trail: readonly string[]): Promise<void> {
    const rules = this.#withRulesOf(folder, (this.#inside + prefix).slice(0, -1), above);
    for (const entry of await this.#entriesOf(prefix, folder)) {
      const path = prefix + entry.name;
      const full = join(folder, entry.name);
      const isFolder = entry.isDirectory();
      if (this.#isLeftOut(path, isFolder, rules)) continue;
      if (process.platform === "win32" && !isPortableName(entry.name)) {
        this.#skip(path, "Windows takes the name for something else");
        continue;
      }
      if (isFolder) await this.#walk(`${path}/`, full, rules, [...trail, full]);
      else if (entry.isFile()) this.#files.push({ path, size: (await stat(full)).size });
      else if (entry.isSymbolicLink()) await this.#link(path, full, rules, trail);
      else this.#skip(path, "it is no file");
    }
  }

  async #link(path: string, full: string, rules: Rules, trail: readonly string[]): Promise<void> {
    const target = await realpath(full).catch(() => undefined);
    const found = target === undefined ? undefined : await stat(target).catch(() => undefined);
    if (target === undefined || found === undefined) this.#skip(path, "the link leads nowhere");
    else if (target !== this.root && !target.startsWith(this.root + sep))
      this.#skip(path, `the link leads out of the project, to ${target}`);
    else if (!found.isFile() && trail.some((folder) => folder === target || folder.startsWith(target + sep)))
      this.#skip(path, "the link leads to a folder that it is in");
    else if (
      liesAmongSecrets(relative(this.root, target).split(sep).join("/") + (found.isDirectory() ? "/" : "")) &&
      this.#withholds(path, rules)
    )
      return;
    else if (found.isFile()) this.#files.push({ path, size: found.size });
    else if (found.isDirectory() && !this.#isLeftOut(path, true, rules)) await this.#walk(`${path}/`, target, rules, [...trail, target]);
  }

  /**
   * The entries of a folder. Names that are not UTF-8 could not be told apart as text, so they are
   * read as bytes and skipped.
   */
  async #entriesOf(prefix: string, folder: string): Promise<readonly Entry[]> {
    try {
      const entries = await readdir(folder, { withFileTypes: true });
      if (!entries.some(({ name }) => name.includes("\ufffd"))) return entries;
      const names = await readdir(folder, { encoding: "buffer" });
      for (const name of names.filter((bytes) => !isUtf8(bytes))) this.#skip(prefix + escapedBytes(name), "its name is not UTF-8");
      return await Promise.all(
        names.filter(isUtf8).map(async (bytes) => {
          const name = bytes.toString("utf8");
          return Object.assign(await lstat(join(folder, name)), { name });
        }),
      );
    } catch (error) {
      const { message } = error as NodeJS.ErrnoException;
      throw new CliError(`Cannot read the folder ${prefix || this.root}: ${message}.`, { code: "unreadable", cause: error });
    }
  }

  #isLeftOut(path: string, isFolder: boolean, rules: Rules): boolean {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const shown = path + (isFolder ? "/" : "");
    if (this.#never.ignores(name) || rules.all.ignores(this.#inside + shown)) return true;
    return looksLikeSecret(shown) && this.#withholds(shown, rules);
  }

  /** Whether a secret is left out, which is then reported to `onSecret`. */
  #withholds(path: string, rules: Rules): boolean {
    if (rules.named.test(this.#inside + path).unignored) return false;
    this.options.onSecret?.(path);
    return true;
  }

  #skip(path: string, reason: string): void {
    this.options.note?.(`Skipped ${escapeControls(path)}: ${escapeControls(reason)}.`);
  }
}

/**
 * The patterns of a folder's ignore file, written for the top of the rules: `x` of folder `a/b` is
 * `/a/b/` + `**` + `/x`, `/x` is `/a/b/x`.
 */
function patternsBelow(prefix: string, text: string): string[] {
  const lines = text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .map((line) => line.replace(/(?<!\\) +$/, ""))
    .filter((line) => line.length <= LONGEST_PATTERN && !/^(?:#.*|!?\/?)$/.test(line));
  if (prefix === "") return lines;
  const folder = prefix.replaceAll(/[\\*?[\]! #]/g, (character) => `\\${character}`);
  return lines.map((line) => {
    const negation = line.startsWith("!") ? "!" : "";
    const pattern = line.slice(negation.length);
    const isAnchored = pattern.slice(0, -1).includes("/");
    return `${negation}/${folder}/${isAnchored ? pattern.replace(/^\//, "") : `**/${pattern}`}`;
  });
}

/** Bytes as text, with those that are none as `\\xff`. */
function escapedBytes(bytes: Buffer): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((size) => isUtf8(bytes.subarray(at, at + size))) ?? 0;
    parts.push(length === 0 ? `\\x${bytes.toString("hex", at, at + 1)}` : bytes.toString("utf8", at, at + length));
    at += length || 1;
  }
  return parts.join("");
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
