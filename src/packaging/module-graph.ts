/**
 * The modules inside an executable made by Bun, found as its loader does: by a table before the
 * mark at the end of its section.
 */

import { PackagingError } from "./packaging-error.ts";

/** A module in an executable. */
export interface EmbeddedModule {
  /** Name in stack traces: `/$bunfs/root/chunk-xqd0jqqw.js`. */
  readonly name: string;
  readonly code: string;
}

/** The prefix of module names. */
export const MODULE_ROOT = "/$bunfs/root/";

const MARK = Buffer.from("\n---- Bun! ----\n");
/**
 * The trailer: byte count (64 bits), offset and length of the table, entry point, offset and length
 * of the arguments, flags.
 */
const TRAILER_BYTES = 32;
/**
 * An entry: six pairs of offset and length (name, code, source map, bytecode, its metadata, its
 * origin) and four bytes of kinds.
 */
const ENTRY_BYTES = 52;

/**
 * The modules in the table. Throws PackagingError when the executable has no table of the known
 * format.
 */
export function embeddedModules(executable: Buffer): EmbeddedModule[] {
  const end = executable.lastIndexOf(MARK);
  const trailer = end - TRAILER_BYTES;
  if (trailer < 0) throw new PackagingError("the executable has no table of modules");
  const start = trailer - Number(executable.readBigUInt64LE(trailer));
  const [table, bytes] = [start + executable.readUInt32LE(trailer + 8), executable.readUInt32LE(trailer + 12)];
  if (start < 0 || table + bytes > trailer || bytes % ENTRY_BYTES !== 0)
    throw new PackagingError("the executable's table of modules has another form than that of the pinned Bun");
  const modules: EmbeddedModule[] = [];
  for (let entry = table; entry < table + bytes; entry += ENTRY_BYTES) {
    const text = (field: number) => {
      const at = start + executable.readUInt32LE(entry + field);
      return executable.toString("utf8", at, at + executable.readUInt32LE(entry + field + 4));
    };
    modules.push({ name: text(0), code: text(8) });
  }
  return modules;
}
