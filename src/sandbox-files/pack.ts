/**
 * Files of this machine as a tar archive, as they are read. Links are packed as links: nothing
 * outside of what was named is read.
 */

import { constants } from "node:fs";
import { lstat, open, readdir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { TAR_END, tarHead, tarPadding } from "../domain/tar/writer.ts";
import { CliError } from "../errors/cli-error.ts";

const PIECE = 256 * 1024;

/** What was packed so far. */
export interface Packed {
  files: number;
  bytes: number;
  /** Sockets, devices and the like. */
  readonly leftOut: string[];
}

/** Packs a file or folder under a name. Rejects with CliError or the system's error. */
export async function* pack(path: string, name: string, packed: Packed): AsyncIterable<Uint8Array> {
  yield* entry(path, name, packed, true);
  yield TAR_END;
}

/** @param isNamed whether it was named itself, and may be a link then that is followed */
async function* entry(path: string, name: string, packed: Packed, isNamed = false): AsyncIterable<Uint8Array> {
  const found = isNamed ? await stat(path) : await lstat(path);
  const { mode, mtimeMs: time } = found;
  const facts = { mode: mode & 0o777, time: Math.max(time, 0) };
  if (found.isDirectory()) {
    yield* tarHead({ kind: "folder", path: `${name}/`, size: 0, ...facts });
    for (const one of (await readdir(path)).sort()) yield* entry(join(path, one), `${name}/${one}`, packed);
  } else if (found.isSymbolicLink()) yield* tarHead({ kind: "link", path: name, size: 0, target: await readlink(path), ...facts });
  else if (found.isFile()) yield* file(path, name, packed, facts, isNamed);
  else packed.leftOut.push(path);
}

async function* file(
  path: string,
  name: string,
  packed: Packed,
  facts: { readonly mode: number; readonly time: number },
  mayBeLink: boolean,
): AsyncIterable<Uint8Array> {
  const handle = await open(path, constants.O_RDONLY | (mayBeLink ? 0 : (constants.O_NOFOLLOW ?? 0)));
  try {
    const { size } = await handle.stat();
    yield* tarHead({ kind: "file", path: name, size, ...facts });
    for (let left = size; left > 0; ) {
      const { bytesRead, buffer } = await handle.read(new Uint8Array(Math.min(left, PIECE)));
      if (bytesRead === 0)
        throw new CliError(`${path} became shorter while it was read`, { code: "file_changed", hint: "Copy it when nobody writes it." });
      left -= bytesRead;
      packed.bytes += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    yield tarPadding(size);
    packed.files++;
  } finally {
    await handle.close();
  }
}
