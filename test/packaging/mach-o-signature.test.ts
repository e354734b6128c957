/**
 * Signatures of Mach-O files: of a small one written here, and of what the compiler makes for
 * macOS.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureSigned, signatureFault, signedAdHoc } from "../../src/packaging/mach-o-signature.ts";

const dir = mkdtempSync(join(tmpdir(), "svc-mach-o-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const TEXT_BYTES = 0x6000;
const LINKEDIT_BYTES = 0x1230;

/**
 * A file with the load commands that matter: __TEXT, __LINKEDIT at the end, and LC_CODE_SIGNATURE
 * with `signature` zeros at the very end.
 */
function machO(signature: number): Buffer {
  const at = TEXT_BYTES + LINKEDIT_BYTES;
  const file = Buffer.alloc(at + signature);
  for (let index = 0; index < at; index++) file[index] = (index * 31) % 251;
  const words = (offset: number, ...values: number[]) => {
    for (const [index, value] of values.entries()) file.writeUInt32LE(value, offset + 4 * index);
  };
  const segment = (offset: number, name: string, start: number, bytes: number) => {
    file.fill(0, offset, offset + 72);
    words(offset, 0x19, 72);
    file.write(name, offset + 8, "latin1");
    for (const [index, value] of [0x100000000n + BigInt(start), BigInt(bytes), BigInt(start), BigInt(bytes)].entries())
      file.writeBigUInt64LE(value, offset + 24 + 8 * index);
  };
  words(0, 0xfeedfacf, 0x1000007, 3, 2, 3, 72 + 72 + 16, 0, 0);
  segment(32, "__TEXT", 0, TEXT_BYTES);
  segment(104, "__LINKEDIT", TEXT_BYTES, LINKEDIT_BYTES + signature);
  words(176, 0x1d, 16, at, signature);
  return file;
}

describe("a small file", () => {
  test("without a signature gets one that fits, in place of what was there", () => {
    const file = machO(4096);
    expect(signatureFault(file)).toBe("there is no signature");
    const signed = signedAdHoc(file, "svc");
    expect(signatureFault(signed)).toBeUndefined();
    expect(signed.includes(Buffer.from("svc\0"))).toBe(true);
    const at = TEXT_BYTES + LINKEDIT_BYTES;
    expect(signed.subarray(TEXT_BYTES, at).equals(file.subarray(TEXT_BYTES, at))).toBe(true);
    expect(signed.readBigUInt64LE(104 + 48)).toBe(BigInt(signed.length - TEXT_BYTES));
    expect(signed.readBigUInt64LE(104 + 32) % 16384n).toBe(0n);
    expect(signedAdHoc(signed, "svc").equals(signed)).toBe(true);
  });

  test("a changed byte on any page is seen, and so are bytes after the end", () => {
    const signed = signedAdHoc(machO(16), "svc");
    for (const offset of [4097, 0x5fff, 0x6000, 0x7000, TEXT_BYTES + LINKEDIT_BYTES - 1]) {
      const changed = Buffer.from(signed);
      changed[offset] = (changed[offset] ?? 0) ^ 1;
      expect(signatureFault(changed)).toBe(`page ${offset >> 12} was changed after it was signed`);
    }
    expect(signatureFault(Buffer.concat([signed, Buffer.from("x")]))).toBe("the signature is not at the end");
  });

  test("other files are refused", () => {
    expect(() => signatureFault(Buffer.from("\x7fELF and more than thirty-two bytes of it"))).toThrow("no Mach-O file");
  });
});

/** Bun fetches its runtime for macOS once; without a network there is none to look at. */
async function compiled(target: Bun.Build.CompileTarget): Promise<string | undefined> {
  const entry = join(dir, "hello.ts");
  writeFileSync(entry, "console.log('hello')");
  const result = await Bun.build({ entrypoints: [entry], compile: { target, outfile: join(dir, target) }, throw: false }).catch(
    () => undefined,
  );
  return result?.success ? join(dir, target) : undefined;
}

test.each(["bun-darwin-arm64", "bun-darwin-x64-baseline"] as const)(
  "%s: every page fits after the build, with the compiler's signature or ours",
  async (target) => {
    const path = await compiled(target);
    if (path === undefined) return console.log(`skipped: Bun's runtime for ${target} cannot be fetched`);
    await ensureSigned(path);
    expect(signatureFault(readFileSync(path))).toBeUndefined();
    expect(statSync(path).mode & 0o111).toBe(0o111);
  },
  300_000,
);
