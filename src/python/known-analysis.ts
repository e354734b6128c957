/**
 * Analyses that were made before, by this command line or by a server of the same user. One is
 * taken again when all that it came of is the same: the project's Python and SQL files, every other
 * file and folder that the import read, the interpreter, its packages, svc itself, and the
 * variables that user code sees. An import that did more than read is always made
 * anew, and so is one that found errors.
 *
 * Who reads such a file may believe it because it lies in the folder of this user's private state,
 * from which the SDK and the virtual environments are run as well: nobody can put a graph there who
 * could not already run what he likes. What a client sends over the wire is never put there.
 */

import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Graph, GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import type { ResultCache } from "../disk/result-cache.ts";
import { isError } from "../domain/finding.ts";
import { sourceFingerprint } from "./source-fingerprint.ts" with { type: "macro" };
import type { AnalyzeOptions } from "./toolchain.ts";
import { userCodeEnv } from "./user-code-env.ts";

/** What an import read and did besides, as the analyzer's process says it. */
export interface ImportEffects {
  /** Absolute paths of files and folders. */
  readonly read: readonly string[];
  /** The first thing that was done besides reading; empty when there is none. */
  readonly acted: string;
}

/** A file or folder that an import read, and what tells whether it changed. */
type Witness = readonly [path: string, state: string];

interface Kept {
  /** Epoch milliseconds. */
  readonly keptAt: number;
  readonly witnesses: readonly Witness[];
}

const SVC = sourceFingerprint();
/**
 * What an import takes from the clock or the network by ways that cannot be seen is never older
 * than this.
 */
const KEPT_MS = 86_400_000;
/** Steps of the clock by which file systems tell when a file was changed, with room to spare. */
const CLOCK_STEP_MS = 50;
const LENGTH_BYTES = 4;
const MOST_WITNESSES = 20_000;

/** The analysis that one project asks for, as it stands when this is made. */
export class AnalysisQuestion {
  readonly #startedAt = Date.now();
  /**
   * Hash of all that the graph comes of; undefined when a file cannot be read, which the analysis
   * is to say.
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

  /** The answer that is kept; undefined when there is none for the project as it is. */
  known(cache: ResultCache): Graph | undefined {
    if (this.#key === undefined) return undefined;
    for (const key of [this.#key, this.#keyHere(this.#key)]) {
      const content = cache.get(key);
      const graph = content && this.#graphOf(content);
      if (graph) return graph;
    }
    return undefined;
  }

  /**
   * Keeps an answer, unless it may be another the next time, or the project changed while it was
   * made.
   */
  keep(cache: ResultCache, graph: Graph, { read, acted }: ImportEffects): void {
    if (this.#key === undefined || acted !== "" || graph.diagnostics.some(isError)) return;
    const witnesses = this.#witnesses(read);
    if (witnesses === undefined || this.#keyNow() !== this.#key) return;
    const bytes = toBinary(GraphSchema, graph);
    const isOfThisFolder = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(this.root);
    const content = packed({ keptAt: Date.now(), witnesses }, bytes);
    cache.put(isOfThisFolder ? this.#keyHere(this.#key) : this.#key, content);
  }

  #graphOf(content: Uint8Array): Graph | undefined {
    const { kept, bytes } = unpacked(content);
    const age = Date.now() - kept.keptAt;
    if (age < 0 || age >= KEPT_MS) return undefined;
    if (kept.witnesses.some(([path, state]) => stateOf(path, this.root) !== state)) return undefined;
    return fromBinary(GraphSchema, bytes);
  }

  #keyNow(): string | undefined {
    const { files, environmentName, runtime } = this.options;
    const hash = new Bun.CryptoHasher("sha256");
    const packages = packageFolders(this.python).map((folder) => [folder, stampOf(folder)]);
    const variables = Object.entries(userCodeEnv(this.env)).sort(([a], [b]) => (a < b ? -1 : 1));
    hash.update(JSON.stringify([SVC, this.python, stampOf(this.python), packages, variables, environmentName, runtime]));
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

  /** The key of an answer that holds for this folder alone, for it names the folder. */
  #keyHere(key: string): string {
    return new Bun.CryptoHasher("sha256").update(`${key}\0${this.root}`).digest("hex");
  }

  /**
   * Undefined when one of them cannot tell whether it changes, or may have changed since the import
   * began.
   */
  #witnesses(read: readonly string[]): readonly Witness[] | undefined {
    if (read.length > MOST_WITNESSES) return undefined;
    const inKey = new Set(this.options.files);
    const found: Witness[] = [];
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
 * What is at a path: content inside of the project, whose folder may be another; elsewhere size and
 * time. Undefined for what has no state.
 */
function stateOf(path: string, root: string): string | undefined {
  const isInside = path.startsWith(`.${sep}`);
  const full = isInside ? join(root, path) : path;
  try {
    const found = statSync(full, { throwIfNoEntry: false });
    if (found === undefined) return "absent";
    if (found.isDirectory()) return sha256(JSON.stringify(readdirSync(full).sort()));
    if (!found.isFile()) return undefined;
    return isInside ? sha256(readFileSync(full)) : stampOf(full);
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

/** What changes when a file or folder does; empty when there is none. */
function stampOf(path: string): string {
  try {
    const { dev, ino, size, mtimeMs } = statSync(realpathSync(path));
    return `${dev}/${ino}/${size}/${mtimeMs}`;
  } catch {
    return "";
  }
}

/**
 * The folders of installed packages of a virtual environment: installing or removing one changes
 * them.
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

function packed(kept: Kept, bytes: Uint8Array): Uint8Array {
  const head = Buffer.from(JSON.stringify(kept));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(head.length);
  return Buffer.concat([length, head, bytes]);
}

function unpacked(content: Uint8Array): { readonly kept: Kept; readonly bytes: Uint8Array } {
  const end = LENGTH_BYTES + new DataView(content.buffer, content.byteOffset).getUint32(0, true);
  return { kept: JSON.parse(Buffer.from(content.subarray(LENGTH_BYTES, end)).toString()) as Kept, bytes: content.subarray(end) };
}
