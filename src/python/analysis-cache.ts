/**
 * The cache of analyses, shared by the command line and servers of the same user. A cached analysis
 * is valid while all inputs are the same: the project's Python and SQL files, every other file and
 * folder that the import read, the interpreter, its packages, svc itself, and the variables that
 * user code sees. An import that did more than read, or that found errors, is never cached.
 *
 * The cache can be trusted because it is in this user's folder of private state, from which the SDK
 * and the virtual environments are run as well: whoever can write a graph there can already run any
 * code. A graph that a client sent over the wire is never cached.
 */

import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import type { Graph } from "../../gen/svc/v1/graph_pb.ts";
import type { ResultCache } from "../disk/result-cache.ts";
import { isError } from "../domain/finding.ts";
import { sourceFingerprint } from "./baked-source-fingerprint.ts";
import { fileStamp } from "./file-stamp.ts";
import type { AnalyzeOptions } from "./toolchain.ts";
import { userCodeEnv } from "./user-code-env.ts";

/** The effects of an import, as reported by the analyzer's process. */
export interface ImportEffects {
  /** Absolute paths of files and folders. */
  readonly read: readonly string[];
  /** The first effect other than reading; empty when there is none. */
  readonly acted: string;
}

/** A file or folder that an import read, and its state, which differs after a change. */
type FileState = readonly [path: string, state: string];

interface CacheHeader {
  /** Epoch milliseconds. */
  readonly storedAt: number;
  readonly fileStates: readonly FileState[];
}

/**
 * Maximum age of a cached analysis: an import may depend on the clock or the network without a
 * visible effect.
 */
const MAX_AGE_MS = 86_400_000;
/** Resolution of modification times in file systems, with a margin. */
const CLOCK_STEP_MS = 50;
const LENGTH_BYTES = 4;
const MAX_FILE_STATES = 20_000;

/** The cache entry of one project's analysis, for the project's state at construction. */
export class AnalysisCacheEntry {
  readonly #startedAt = Date.now();
  /**
   * Hash of all inputs of the graph; undefined when a file cannot be read, which the analysis will
   * report.
   */
  readonly #key: string | undefined;

  /** @param root absolute path of the project without links
   *  @param python path of the interpreter of its virtual environment */
  constructor(
    readonly root: string,
    readonly python: string,
    readonly options: AnalyzeOptions,
    readonly env: Readonly<Record<string, string | undefined>>,
  ) {
    this.#key = this.#keyNow();
  }

  /** The bytes of the cached graph; undefined when there is none for the project's state. */
  get(cache: ResultCache): Uint8Array | undefined {
    if (this.#key === undefined) return undefined;
    for (const key of [this.#key, this.#keyHere(this.#key)]) {
      const content = cache.get(key);
      const bytes = content && this.#graphOf(content);
      if (bytes) return bytes;
    }
    return undefined;
  }

  /**
   * Caches a graph, unless the next analysis might differ, or the project changed during this one.
   */
  put(cache: ResultCache, { diagnostics }: Graph, bytesOf: () => Uint8Array, { read, acted }: ImportEffects): void {
    if (this.#key === undefined || acted !== "" || diagnostics.some(isError)) return;
    const fileStates = this.#fileStates(read);
    if (fileStates === undefined || this.#keyNow() !== this.#key) return;
    const bytes = bytesOf();
    const isOfThisFolder = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(this.root);
    const content = packed({ storedAt: Date.now(), fileStates }, bytes);
    cache.put(isOfThisFolder ? this.#keyHere(this.#key) : this.#key, content);
  }

  #graphOf(content: Uint8Array): Uint8Array | undefined {
    const { header, bytes } = unpacked(content);
    const age = Date.now() - header.storedAt;
    if (age < 0 || age >= MAX_AGE_MS) return undefined;
    if (header.fileStates.some(([path, state]) => stateOf(path, this.root) !== state)) return undefined;
    return bytes;
  }

  #keyNow(): string | undefined {
    const { files, environmentName, runtime } = this.options;
    const hash = new Bun.CryptoHasher("sha256");
    const packages = packageFolders(realPath(this.python)).map((folder) => [folder, fileStamp(folder)]);
    const variables = Object.entries(userCodeEnv(this.env)).sort(([a], [b]) => (a < b ? -1 : 1));
    hash.update(
      JSON.stringify([sourceFingerprint(), realPath(this.python), fileStamp(this.python), packages, variables, environmentName, runtime]),
    );
    try {
      for (const path of [...files].sort()) {
        const content = readFileSync(join(this.root, path));
        hash.update(JSON.stringify([path, content.length])).update(content);
      }
    } catch {
      return undefined;
    }
    return hash.digest("hex");
  }

  /**
   * The key of a graph that is valid for this folder only, because it contains the folder's path.
   */
  #keyHere(key: string): string {
    return new Bun.CryptoHasher("sha256").update(`${key}\0${this.root}`).digest("hex");
  }

  /**
   * The states of the files that were read; undefined when changes of one cannot be detected, or
   * one may have changed since the import began.
   */
  #fileStates(read: readonly string[]): readonly FileState[] | undefined {
    if (read.length > MAX_FILE_STATES) return undefined;
    const inKey = new Set(this.options.files);
    const found: FileState[] = [];
    for (const path of read) {
      const inside = insideOf(path, this.root);
      if (inside !== undefined && inKey.has(inside)) continue;
      const state = stateOf(inside === undefined ? path : `.${sep}${inside}`, this.root);
      if (state === undefined || changedSince(path, this.#startedAt - CLOCK_STEP_MS)) return undefined;
      found.push([inside === undefined ? path : `.${sep}${inside}`, state]);
    }
    return found;
  }
}

/**
 * The state of a path: content inside the project, whose folder may be another one; elsewhere size
 * and time. Undefined for special or unreadable files.
 */
function stateOf(path: string, root: string): string | undefined {
  const isInside = path.startsWith(`.${sep}`);
  const full = isInside ? join(root, path) : path;
  try {
    const found = statSync(full, { throwIfNoEntry: false });
    if (found === undefined) return "absent";
    if (found.isDirectory()) return sha256(JSON.stringify(readdirSync(full).sort()));
    if (!found.isFile()) return undefined;
    return isInside ? sha256(readFileSync(full)) : fileStamp(full);
  } catch {
    return undefined;
  }
}

function changedSince(path: string, time: number): boolean {
  return (lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= time;
}

/** Path relative to the root; undefined for one outside of it. */
function insideOf(path: string, root: string): string | undefined {
  const inside = relative(root, path);
  return inside.startsWith("..") || inside.startsWith(sep) || inside === path ? undefined : inside;
}

/**
 * The path of a program without links above it: one environment may be reached by several. The
 * program is itself a link, to the interpreter of all environments.
 */
function realPath(program: string): string {
  try {
    return join(realpathSync(dirname(program)), basename(program));
  } catch {
    return program;
  }
}

/**
 * The folders of installed packages in a virtual environment; installing or removing a package
 * changes them.
 */
function packageFolders(python: string): string[] {
  const environment = dirname(dirname(python));
  try {
    const libraries = join(environment, "lib");
    return readdirSync(libraries).map((name) => join(libraries, name, "site-packages"));
  } catch {
    return [join(environment, "Lib", "site-packages")];
  }
}

function sha256(content: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(content).digest("hex");
}

function packed(header: CacheHeader, bytes: Uint8Array): Uint8Array {
  const head = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(head.length);
  return Buffer.concat([length, head, bytes]);
}

function unpacked(content: Uint8Array): { readonly header: CacheHeader; readonly bytes: Uint8Array } {
  const end = LENGTH_BYTES + new DataView(content.buffer, content.byteOffset).getUint32(0, true);
  return { header: JSON.parse(Buffer.from(content.subarray(LENGTH_BYTES, end)).toString()) as CacheHeader, bytes: content.subarray(end) };
}
