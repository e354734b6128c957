/** KEY=VALUE lines, on stdin or in a file. */

import type { Context } from "../../context/context.ts";
import { UsageError } from "../../errors/cli-error.ts";

/** Longest stdin, in bytes. */
const MAX_BYTES = 512 * 1024;

/** All of stdin as text. Throws a UsageError when it is too long. */
export async function readStdin({ io }: Pick<Context, "io">): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (let size = 0, chunk = await io.readChunk(); chunk !== undefined; chunk = await io.readChunk()) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new UsageError(`stdin is longer than ${MAX_BYTES / 1024} KiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * KEY=VALUE lines; the first `=` splits. Empty lines and those that begin with `#` are left out.
 * Throws a UsageError that names the line, never what is in it.
 * @param source where they are from, for the error
 */
export function readPairs(text: string, source = "stdin"): [name: string, value: string][] {
  return text.split("\n").flatMap((whole, index): [string, string][] => {
    const line = whole.replace(/\r$/, "");
    if (line.trim() === "" || line.trimStart().startsWith("#")) return [];
    const at = line.indexOf("=");
    if (at < 1) throw new UsageError(`line ${index + 1} of ${source} is no KEY=VALUE`);
    return [[line.slice(0, at).trim(), line.slice(at + 1)]];
  });
}
