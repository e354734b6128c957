/** The files of a deployment's source, read from its bundle. */

import { readArchive } from "../../../domain/tar/reader.ts";

/** Most bytes of a source that a page unpacks. */
const MOST_BYTES = 32 * 1024 * 1024;

/** Texts of files by path; a file that is no text is undefined. */
export type SourceFiles = ReadonlyMap<string, string | undefined>;

/**
 * The files of a bundle, a gzip-compressed tar. Throws ArchiveRefused for one that is damaged or
 * too large.
 */
export async function sourceFiles(bundle: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<SourceFiles> {
  const files = new Map<string, string | undefined>();
  for await (const entry of readArchive(chunksOf(bundle.pipeThrough(new DecompressionStream("gzip"))), {
    maxEntries: 10_000,
    maxBytes: MOST_BYTES,
  })) {
    if (entry.kind === "folder") continue;
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for await (const part of entry.content()) parts.push(new Uint8Array(part));
    files.set(entry.path, textOf(await new Blob(parts).bytes()));
  }
  return files;
}

/** Paths of files that differ, by name. */
export function changedFiles(before: SourceFiles, after: SourceFiles): readonly string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.has(path) !== after.has(path) || before.get(path) !== after.get(path)).sort();
}

async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
