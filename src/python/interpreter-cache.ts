/**
 * The cache of interpreter searches, in a file: a search starts every candidate to see that it
 * works, and the shims of version managers take a fifth of a second each. A result is valid for a
 * day, while nothing changes that the search depends on.
 */

import { join } from "node:path";
import { DiskError } from "../disk/disk-error.ts";
import { readPrivateFile, writePrivateFile } from "../disk/private-file.ts";
import { fileStamp } from "./file-stamp.ts";
import { type SearchContext, searchedPaths, searchInterpreter } from "./interpreter.ts";
import type { InterpreterSearch } from "./toolchain.ts";

/**
 * Maximum age of a result although the searched paths are the same: `uv` may have a newer
 * interpreter since.
 */
const MAX_AGE_MS = 86_400_000;
const MAX_ENTRIES = 16;

interface CachedInterpreter {
  readonly path: string;
  readonly version: string;
  /** Stamp of the interpreter itself. */
  readonly stamp: string;
  /** Epoch milliseconds. */
  readonly foundAt: number;
}

/**
 * The result of `searchInterpreter`, cached.
 * @param folder absolute path of a private folder for the cache file
 */
export async function findInterpreterCached(
  folder: string,
  runtime: string | undefined,
  context: SearchContext,
): Promise<InterpreterSearch> {
  const file = join(folder, "interpreters.json");
  const key = keyOf(runtime, context);
  const known = read(file).get(key);
  const age = known ? Date.now() - known.foundAt : Number.POSITIVE_INFINITY;
  if (known && age >= 0 && age < MAX_AGE_MS && known.stamp === fileStamp(known.path))
    return { found: { path: known.path, version: known.version }, searched: [`${known.path}: found before`] };
  const search = await searchInterpreter(runtime, context);
  if (search.found) write(file, key, { ...search.found, stamp: fileStamp(search.found.path), foundAt: Date.now() });
  return search;
}

/**
 * A hash of everything that the search depends on and that can be read without starting a program.
 */
function keyOf(runtime: string | undefined, context: SearchContext): string {
  const { PATH, Path, PYENV_ROOT, PYENV_VERSION } = context.env;
  const stamps = searchedPaths(runtime, context).map((path) => [path, fileStamp(path)]);
  const seen = [runtime ?? "", context.platform, context.homeDir, PATH ?? Path, PYENV_ROOT, PYENV_VERSION, stamps];
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(seen)).digest("hex");
}

function read(file: string): Map<string, CachedInterpreter> {
  try {
    const text = readPrivateFile(file);
    const entries = text === undefined ? [] : Object.entries(JSON.parse(text) as Record<string, Partial<CachedInterpreter> | null>);
    return new Map(entries.filter((entry): entry is [string, CachedInterpreter] => isCachedInterpreter(entry[1])));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError || error instanceof DiskError) return new Map();
    throw error;
  }
}

function isCachedInterpreter(entry: Partial<CachedInterpreter> | null): entry is CachedInterpreter {
  return (
    typeof entry?.path === "string" &&
    typeof entry.version === "string" &&
    typeof entry.stamp === "string" &&
    entry.stamp !== "" &&
    typeof entry.foundAt === "number"
  );
}

/** Adds an entry. When it cannot be written, only the next search takes longer. */
function write(file: string, key: string, known: CachedInterpreter): void {
  const entries = read(file).set(key, known);
  const newest = [...entries].sort(([, a], [, b]) => b.foundAt - a.foundAt).slice(0, MAX_ENTRIES);
  try {
    writePrivateFile(file, `${JSON.stringify(Object.fromEntries(newest))}\n`, { durable: false });
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
  }
}
