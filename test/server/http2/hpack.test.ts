import { expect, test } from "bun:test";
import fc from "fast-check";
import { BlockMalformed, BlockTooLarge, type Field, HeaderDecoder, headerBlock } from "../../../src/server/http2/hpack.ts";
import { huffmanText } from "../../../src/server/http2/huffman.ts";
import { seeded } from "../../harness/seed.ts";

const MOST = 16_384;

function fields(text: string): Field[] {
  return text.split("|").map((field) => {
    const at = field.indexOf(": ");
    return [field.slice(0, at), field.slice(at + 2)];
  });
}

/** RFC 7541, appendix C: blocks of one connection each, and what they say. */
const EXAMPLES: readonly (readonly (readonly [hex: string, fields: string])[])[] = [
  [
    ["828684410f7777772e6578616d706c652e636f6d", ":method: GET|:scheme: http|:path: /|:authority: www.example.com"],
    ["828684be58086e6f2d6361636865", ":method: GET|:scheme: http|:path: /|:authority: www.example.com|cache-control: no-cache"],
    [
      "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
      ":method: GET|:scheme: https|:path: /index.html|:authority: www.example.com|custom-key: custom-value",
    ],
  ],
  [
    ["828684418cf1e3c2e5f23a6ba0ab90f4ff", ":method: GET|:scheme: http|:path: /|:authority: www.example.com"],
    ["828684be5886a8eb10649cbf", ":method: GET|:scheme: http|:path: /|:authority: www.example.com|cache-control: no-cache"],
    [
      "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
      ":method: GET|:scheme: https|:path: /index.html|:authority: www.example.com|custom-key: custom-value",
    ],
  ],
];

test("reads the RFC's examples, with their tables", () => {
  for (const blocks of EXAMPLES) {
    const decoder = new HeaderDecoder();
    for (const [hex, said] of blocks) expect(decoder.decode(Buffer.from(hex, "hex"), MOST)).toEqual(fields(said));
  }
});

test("reads what it writes", () => {
  const name = fc.stringMatching(/^[a-z0-9-]{1,40}$/);
  const value = fc.stringMatching(/^[\x20-\x7e]{0,300}$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 30 }), (given) => {
      expect(new HeaderDecoder().decode(headerBlock(given), 1_000_000)).toEqual(given);
    }),
    seeded(100),
  );
});

test("forgets the oldest fields, and takes smaller tables", () => {
  const decoder = new HeaderDecoder();
  const kept = (name: string, value: string) => Buffer.concat([Buffer.from([0x40]), text(name), text(value)]);
  for (let at = 0; at < 10; at++) decoder.decode(kept(`name-${at}`, "v".repeat(1_000)), MOST);
  expect(decoder.decode(Buffer.from([0x80 | 62]), MOST)).toEqual([["name-9", "v".repeat(1_000)]]);
  expect(() => decoder.decode(Buffer.from([0x80 | 65]), MOST)).toThrow(BlockMalformed);
  decoder.decode(Buffer.from([0x20]), MOST);
  expect(() => decoder.decode(Buffer.from([0x80 | 62]), MOST)).toThrow(BlockMalformed);
});

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([bytes.length < 127 ? Buffer.from([bytes.length]) : integer(bytes.length), bytes]);
}

function integer(value: number): Buffer {
  const rest = value - 127;
  return Buffer.from([127, (rest & 0x7f) | 0x80, rest >> 7]);
}

test("a small block is not read to much more than its bound", () => {
  const decoder = new HeaderDecoder();
  decoder.decode(Buffer.concat([Buffer.from([0x40]), text("x"), text("v".repeat(3_000))]), MOST);
  expect(() => decoder.decode(Buffer.alloc(10_000, 0x80 | 62), MOST)).toThrow(BlockTooLarge);
});

test("whatever the bytes, it reads them or says that they are no block", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        for (const field of new HeaderDecoder().decode(bytes, MOST)) expect(field).toHaveLength(2);
      } catch (error) {
        expect(error instanceof BlockMalformed || error instanceof BlockTooLarge).toBe(true);
      }
    }),
    seeded(500),
  );
});

test("Huffman's padding is ones, and less than a byte of them", () => {
  expect(huffmanText(Buffer.from("f1e3c2e5f23a6ba0ab90f4ff", "hex"), 0, 12)).toBe("www.example.com");
  expect(huffmanText(Buffer.from("f1e3c2e5f23a6ba0ab90f4ffff", "hex"), 0, 13)).toBeUndefined();
  expect(huffmanText(Buffer.from([0x18]), 0, 1)).toBeUndefined();
  expect(huffmanText(Buffer.from([0xff, 0xff, 0xff, 0xff]), 0, 4)).toBeUndefined();
});
