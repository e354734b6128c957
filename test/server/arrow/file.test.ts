/** Files of Arrow against Arrow's own library, compressed inside or not, and against damaged ones. */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { inflateLz4 } from "../../../src/server/arrow/buffer-codecs.ts";
import { arrowFile, isArrowFile, streamOfFile } from "../../../src/server/arrow/file.ts";
import { ArrowRefused, readArrowStream } from "../../../src/server/arrow/read-stream.ts";
import { arrowStream } from "../../../src/server/arrow/write-stream.ts";
import { lacks } from "../../harness/needs.ts";
import { seeded } from "../../harness/seed.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-arrow-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const hasArrow = Bun.spawnSync(["python3", "-c", "import pyarrow"], { stderr: "ignore" }).success;
const MOST = 1_000_000;
const TEXT = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.STRING } });

function python(text: string): string {
  const { exitCode, stderr, stdout } = Bun.spawnSync(["python3", "-c", text], { cwd: folder });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString();
}

const refuses = (read: () => unknown): boolean => {
  try {
    read();
    return false;
  } catch (error) {
    if (error instanceof ArrowRefused) return true;
    throw error;
  }
};

describe.skipIf(lacks("pyarrow", hasArrow))("files that Arrow's own library writes and reads", () => {
  test("a file is whole to it, at every size", () => {
    for (const rows of [0, 1, 3, 1_000]) {
      const values = Array.from({ length: rows }, (_, row) => (row % 3 === 1 ? null : `text ${row}`));
      writeFileSync(join(folder, "own.arrow"), arrowFile([{ name: "a", type: TEXT, values }], rows));
      const said = python(`
import json, pyarrow as pa, pyarrow.feather as feather
file = pa.ipc.open_file("own.arrow")
for at in range(file.num_record_batches):
    file.get_batch(at).validate(full=True)
print(json.dumps(feather.read_table("own.arrow").to_pydict()))`);
      expect(JSON.parse(said)).toEqual({ a: values });
    }
  });

  test("its files are read, in several batches, plain and compressed by LZ4 and Zstandard", () => {
    python(`
import pyarrow as pa, pyarrow.feather as feather
table = pa.table({"n": list(range(5000)), "s": ["ab" * (n % 40) for n in range(5000)], "d": pa.array(["x", None] * 2500).dictionary_encode()})
for how in ("uncompressed", "lz4", "zstd"):
    feather.write_feather(table, how, compression=how, chunksize=1700)`);
    const numbers = Array.from({ length: 5_000 }, (_, n) => n);
    for (const how of ["uncompressed", "lz4", "zstd"]) {
      const { columns, rows } = readArrowStream(streamOfFile(readFileSync(join(folder, how))), MOST, 10 * MOST);
      expect(rows, how).toBe(5_000);
      expect(columns[0], how).toEqual(numbers);
      expect(columns[1], how).toEqual(numbers.map((n) => "ab".repeat(n % 40)));
      expect(columns[2]?.slice(0, 3), how).toEqual(["x", null, "x"]);
      if (how === "uncompressed") continue;
      expect(refuses(() => readArrowStream(streamOfFile(readFileSync(join(folder, how))), MOST))).toBe(true);
      expect(refuses(() => readArrowStream(streamOfFile(readFileSync(join(folder, how))), MOST, 10_000))).toBe(true);
    }
  });

  test("damaged bytes are refused or read, and nothing else", () => {
    python(`
import pyarrow as pa, pyarrow.feather as feather
for how in ("lz4", "zstd"):
    feather.write_feather(pa.table({"n": [1, 2, 3] * 40, "s": ["abc"] * 120}), f"small.{how}", compression=how)`);
    const files = ["lz4", "zstd"].map((how) => readFileSync(join(folder, `small.${how}`)));
    fc.assert(
      fc.property(fc.constantFrom(...files), fc.nat(), fc.integer({ min: 1, max: 255 }), fc.boolean(), (file, at, change, isCut) => {
        const bytes = Uint8Array.from(isCut ? file.subarray(0, at % file.length) : file);
        if (!isCut) bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ change;
        refuses(() => readArrowStream(isArrowFile(bytes) ? streamOfFile(bytes) : bytes, 10_000, 100_000));
      }),
      seeded(600),
    );
  });
});

test("a stream is no file, and a file without its end is told", () => {
  const columns = [{ name: "a", type: TEXT, values: ["x"] }];
  expect([isArrowFile(arrowStream(columns, 1, {})), isArrowFile(arrowFile(columns, 1))]).toEqual([false, true]);
  expect(() => streamOfFile(arrowFile(columns, 1).subarray(0, -1))).toThrow("no whole file of Arrow");
});

test("frames of LZ4 that lie about their length, or refer to what is not there, are refused", () => {
  const frame = (...block: number[]) =>
    new Uint8Array([4, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, block.length, 0, 0, 0, ...block, 0, 0, 0, 0]);
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  const literal = frame(0x30, 97, 98, 99);
  expect(text(inflateLz4(literal, 3))).toBe("abc");
  expect(text(inflateLz4(frame(0x11, 97, 1, 0), 6))).toBe("aaaaaa");
  expect(() => inflateLz4(literal, 2)).toThrow(RangeError);
  expect(() => inflateLz4(literal, 4)).toThrow(RangeError);
  expect(() => inflateLz4(frame(0x11, 97, 2, 0), 6)).toThrow(RangeError);
  expect(() => inflateLz4(frame(0x11, 97, 0, 0), 6)).toThrow(RangeError);
  expect(() => inflateLz4(frame(0xf0, 255, 255), 600)).toThrow(RangeError);
  expect(() => inflateLz4(literal.subarray(0, 9), 3)).toThrow(RangeError);
});
