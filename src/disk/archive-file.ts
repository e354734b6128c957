/**
 * Archives: tar in gzip, and zip. The same entries give the same bytes: all have one time, no
 * owner, and the given order.
 */

import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { crc32, deflateRaw, gzip } from "node:zlib";
import { TAR_END, tarEntry } from "../domain/tar/writer.ts";

/** A file in an archive. Folders are derived from the paths. */
export interface ArchivedFile {
  /** Relative, with `/`. */
  readonly path: string;
  readonly content: Buffer;
  /** 0o644 or 0o755. */
  readonly mode: number;
}

/** The contents of an archive, and its compression level (1 to 9). */
export interface ArchiveOptions {
  readonly files: readonly ArchivedFile[];
  /**
   * The time of every entry in milliseconds since 1970, stored in seconds (in a zip in steps of
   * two, and not before 1980).
   */
  readonly time: number;
  readonly level: number;
}

/** Writes `path`: a zip when its name ends in `.zip`, else a tar in gzip. */
export async function writeArchive(path: string, order: ArchiveOptions): Promise<void> {
  await writeFile(path, path.endsWith(".zip") ? await zip(order) : await tarGz(order));
}

/** A tar file in gzip. */
export async function tarGz({ files, time, level }: ArchiveOptions): Promise<Buffer> {
  const blocks = files.flatMap((file) => tarEntry({ ...file, time }));
  return promisify<Buffer, object, Buffer>(gzip)(Buffer.concat([...blocks, TAR_END]), { level });
}

const ZIP_VERSION = 20;
const MADE_ON_UNIX = 3 << 8;
const UTF8_NAMES = 0x0800;
const DEFLATE = 8;
const REGULAR_FILE = 0o100000;

/** A zip file, after PKWARE's APPNOTE, 4.3. */
export async function zip({ files, time, level }: ArchiveOptions): Promise<Buffer> {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, content, mode } of files) {
    const packed = await promisify<Buffer, object, Buffer>(deflateRaw)(content, { level });
    const name = Buffer.from(path);
    const entry = littleEndian(
      [2, ZIP_VERSION],
      [2, UTF8_NAMES],
      [2, DEFLATE],
      [4, dosTime(time)],
      [4, crc32(content)],
      [4, packed.length],
      [4, content.length],
      [2, name.length],
      [2, 0],
    );
    parts.push(littleEndian([4, 0x04034b50]), entry, name, packed);
    directory.push(
      littleEndian([4, 0x02014b50], [2, MADE_ON_UNIX | ZIP_VERSION]),
      entry,
      littleEndian([2, 0], [2, 0], [2, 0], [4, ((REGULAR_FILE | mode) << 16) >>> 0], [4, offset]),
      name,
    );
    offset += 4 + entry.length + name.length + packed.length;
  }
  const bytes = directory.reduce((sum, part) => sum + part.length, 0);
  const end = littleEndian([4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, bytes], [4, offset], [2, 0]);
  return Buffer.concat([...parts, ...directory, end]);
}

function littleEndian(...fields: readonly (readonly [bytes: 2 | 4, value: number])[]): Buffer {
  return Buffer.concat(
    fields.map(([bytes, value]) => {
      const field = Buffer.alloc(bytes);
      field.writeUIntLE(value, 0, bytes);
      return field;
    }),
  );
}

/** A time in the format of DOS, in UTC: the time in the lower half, the date in the upper. */
function dosTime(time: number): number {
  const at = new Date(Math.max(time, Date.UTC(1980, 0, 1)));
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const clock = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return ((date << 16) | clock) >>> 0;
}
