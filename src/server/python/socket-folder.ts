/** Folders for the Unix sockets of processes. */

import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemWords } from "../../disk/disk-error.ts";
import { finding } from "../../domain/finding.ts";
import { IMPORT_FAILED } from "../../domain/rules/loading.ts";
import { ToolchainError } from "../../python/toolchain.ts";

/**
 * Longest path, in bytes, of a folder in which a Unix socket of a pool has a valid path on every
 * platform.
 */
const SOCKET_DIR_LENGTH = 76;

/**
 * A new folder, mode 0700, in another one, or a temporary one where paths of sockets would be too
 * long. Throws ToolchainError when none can be made.
 */
export async function makeSocketFolder(wanted: string): Promise<string> {
  if (Buffer.byteLength(wanted) > SOCKET_DIR_LENGTH) return makeTemporaryFolder();
  await mkdir(wanted, { recursive: true, mode: 0o700 });
  return mkdtemp(join(wanted, "pool-"));
}

async function makeTemporaryFolder(): Promise<string> {
  const above = tmpdir();
  try {
    return await mkdtemp(join(above, "svc-"));
  } catch (error) {
    const words = systemWords(error);
    if (words === undefined) throw error;
    const said = IMPORT_FAILED.noFolder({ folder: above, problem: words });
    throw new ToolchainError(said.message, [finding(said, undefined)]);
  }
}
