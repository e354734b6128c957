/** Compressed forms of a file, and patches from one build to the next. */

import { chmod, readFile, rename, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { constants, gzip, type ZstdOptions, zstdCompress } from "node:zlib";
import { PackagingError } from "./packaging-error.ts";

/** The compression of a release's file; the name is the file's extension. */
export type Encoding = "zst" | "gz";

/** The encodings of every binary. */
export const ENCODINGS: readonly Encoding[] = ["zst", "gz"];

/** The longest window that `zstd -d` reads without flags: 128 MiB. */
const PLAIN_WINDOW_LOG = 27;

/**
 * The level for patches. A higher one takes much longer and saves nothing, because long distance
 * matching finds nearly everything.
 */
const DELTA_LEVEL = 12;

/** The gzip level (1 to 9) that corresponds to a zstd level (1 to 19). */
export function gzipLevel(level: number): number {
  return Math.min(9, Math.max(1, Math.ceil(level / 2)));
}

/**
 * Writes `<file>.<encoding>`. `level` is that of zstd, 1 to 19. The same input gives the same
 * bytes: the output contains no time or name.
 */
export async function compressFile(file: string, encoding: Encoding, level: number): Promise<void> {
  const content = await readFile(file);
  const compressed =
    encoding === "gz"
      ? await promisify(gzip)(content, { level: gzipLevel(level) })
      : await zstd(content, {
          params: {
            [constants.ZSTD_c_compressionLevel]: level,
            [constants.ZSTD_c_windowLog]: PLAIN_WINDOW_LOG,
            [constants.ZSTD_c_enableLongDistanceMatching]: 1,
            [constants.ZSTD_c_checksumFlag]: 1,
          },
        });
  await writeFile(`${file}.${encoding}`, compressed);
}

/**
 * Writes the patch that turns `older` into `file`; `zstd -d --patch-from=<older> --long=31` applies
 * it. Made with the `zstd` tool: zlib's own encoder takes a dictionary, but looks for matches only
 * near its end, which makes the patch a hundred times larger. Throws PackagingError when the tool
 * is missing.
 */
export async function writeDelta(older: string, file: string, patch: string, level: number): Promise<void> {
  const tool = Bun.which("zstd");
  if (!tool) throw new PackagingError("patches from older releases are made by the zstd tool, which is not installed");
  const argv = ["-q", "-f", `-${Math.min(DELTA_LEVEL, level)}`, "--single-thread", "--long=27", "--check", "--patch-from", older, file];
  const child = Bun.spawn([tool, ...argv, "-o", `${patch}.new`], { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const [stderr, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) {
    await rm(`${patch}.new`, { force: true });
    throw new PackagingError(`zstd cannot make ${patch}: ${stderr.trim()}`);
  }
  await chmod(`${patch}.new`, 0o644);
  await rename(`${patch}.new`, patch);
}

function zstd(content: Buffer, options: ZstdOptions): Promise<Buffer> {
  return promisify<Buffer, ZstdOptions, Buffer>(zstdCompress)(content, { ...options, pledgedSrcSize: content.length } as ZstdOptions);
}
