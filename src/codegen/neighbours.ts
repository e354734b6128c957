/** The files beside which code is generated. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readRegularFile } from "../disk/regular-file.ts";

/** Most files of a folder that are read, and bytes of each. */
const MOST_FILES = 1000;
const MOST_BYTES = 4 * 1024 * 1024;

/** A file. */
export interface Neighbour {
  readonly path: string;
  readonly text: string;
}

/** The files of a folder with an extension such as `.go`, by name; none when there is no folder. */
export async function* neighbours(folder: string, extension: string): AsyncGenerator<Neighbour, void, undefined> {
  const names = await readdir(folder).catch(() => []);
  const wanted = names.filter((name) => name.endsWith(extension)).sort();
  for (const name of wanted.slice(0, MOST_FILES)) {
    const path = join(folder, name);
    const text = readable(path);
    if (text !== undefined) yield { path, text };
  }
}

/** The text of a file; undefined for what is none, or too large to be read for this. */
function readable(path: string): string | undefined {
  try {
    return readRegularFile(path, { maxBytes: MOST_BYTES })?.toString("utf8");
  } catch {
    return undefined;
  }
}

/** What the first of the files says; undefined when none does. */
export async function firstAmong<T>(files: AsyncIterable<Neighbour>, read: (file: Neighbour) => T | undefined): Promise<T | undefined> {
  for await (const file of files) {
    const found = read(file);
    if (found !== undefined) return found;
  }
  return undefined;
}
