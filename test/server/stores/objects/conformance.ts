/** What every object store must do. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type ObjectBody, ObjectMismatch, type ObjectStore, type PutOptions } from "../../../../src/server/stores/objects/store.ts";
import { readByDigest, verified } from "../../../../src/server/stores/objects/verified.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { seeded } from "../../../harness/seed.ts";
import type { Driver } from "../driver.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const digestOf = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const textOf = async (body: ObjectBody | undefined) => body && (await new Response(body).text());

/** Bytes in chunks of a few, a turn apart. */
async function* inChunks(bytes: Uint8Array, length = 3): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) {
    await Bun.sleep(0);
    yield bytes.subarray(at, at + length);
  }
}

async function* breakingOff(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
  throw new Error("the connection was lost");
}

/** Runs the suite against a driver. */
export function objectsConformance(driver: Driver<ObjectStore>): void {
  describe(`object store: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: ObjectStore;
    const put = (key: string, text: string, options?: PutOptions) => store.put(key, inChunks(bytesOf(text)), options);
    const read = async (key: string) => textOf(await store.get(key));
    const keys = async (options: Partial<Parameters<ObjectStore["list"]>[0]> = {}) =>
      (await store.list({ limit: 1_000, ...options })).map(({ key }) => key);

    beforeEach(async () => {
      folder = new TempFolder();
      store = await driver.open(folder.path);
    });
    afterEach(() => folder[Symbol.dispose]());

    test("an object comes back as it went in, whole and in parts, also after the store was opened again", async () => {
      const bytes = crypto.getRandomValues(new Uint8Array(50_000));
      expect(await store.put("datasets/1/rows.parquet", inChunks(bytes, 7_001))).toEqual({ size: bytes.length, sha256: digestOf(bytes) });
      store = await driver.open(folder.path);
      const get = async (range?: { start: number; end: number }) => {
        const body = await store.get("datasets/1/rows.parquet", range);
        return body && new Response(body).bytes();
      };
      expect(await get()).toEqual(bytes);
      expect(await get({ start: 10, end: 20 })).toEqual(bytes.slice(10, 20));
      expect(await get({ start: 49_999, end: 50_000 })).toEqual(bytes.slice(49_999));
      expect(await get({ start: 5, end: 5 })).toEqual(new Uint8Array());
      expect(await store.size("datasets/1/rows.parquet")).toBe(50_000);
    });

    test("an empty object is an object", async () => {
      expect(await put("empty", "", { size: 0, sha256: digestOf(new Uint8Array()) })).toMatchObject({ size: 0 });
      expect([await store.size("empty"), await read("empty")]).toEqual([0, ""]);
    });

    test("what is not there has no size and no content, and is deleted without an error", async () => {
      expect([await store.size("none"), await store.get("none"), await store.get("no/ne", { start: 0, end: 1 })]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      await store.delete("none");
    });

    test("a put takes the place of what was there; a conditional one leaves it", async () => {
      await put("key", "first");
      expect(await put("key", "second")).toMatchObject({ size: 6 });
      expect(await put("key", "third", { ifAbsent: true })).toBeUndefined();
      expect(await read("key")).toBe("second");
      await store.delete("key");
      expect(await put("key", "fourth", { ifAbsent: true })).toMatchObject({ size: 6 });
      expect(await read("key")).toBe("fourth");
    });

    test("of conditional puts that race, one is kept", async () => {
      for (let round = 0; round < 10; round++) {
        const texts = Array.from({ length: 8 }, (_, n) => `text ${n}`);
        const taken = await Promise.all(texts.map((text) => put(`race/${round}`, text, { ifAbsent: true })));
        const winners = texts.filter((_, n) => taken[n]);
        expect(winners).toEqual([(await read(`race/${round}`)) ?? ""]);
      }
    });

    test.each<[string, string, PutOptions]>([
      ["of other bytes", "text", { sha256: digestOf(bytesOf("tent")) }],
      ["that is too short", "text", { size: 5 }],
      ["that is too long", "text", { size: 3 }],
      ["of the right length and other bytes", "text", { size: 4, sha256: digestOf(bytesOf("tent")) }],
    ])("a put %s is refused and changes nothing", async (_name, text, options) => {
      await put("key", "before");
      await expect(put("key", text, options)).rejects.toBeInstanceOf(ObjectMismatch);
      await expect(put("new", text, { ...options, ifAbsent: true })).rejects.toBeInstanceOf(ObjectMismatch);
      expect([await read("key"), await keys()]).toEqual(["before", ["key"]]);
    });

    test("a put that breaks off is rejected with what broke it, and changes nothing", async () => {
      await put("key", "before");
      for (const key of ["key", "new"])
        await expect(store.put(key, breakingOff(bytesOf("half")))).rejects.toThrow("the connection was lost");
      expect([await read("key"), await keys()]).toEqual(["before", ["key"]]);
    });

    test("a reader goes on with what it began to read", async () => {
      const bytes = crypto.getRandomValues(new Uint8Array(3_000_000));
      await store.put("key", inChunks(bytes, 500_000));
      const body = await store.get("key");
      const reader = (body instanceof Blob ? body.stream() : (body as ReadableStream<Uint8Array>)).getReader();
      const chunks = [(await reader.read()).value as Uint8Array];
      await put("key", "other");
      for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value);
      expect(digestOf(Buffer.concat(chunks))).toBe(digestOf(bytes));
    });

    test("lists by prefix, in the order of keys, page by page", async () => {
      const all = ["a-b", "a.b", "aa-0/x", "aa.1", "aa/b", "aa/b0", "aa/b1/c", "aaa", "ab/c", "b0", "zz/z"];
      for (const key of all) await put(key, key);
      expect(await store.list({ limit: 1 })).toEqual([{ key: "a-b", size: 3 }]);
      expect(await keys()).toEqual(all.toSorted());
      expect(await keys({ prefix: "aa/" })).toEqual(["aa/b", "aa/b0", "aa/b1/c"]);
      expect(await keys({ prefix: "a", after: "aa/b0", limit: 2 })).toEqual(["aa/b1/c", "aaa"]);
      expect([await keys({ prefix: "none" }), await keys({ after: "zz/z" }), await keys({ limit: 0 })]).toEqual([[], [], []]);
    });

    test("pages of any length put together are the whole list, whatever the prefix", async () => {
      const part = fc.stringMatching(/^[ab]{1,2}[-.]?[ab]$/);
      const key = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(key, { maxLength: 12 }),
          fc.stringMatching(/^[ab/]{0,4}$/),
          fc.integer({ min: 1, max: 4 }),
          async (given, prefix, limit) => {
            using own = new TempFolder();
            store = await driver.open(own.path);
            const stored = given.filter((one) => !given.some((other) => other.startsWith(`${one}/`)));
            for (const one of stored) await put(one, "x");
            const found: string[] = [];
            for (let page = await keys({ prefix, limit }); page.length > 0; page = await keys({ prefix, limit, after: found.at(-1) ?? "" }))
              found.push(...page);
            expect(found).toEqual(stored.filter((one) => one.startsWith(prefix)).sort());
          },
        ),
        seeded(60, 5_000),
      );
    });

    test.each(["", "a", "..", "../x", "a/../b", "/ab", "ab/", "ab//c", "Ab", "ab/.c", "ab.", "a b", "ab\0", "é", `a${"b".repeat(512)}`])(
      "%j is no key",
      async (key) => {
        const attempts = [put(key, "x"), store.get(key), store.size(key), store.delete(key), store.sign("get", key, 1)];
        for (const { status } of await Promise.allSettled(attempts)) expect(status).toBe("rejected");
        expect(await keys()).toEqual([]);
      },
    );

    test("signs addresses that say what they are for", async () => {
      const sha256 = digestOf(bytesOf("text"));
      const { url, expiresAt } = await store.sign("put", sha256, 4);
      expect(expiresAt).toBeGreaterThan(Date.now());
      const read = store.addresses?.check(new URL(url, "http://server"));
      if (store.addresses) expect(read).toEqual({ operation: "put", key: sha256, size: 4 });
      else expect(url).toStartWith("https://");
    });

    test("probes itself and leaves nothing", async () => {
      await store.probe();
      expect(await keys()).toEqual([]);
    });

    test("reading by digest gives the bytes, nothing for nothing, and refuses others after the last one", async () => {
      const sha256 = digestOf(bytesOf("text"));
      expect(await readByDigest(store, sha256)).toBeUndefined();
      await put(sha256, "text");
      expect(await readByDigest(store, sha256)).toEqual(bytesOf("text"));
      await put(sha256, "tent");
      await expect(readByDigest(store, sha256)).rejects.toBeInstanceOf(ObjectMismatch);
      const read: Uint8Array[] = [];
      const streaming = async () => {
        for await (const chunk of verified((await store.get(sha256)) as ObjectBody, sha256)) read.push(chunk);
      };
      await expect(streaming()).rejects.toBeInstanceOf(ObjectMismatch);
      expect(Buffer.concat(read).toString()).toBe("tent");
    });
  });
}
