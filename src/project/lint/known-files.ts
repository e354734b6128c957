/**
 * A cache of the Python files that lint read last in a project, so that the next process reads only
 * those that have changed. What is kept of a file follows from its path, its text, the runtime and
 * this program; everything that needs two files is found anew each time.
 */

import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Diagnostic, DiagnosticSchema } from "../../../gen/svc/v1/error_pb.ts";
import { ResultCache } from "../../disk/result-cache.ts";
import { sourceFingerprint } from "../../python/baked-source-fingerprint.ts";
import type { LintInput, ReadFile } from "./lint.ts";
import { type Import, type ModuleContent, pythonModule } from "./python-module.ts";

const LIMITS = { maxBytes: 128 * 1024 * 1024, maxFiles: 32 };

/** A file as it is kept. */
interface KeptFile {
  /** SHA-256 of its text, in hex. */
  readonly digest: string;
  readonly findings: readonly JsonValue[];
  readonly expressions: readonly JsonValue[];
  readonly module?: KeptModule;
}

/** Maps and sets are kept as lists. */
type KeptModule = Omit<ModuleContent, "imports" | "names"> & {
  readonly imports: readonly (readonly [string, Import])[];
  readonly names: readonly string[];
};

/** The files of one project that an earlier process has read. */
export class KnownFiles {
  readonly #cache: ResultCache;
  readonly #key: string;

  /**
   * @param folder absolute path of the cache's folder, which need not exist
   * @param root absolute path of the project, of which the last state is kept
   */
  constructor(folder: string, root: string, runtime: string | undefined) {
    this.#cache = new ResultCache(folder, LIMITS);
    this.#key = new Bun.CryptoHasher("sha256").update(JSON.stringify([sourceFingerprint(), root, runtime])).digest("hex");
  }

  /** The files that were kept with the same text, by path. */
  get(files: LintInput["files"]): Map<string, ReadFile> {
    const bytes = this.#cache.get(this.#key);
    const kept = new Map(bytes ? (JSON.parse(Buffer.from(bytes).toString()) as [string, KeptFile][]) : []);
    const known = new Map<string, ReadFile>();
    for (const { path, text } of files) {
      const file = kept.get(path);
      if (file?.digest === digestOf(text)) known.set(path, readFileOf(path, text, file));
    }
    return known;
  }

  /** Keeps these files in place of all others of the project. */
  put(files: ReadonlyMap<string, ReadFile>): void {
    this.#cache.put(this.#key, Buffer.from(JSON.stringify([...files].map(([path, file]) => [path, keptFileOf(file)]))));
  }
}

function readFileOf(path: string, text: string, { findings, expressions, module }: KeptFile): ReadFile {
  const read = { text, findings: findings.map(diagnosticOf), expressions: expressions.map(diagnosticOf) };
  if (!module) return read;
  const content = { ...module, imports: new Map(module.imports), names: new Set(module.names) };
  return { ...read, module: pythonModule(path, text, content) };
}

function keptFileOf({ text, findings, expressions, module }: ReadFile): KeptFile {
  const kept = { digest: digestOf(text), findings: findings.map(jsonOf), expressions: expressions.map(jsonOf) };
  if (!module) return kept;
  const { imports, definitions, calls, names, stars, open } = module;
  return { ...kept, module: { imports: [...imports], definitions, calls, names: [...names], stars, open } };
}

function diagnosticOf(json: JsonValue): Diagnostic {
  return fromJson(DiagnosticSchema, json);
}

function jsonOf(diagnostic: Diagnostic): JsonValue {
  return toJson(DiagnosticSchema, diagnostic);
}

function digestOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
