/**
 * The files of a project as an editor sees them: the open texts, and the disk for all other files.
 */

import { realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { analyzedFiles, isSqlFile } from "../../domain/source-file.ts";
import type { Project } from "../project.ts";
import type { NamedText } from "./occurrences.ts";

/** A file that is open in the editor. */
interface OpenFile {
  readonly uri: string;
  readonly version: number | undefined;
  readonly text: string;
}

/** The texts, by path relative to the root. */
export class ProjectTexts {
  readonly #disk = new Map<string, string>();
  readonly #open = new Map<string, OpenFile>();
  #revision = 0;
  readonly #byUri = new Map<string, Promise<string | undefined>>();

  /** @param project as the project file describes it now */
  constructor(
    public project: Project,
    readonly environment: string | undefined,
    private readonly readText: (path: string) => Promise<string | undefined>,
  ) {}

  /** A number that changes with each change of a text. */
  get revision(): number {
    return this.#revision;
  }

  /** Reads from the disk again. */
  async reload(): Promise<void> {
    const paths = (await this.project.files(this.environment)).map((file) => file.path).filter(isRead);
    const texts = await Promise.all(paths.map((path) => this.readText(join(this.project.root, path)).catch(() => undefined)));
    this.#revision++;
    this.#disk.clear();
    for (const [at, path] of paths.entries()) {
      const text = texts[at];
      if (text !== undefined) this.#disk.set(path, text);
    }
  }

  /** Path of a document relative to the root; undefined when it is outside of the project. */
  pathOf(uri: string): Promise<string | undefined> {
    const known = this.#byUri.get(uri) ?? findPath(this.project.root, uri);
    this.#byUri.set(uri, known);
    return known;
  }

  open(path: string, file: OpenFile): void {
    this.#revision++;
    this.#open.set(path, file);
  }

  close(path: string): void {
    this.#revision++;
    this.#open.delete(path);
  }

  /** The open file at a path. */
  opened(path: string): OpenFile | undefined {
    return this.#open.get(path);
  }

  /** The URI of a file. */
  uriOf(path: string): string {
    return this.#open.get(path)?.uri ?? Bun.pathToFileURL(join(this.project.root, path)).href;
  }

  /** Paths of the open files. */
  get openPaths(): Iterable<string> {
    return this.#open.keys();
  }

  /** The current text of a file; undefined when there is none. */
  text(path: string): string | undefined {
    return this.#open.get(path)?.text ?? this.#disk.get(path);
  }

  /** The files that are analyzed, with their current text. */
  files(): NamedText[] {
    return this.#named(analyzedFiles(this.#paths()));
  }

  /**
   * The Python and SQL files of the project with their current text, also tests and scripts, which
   * are not analyzed.
   */
  allFiles(): NamedText[] {
    return this.#named([...this.#paths()].filter(isRead).sort());
  }

  #paths(): Set<string> {
    return new Set([...this.#disk.keys(), ...this.#open.keys()]);
  }

  #named(paths: readonly string[]): NamedText[] {
    return paths.map((path) => ({ path, text: this.text(path) ?? "" }));
  }
}

function isRead(path: string): boolean {
  return path.endsWith(".py") || isSqlFile(path);
}

async function findPath(root: string, uri: string): Promise<string | undefined> {
  const path = filePath(uri);
  if (path === undefined) return undefined;
  const inside = relative(root, path);
  if (!leaves(inside)) return inside.split(sep).join("/");
  const real = await realpath(path).catch(() => undefined);
  const found = real === undefined ? ".." : relative(root, real);
  return leaves(found) ? undefined : found.split(sep).join("/");
}

/** Path of a document on this machine's disk. */
export function filePath(uri: unknown): string | undefined {
  if (typeof uri !== "string" || !uri.startsWith("file:")) return undefined;
  try {
    return Bun.fileURLToPath(uri);
  } catch {
    return undefined;
  }
}

function leaves(path: string): boolean {
  return path === "" || path === ".." || path.startsWith(`..${sep}`) || path.startsWith(sep) || /^[A-Za-z]:/.test(path);
}
