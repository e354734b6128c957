/** Compressed bodies: their inflated content, and its bound while they are read. */

import { describe, expect, test } from "bun:test";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { BodyRefused, readBody } from "../../../../src/server/wire/http/body.ts";
import { createBodyBudget } from "../../../../src/server/wire/http/body-budget.ts";
import { acceptedEncoding, compress, ENCODINGS, type Encoding } from "../../../../src/server/wire/http/content-encoding.ts";
import { patience, seeded } from "../../../harness/seed.ts";

const MIB = 1024 * 1024;

const compressed: Readonly<Record<Encoding, (bytes: Uint8Array) => Uint8Array<ArrayBuffer>>> = {
  gzip: (bytes) => new Uint8Array(gzipSync(bytes)),
  zstd: (bytes) => new Uint8Array(Bun.zstdCompressSync(bytes)),
};

const request = (body: BodyInit, encoding: string, headers: Record<string, string> = {}) =>
  new Request("http://localhost/", { method: "POST", body, headers: { "content-encoding": encoding, ...headers } });

/** The inflated body, or the status that it is refused with. */
function read(body: BodyInit, encoding: string, maxBytes = MIB): Promise<Uint8Array | number> {
  return readBody(request(body, encoding), maxBytes, { inflates: true, deadlineMs: 5_000 }).catch((error: unknown) => {
    if (error instanceof BodyRefused) return error.status;
    throw error;
  });
}

const concat = (...parts: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(parts));

/** A stream of bytes in chunks, and the number of bytes that were read. */
function inPieces(bytes: Uint8Array, size: number): { stream: ReadableStream<Uint8Array>; taken: number } {
  const source = {
    taken: 0,
    stream: new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = bytes.slice(source.taken, source.taken + size);
        source.taken += piece.length;
        if (piece.length > 0) controller.enqueue(piece);
        else controller.close();
      },
    }),
  };
  return source;
}

describe.each(ENCODINGS)("%s", (encoding) => {
  const packed = compressed[encoding];

  test(
    "a body is read to what it held, whatever it was and however it comes",
    async () => {
      const content = fc.oneof(
        fc.uint8Array({ maxLength: 3_000 }),
        fc.tuple(fc.nat(255), fc.nat(300_000)).map(([byte, length]) => new Uint8Array(length).fill(byte)),
      );
      await fc.assert(
        fc.asyncProperty(content, fc.integer({ min: 1, max: 5_000 }), async (bytes, size) => {
          expect(await read(inPieces(packed(bytes), size).stream, encoding)).toEqual(bytes);
        }),
        seeded(60, 20_000),
      );
    },
    patience(300_000),
  );

  test("the headers that told of what was sent are gone afterwards", async () => {
    const body = packed(new Uint8Array(10));
    const sent = request(body, encoding.toUpperCase(), { "content-length": String(body.length) });
    await readBody(sent, 100, { inflates: true });
    expect([sent.headers.has("content-encoding"), sent.headers.has("content-length")]).toEqual([false, false]);
  });

  test(
    "one that was cut, damaged or followed by anything is refused, or holds no more than it may",
    async () => {
      const bytes = crypto.getRandomValues(new Uint8Array(5_000));
      const whole = packed(bytes);
      expect(await read(whole.slice(0, -1), encoding)).toBe(400);
      expect(await read(concat(whole, new Uint8Array([1, 2, 3])), encoding)).toBe(400);
      expect(await read(bytes, encoding)).toBe(400);
      expect(await read(concat(whole, whole), encoding)).toEqual(concat(bytes, bytes));
      const cases = fc.record({
        length: fc.integer({ min: 1, max: 20_000 }),
        damage: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        cut: fc.nat(30),
      });
      await fc.assert(
        fc.asyncProperty(cases, async ({ length, damage, cut }) => {
          const body = packed(new TextEncoder().encode("some text of a body; ".repeat(length).slice(0, length)));
          for (const [at, byte] of damage) body[at % body.length] = byte;
          const found = await read(body.slice(0, Math.max(1, body.length - cut)), encoding, 8_192);
          if (typeof found === "number") expect([400, 413]).toContain(found);
          else expect(found.length).toBeLessThanOrEqual(8_192);
        }),
        seeded(150, 200_000),
      );
    },
    patience(300_000),
  );

  test("one that holds too much is refused before it is read to its end", async () => {
    const bomb = packed(new Uint8Array(256 * MIB));
    const source = inPieces(bomb, 512);
    expect(await read(source.stream, encoding)).toBe(413);
    expect(source.taken).toBeLessThan(bomb.length / 4);
  });

  test("it takes room for what it holds, and waits for it unread", async () => {
    const budget = createBodyBudget(8 * MIB, 1);
    const take = async (length: number, maxBytes: number) => {
      const share = budget.share();
      const sent = request(packed(new Uint8Array(length)), encoding);
      const outcome = await readBody(sent, maxBytes, { share, inflates: true }).then(
        (body) => body.length,
        (error: BodyRefused) => error.status,
      );
      const { held } = budget;
      share.release();
      return [outcome, held];
    };
    expect(await take(16_000, 16 * MIB)).toEqual([16_000, 0]);
    expect(await take(200_000, 300_000)).toEqual([200_000, 256 * 1024 - 16 * 1024]);
    expect(await take(MIB, 2 * MIB)).toEqual([MIB, MIB - 16 * 1024]);
    expect(await take(5 * MIB, 32 * MIB)).toEqual([503, 4 * MIB - 16 * 1024]);
    expect(budget.held).toBe(0);
  });

  test("what is compressed here is read elsewhere", async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(2_000));
    const packedHere = await compress(bytes, encoding);
    expect(new Uint8Array(encoding === "gzip" ? gunzipSync(packedHere) : Bun.zstdDecompressSync(packedHere))).toEqual(bytes);
  });
});

test("other encodings are refused, and every one where callers are not known", async () => {
  for (const encoding of ["br", "deflate", "gzip, gzip", "zstd,gzip", ""])
    expect([encoding, await read("x", encoding)]).toEqual([encoding, 415]);
  await expect(readBody(request(compressed.gzip(new Uint8Array(1)), "gzip"), MIB)).rejects.toMatchObject({
    status: 415,
    headers: { "accept-encoding": "identity" },
  });
  await expect(readBody(request("x", "br"), MIB, { inflates: true })).rejects.toMatchObject({
    headers: { "accept-encoding": "zstd, gzip" },
  });
  expect(await read("plain", "identity")).toEqual(new TextEncoder().encode("plain"));
});

test.each([
  [null, undefined],
  ["", undefined],
  ["identity", undefined],
  ["br, deflate", undefined],
  ["gzip", "gzip"],
  ["GZIP;q=0.5", "gzip"],
  ["gzip, deflate, br, zstd", "zstd"],
  ["gzip;q=1.0, zstd;q=0.1", "gzip"],
  ["zstd;q=0, gzip", "gzip"],
  ["zstd ; q=0.000 , gzip ; q=0", undefined],
  ["*", "zstd"],
  ["*;q=0", undefined],
  ["*, zstd;q=0", "gzip"],
])("Accept-Encoding %j takes %p", (header, encoding) => {
  expect(acceptedEncoding(header)).toBe(encoding as Encoding | undefined);
});
