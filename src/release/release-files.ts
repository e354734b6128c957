/** Reading the files of an origin, on a host or in a folder. */

import { createReadStream, statSync } from "node:fs";
import { join } from "node:path";
import { DiskError, systemCode } from "../disk/disk-error.ts";
import { downloadUrl, type HttpAccess } from "./http-source.ts";
import { describeOrigin, type Origin } from "./origin.ts";
import { ReleaseError } from "./release-error.ts";

/** The files of an origin. */
export interface ReleaseFiles {
  readonly origin: Origin;
  /** The name of a file in messages. */
  nameOf(path: string): string;
  /**
   * The bytes of a file below the base, or of an https URL. Fails as soon as there are more than
   * `maxBytes`.
   */
  open(path: string, maxBytes: number): AsyncIterable<Uint8Array>;
  /** The whole content of a small file. */
  read(path: string, maxBytes: number): Promise<Uint8Array>;
}

/** The files of an origin: over HTTP, or from a folder. */
export function releaseFiles(access: HttpAccess): ReleaseFiles {
  const { origin } = access;
  const nameOf = (path: string) => (isUrl(path) ? path : origin.isUrl ? `${origin.base}/${path}` : join(origin.base, path));
  const open = (path: string, maxBytes: number) =>
    origin.isUrl || isUrl(path) ? downloadUrl(access, nameOf(path), maxBytes) : readFolder(origin, nameOf(path), maxBytes);
  return {
    origin,
    nameOf,
    open,
    async read(path, maxBytes) {
      const parts: Uint8Array[] = [];
      for await (const part of open(path, maxBytes)) parts.push(part);
      return Buffer.concat(parts);
    },
  };
}

function isUrl(path: string): boolean {
  return path.startsWith("https://");
}

async function* readFolder(origin: Origin, path: string, maxBytes: number): AsyncGenerator<Uint8Array> {
  try {
    const found = statSync(path);
    if (!found.isFile())
      throw new ReleaseError(`${path} is no file`, "release_not_found", { hint: `It was looked for in ${describeOrigin(origin)}.` });
    if (found.size > maxBytes)
      throw new ReleaseError(`${path} has ${found.size} bytes, more than the ${maxBytes} it may have`, "release_too_large", {
        hint: "Nothing was installed. It is not what was signed.",
      });
    for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024, end: maxBytes - 1 })) yield chunk as Uint8Array;
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR")
      throw new ReleaseError(`${path} is not there`, "release_not_found", {
        hint: `It was looked for in ${describeOrigin(origin)}.`,
        cause: error,
      });
    if (error instanceof ReleaseError || code === undefined) throw error;
    throw DiskError.from("read", path, error);
  }
}
