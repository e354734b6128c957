/**
 * Unpacks an archive that is made as it is read, and prints what came of it and the most memory
 * that was used, as JSON. Arguments: which archive, and the target.
 */

import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { unpackArchive } from "../../src/disk/unpack.ts";
import { ARCHIVE_LIMITS } from "../../src/domain/tar/reader.ts";
import { entry } from "./tar.ts";

const MEBIBYTE = new Uint8Array(1024 * 1024);
const GIBIBYTE = 1024;
/** Where what is within the limits is written, so that a slow disk is not what is tested. */
const SMALL_LIMITS = { maxEntries: 500, maxBytes: 32 * MEBIBYTE.length };

const octal = (size: number) => `${size.toString(8).padStart(11, "0")}\0`;

async function* zeros(mebibytes: number): AsyncIterable<Uint8Array> {
  for (let n = 0; n < mebibytes; n++) yield MEBIBYTE;
}

const ARCHIVES: Record<string, () => AsyncIterable<Uint8Array>> = {
  async *"a million files"() {
    for (let n = 0; n < 1_000_000; n++) yield entry({ name: `f${n}` });
  },
  async *"a million folders in one another's place"() {
    for (let n = 0; n < 1_000_000; n++) yield entry({ name: `${n}/a/b/c/`, kind: "5" });
  },
  async *"files of 5 GiB"() {
    for (const name of ["a", "b"]) {
      yield entry({ name, size: octal(5 * GIBIBYTE * MEBIBYTE.length) });
      yield* zeros(5 * GIBIBYTE);
    }
  },
  async *"a million files of 10 MiB"() {
    for (let n = 0; n < 1_000_000; n++) {
      yield entry({ name: `f${n}`, size: octal(10 * MEBIBYTE.length) });
      yield* zeros(10);
    }
  },
  async *"10 GiB behind the end"() {
    yield entry({ name: "a", content: "x" });
    yield* zeros(10 * GIBIBYTE);
  },
  async *"a header of 5 GiB"() {
    yield entry({ name: "pax", kind: "x", size: octal(5 * GIBIBYTE * MEBIBYTE.length) });
    yield* zeros(5 * GIBIBYTE);
  },
};

const [name = "", target = ""] = process.argv.slice(2);
const archive = ARCHIVES[name];
if (!archive) throw new Error(`no archive ${name}`);
const compressed = Readable.from(archive()).pipe(createGzip({ level: 1 }));
const limits = name.includes("million") ? SMALL_LIMITS : ARCHIVE_LIMITS;
const said = await unpackArchive(compressed, target, limits).then(
  (files) => `${files.length} files`,
  (error: Error) => `${error.name}: ${error.message}`,
);
console.log(JSON.stringify({ said, peakMebibytes: process.resourceUsage().maxRSS / 1024 }));
process.exit();
