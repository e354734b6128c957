/** What every online store does, whatever keeps its values. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { unpackedList } from "../../../../src/server/stores/online/packed-list.ts";
import {
  type OnlineStore,
  type RowsRead,
  type RowsWrite,
  type StoredRows,
  type StoredValue,
  type StoredVector,
  storeKey,
  type ValuesRead,
  type ValueWrite,
} from "../../../../src/server/stores/online/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { seeded } from "../../../harness/seed.ts";
import { ONLINE_DRIVERS } from "./drivers.ts";

for (const driver of ONLINE_DRIVERS)
  describe(`online store: ${driver.name}`, () => {
    const { isDurable } = driver;
    let folder: TempFolder;
    let store: OnlineStore;
    /** How far the store's clock is ahead of this machine's, in milliseconds. */
    let ahead: number;
    const now = (): number => Date.now() + ahead;
    const open = async (): Promise<void> => {
      store = await driver.open(folder.path, { now });
    };
    const reopen = async (): Promise<void> => {
      await store.close();
      await open();
    };
    beforeEach(async () => {
      folder = new TempFolder();
      ahead = 0;
      await open();
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    const put = (writes: readonly Partial<ValueWrite>[], scope = "main") => store.put(scope, { values: writes.map(complete), rows: [] });
    const putRelations = (rows: readonly RowsWrite[], scope = "main") => store.put(scope, { values: [], rows });
    const readValues = async (read: ValuesRead, scope = "main") => (await store.read(scope, { values: [read], rows: [] })).values[0] ?? [];
    const readRows = async (read: RowsRead, scope = "main") => (await store.read(scope, { values: [], rows: [read] })).rows[0] ?? [];
    const get = async (featureIds: number[], options: { scope?: string; ns?: string; key?: string; asOf?: number } = {}) => {
      const { scope, ns = "user", key = "i:1", asOf } = options;
      return (await readValues({ namespace: ns, keys: [key], featureIds, ...(asOf === undefined ? {} : { asOf }) }, scope))[0] ?? [];
    };

    test("measures what is stored, in every scope", async () => {
      expect((await store.measure()).items).toBe(0);
      await put(Array.from({ length: 5_000 }, (_, n) => ({ featureId: 1, key: `i:${n}`, value: n })));
      await put([{ featureId: 2, value: "b" }], "branch");
      await store.flush();
      const both = await Promise.all([store.measure(), store.measure()]);
      expect(both.map(({ items }) => items)).toEqual([5_001, 5_001]);
      expect(both[0]?.bytes).toBeGreaterThan(5_001);
      await store.dropScope("main");
      expect((await store.measure()).items).toBe(1);
    });

    test("measures what is stored of each feature and relation, by its texts and numbers", async () => {
      const writes = Array.from({ length: 1_500 }, (_, n) => complete({ featureId: n % 3, key: `s:ä${n}`, value: "x".repeat(n % 7) }));
      const expiring = complete({ featureId: 2, key: "i:7", value: 12345, expiresAt: now() + 1_000_000 });
      const relation = completeRows({ relationId: 5, rows: 2, columns: new Map([[1, ["a", "bc"]]]) });
      store.put("main", { values: writes, rows: [relation] });
      store.put("branch", { values: [expiring], rows: [] });
      await store.flush();
      const expected = new Map<number, number>();
      const count = (featureId: number, numbers: number, texts: readonly string[]) =>
        expected.set(featureId, (expected.get(featureId) ?? 0) + 8 * numbers + Buffer.byteLength(texts.join("")));
      for (const { namespace, key, featureId, value, resolver } of writes)
        count(featureId, 3, ["main", namespace, key, JSON.stringify(value), resolver]);
      count(2, 4, ["branch", "user", "i:7", "12345", "m.r"]);
      count(5, 3, ["main", "user", "i:1", '{"rows":2,"columns":{"1":["a","bc"]}}', "m.r"]);
      const { bytes, features } = await store.measureFeatures();
      expect([features, bytes]).toEqual([expected, (await store.measure()).bytes]);
      expect((await store.measureFeatures(AbortSignal.abort())).features.size).toBe(0);
    });

    test("gives what was stored, in the order asked, undefined where nothing is", async () => {
      await put([
        { featureId: 3, value: "c" },
        { featureId: 1, value: "a", observedAt: 5, resolver: "m.f" },
      ]);
      expect(await get([1, 2, 3, 1])).toEqual([
        { value: "a", observedAt: 5, resolver: "m.f" },
        undefined,
        { value: "c", observedAt: 0, resolver: "m.r" },
        { value: "a", observedAt: 5, resolver: "m.f" },
      ]);
      const keys = ["i:2", "i:1", "i:1"];
      const of = (given: readonly string[], featureIds: readonly number[]) => readValues({ namespace: "user", keys: given, featureIds });
      expect((await of(keys, [3])).map((row) => row[0]?.value)).toEqual([undefined, "c", "c"]);
      expect(await of([], [1])).toEqual([]);
      expect(await of(["i:1"], [])).toEqual([[]]);
    });

    test("gives lists of numbers as they were put, whatever their precision and length", async () => {
      const numbers = fc.oneof(
        fc.double().map((number) => (Number.isNaN(number) ? Number.NaN : number)),
        fc.float(),
        fc.constantFrom(0, -0, 1, 0.5, 65_504, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
      );
      const halves = fc.double({ min: -65_000, max: 65_000, noNaN: true }).map(Math.f16round);
      const singles = fc.double({ noNaN: true }).map(Math.fround);
      const list = fc.oneof(...[numbers, halves, singles].map((one) => fc.array(one, { maxLength: 40, size: "max" })));
      const mixed = fc.array(fc.oneof(numbers, fc.constantFrom(null, "1", true, 2n ** 60n)), { minLength: 8, maxLength: 12 });
      let featureId = 100;
      await fc.assert(
        fc.asyncProperty(fc.oneof(list, mixed), fc.boolean(), async (given, isReopened) => {
          const value = given as FeatureValue[];
          await put([{ featureId: ++featureId, value: [...value] }]);
          if (isReopened) await (isDurable ? reopen() : store.flush());
          expect((await get([featureId]))[0]?.value).toEqual(value);
        }),
        seeded(60),
      );
    });

    test("a list that a caller changes stays as it was stored", async () => {
      const value = Array.from({ length: 20 }, (_, n) => n / 3);
      await put([{ featureId: 1, value }]);
      for (let round = 0; round < 2; round++) {
        const [stored] = await get([1]);
        expect(stored?.value).toEqual(Array.from({ length: 20 }, (_, n) => n / 3));
        (stored?.value as number[])[0] = 99;
      }
    });

    test("visits the vectors of a feature in one scope and class, stored and queued, with their times", async () => {
      const vector = (n: number) => Array.from({ length: 10 }, (_, at) => Math.fround(Math.sin(n * 10 + at)));
      const keys = Array.from({ length: 1_200 }, (_, n) => `i:${n}`);
      await put(keys.flatMap((key, n) => [1, 2, 3].map((featureId) => ({ key, featureId, value: featureId === 2 ? vector(n) : n }))));
      await put([
        { key: "i:1", featureId: 2, value: vector(-1), namespace: "team" },
        { key: "s:none", featureId: 2, value: null },
        { key: "s:text", featureId: 2, value: "[1,2]" },
        { key: "s:short", featureId: 2, value: [0.1, 2] },
      ]);
      await put([{ key: "i:2", featureId: 2, value: vector(-2) }], "branch");
      await store.flush();
      await put([{ key: "i:3", featureId: 2, value: vector(-3), observedAt: 9, expiresAt: 4_000_000_000_000 }]);
      const seen = new Map<string, { observedAt: number; expiresAt: number | undefined; elements: number[] }>();
      const visit = async (signal?: AbortSignal) => {
        seen.clear();
        const add = ({ key, packed, observedAt, expiresAt }: StoredVector) => {
          const known = seen.get(key)?.observedAt ?? Number.NEGATIVE_INFINITY;
          if (observedAt >= known) seen.set(key, { observedAt, expiresAt, elements: unpackedList(packed) });
        };
        await store.eachVector("main", { namespace: "user", featureId: 2 }, (vectors) => vectors.forEach(add), signal);
      };
      await visit();
      const expected = new Map(
        keys.map((key, n) => [key, { observedAt: 0, expiresAt: undefined as number | undefined, elements: vector(n) }]),
      );
      expected.set("s:short", { observedAt: 0, expiresAt: undefined, elements: [0.1, 2] });
      expected.set("i:3", { observedAt: 9, expiresAt: 4_000_000_000_000, elements: vector(-3) });
      expect(new Map([...seen].sort())).toEqual(new Map([...expected].sort()));
      if (isDurable) {
        await reopen();
        await visit();
        expect(seen.get("i:3")).toEqual(expected.get("i:3"));
        expect(seen.size).toBe(expected.size);
        await visit(AbortSignal.abort());
        expect(seen.size).toBe(0);
      }
    });

    test("one read gives values and rows of several classes, each in its place", async () => {
      const read = (namespace: string, asOf: number) => ({ namespace, keys: ["i:1", "i:2"], featureIds: [1], asOf });
      expect(await store.read("main", { values: [], rows: [] })).toEqual({ values: [], rows: [] });
      store.put("main", {
        values: [complete({ value: "a", observedAt: 5 }), complete({ namespace: "account", key: "i:2", value: "b", observedAt: 5 })],
        rows: [completeRows({ rows: 1, columns: new Map([[7, [1]]]) }), completeRows({ namespace: "account", key: "i:2" })],
      });
      const relation = (namespace: string) => ({ namespace, keys: ["i:2", "i:1"], relationId: 5 });
      const found = await store.read("main", {
        values: [read("user", 9), read("account", 9), read("user", 4)],
        rows: [relation("account"), relation("user")],
      });
      expect(found.values.map((rows) => rows.map(([stored]) => stored?.value))).toEqual([
        ["a", undefined],
        [undefined, "b"],
        [undefined, undefined],
      ]);
      expect(found.rows.map((rows) => rows.map((stored) => stored?.rows))).toEqual([
        [0, undefined],
        [undefined, 1],
      ]);
    });

    test("a newer value replaces an older one, never the other way round; of equally old ones the last stays", async () => {
      await put([{ value: "first", observedAt: 100 }]);
      await put([{ value: "older", observedAt: 99 }]);
      expect((await get([1]))[0]?.value).toBe("first");
      await put([{ value: "same age", observedAt: 100 }]);
      expect((await get([1]))[0]?.value).toBe("same age");
      await put([{ value: "newer", observedAt: 101 }]);
      await put([
        { value: "x", observedAt: 50 },
        { value: "newest", observedAt: 102 },
        { value: "y", observedAt: 60 },
      ]);
      expect((await get([1]))[0]).toEqual({ value: "newest", observedAt: 102, resolver: "m.r" });
    });

    test("the age rule holds against values of an earlier run", async () => {
      if (!isDurable) return;
      await put([
        { value: "stored", observedAt: 100 },
        { featureId: 2, value: "stored", observedAt: 100 },
      ]);
      await reopen();
      await put([
        { value: "older", observedAt: 99 },
        { featureId: 2, value: "newer", observedAt: 101 },
      ]);
      expect((await get([1, 2])).map((stored) => stored?.value)).toEqual(["stored", "newer"]);
      await put([{ featureId: 2, value: "too old", observedAt: 100 }]);
      await reopen();
      expect((await get([1, 2])).map((stored) => stored?.value)).toEqual(["stored", "newer"]);
    });

    test("what a clock that ran ahead has stored gives way to what comes after, whether it is written out or not", async () => {
      const present = Date.now();
      const future = present + 86_400_000;
      const relation = { namespace: "user", key: "i:1", relationId: 7, resolver: "m.r" };
      for (const isReopened of isDurable ? [false, true] : [false]) {
        await store.dropScope("main");
        await put([{ value: "from the future", observedAt: future }]);
        putRelations([{ ...relation, rows: 1, columns: new Map([[8, [1]]]), observedAt: future }]);
        if (isReopened) await reopen();
        await put([{ value: "right", observedAt: present }]);
        putRelations([{ ...relation, rows: 2, columns: new Map([[8, [1, 2]]]), observedAt: present }]);
        if (isReopened) await reopen();
        expect((await get([1], { asOf: present }))[0]?.value).toBe("right");
        expect((await readRows({ namespace: "user", keys: ["i:1"], relationId: 7, asOf: present }))[0]).toMatchObject({
          rows: 2,
          observedAt: present,
        });
        await put([{ value: "older", observedAt: present - 1 }]);
        expect((await get([1], { asOf: present }))[0]?.value).toBe("right");
      }
    });

    test("asOf hides what was observed later", async () => {
      await put([{ value: "v", observedAt: 100 }]);
      expect((await get([1], { asOf: 99 }))[0]).toBeUndefined();
      expect((await get([1], { asOf: 100 }))[0]?.value).toBe("v");
      expect((await get([1]))[0]?.value).toBe("v");
    });

    test("scopes, namespaces and key types are apart", async () => {
      await put([{ value: "main" }]);
      await put([{ value: "branch" }], "my-branch");
      await put([{ value: "other", namespace: "account" }]);
      await put([{ value: "text key", key: storeKey("1") }]);
      expect((await get([1]))[0]?.value).toBe("main");
      expect((await get([1], { scope: "my-branch" }))[0]?.value).toBe("branch");
      expect((await get([1], { ns: "account" }))[0]?.value).toBe("other");
      expect((await get([1], { key: storeKey("1") }))[0]?.value).toBe("text key");
      expect((await get([1], { scope: "unknown" }))[0]).toBeUndefined();
    });

    test("dropScope forgets a scope, and no other", async () => {
      for (const scope of ["main", "b"]) await put([{ value: scope }, { featureId: 2, value: "two" }], scope);
      await get([1, 2]);
      await store.dropScope("b");
      expect(await get([1, 2], { scope: "b" })).toEqual([undefined, undefined]);
      expect((await get([1, 2])).map((stored) => stored?.value)).toEqual(["main", "two"]);
      await put([{ value: "again", observedAt: -5 }], "b");
      expect((await get([1], { scope: "b" }))[0]?.value).toBe("again");
    });

    test("dropFeatures forgets features and relations in every scope, written or queued, and no other", async () => {
      for (const isFlushed of [false, true]) {
        for (const scope of ["main", "b"]) {
          store.put(scope, {
            values: [complete({ featureId: 1, value: "gone" }), complete({ featureId: 2, value: "stays" })],
            rows: [completeRows({ rows: 1, columns: new Map([[7, [1]]]) })],
          });
        }
        if (isFlushed) await store.flush();
        if (isFlushed) await get([1, 2]);
        await store.dropFeatures([1, 5]);
        await store.flush();
        for (const scope of ["main", "b"])
          expect((await get([1, 2], { scope })).map((stored) => stored?.value)).toEqual([undefined, "stays"]);
        expect(await readRows({ namespace: "user", keys: ["i:1"], relationId: 5 })).toEqual([undefined]);
      }
      await put([{ value: "again", observedAt: -5 }]);
      expect((await get([1]))[0]?.value).toBe("again");
    });

    test("deleteKeys removes what was observed or stored until then of the rows, written or queued, and no more", async () => {
      const cell = fc.record({
        scope: fc.constantFrom("main", "b"),
        ns: fc.constantFrom("user", "team"),
        key: fc.constantFrom("i:1", "s:1", "s:", "s:ä"),
        featureId: fc.integer({ min: 1, max: 3 }),
        // Those that are stored before the deletion are observed before or after it.
        isLater: fc.boolean(),
        isFlushed: fc.boolean(),
        isRead: fc.boolean(),
      });
      const deletion = fc.record({
        scope: fc.constantFrom("main", "b"),
        ns: fc.constantFrom("user", "team"),
        keys: fc.uniqueArray(fc.constantFrom("i:1", "s:1", "s:", "s:ä", "i:9")),
        featureIds: fc.uniqueArray(fc.integer({ min: 1, max: 4 })),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(cell, { maxLength: 12, selector: (one) => JSON.stringify([one.scope, one.ns, one.key, one.featureId]) }),
          deletion,
          async (cells, wanted) => {
            for (const scope of ["main", "b"]) await store.dropScope(scope);
            // A stored value is gone whenever it was observed; of one that waits, its own time counts.
            ahead = 0;
            const until = now() + 60_000;
            const write = async ({ scope, ns, key, featureId, isLater }: (typeof cells)[number]) =>
              await put([{ namespace: ns, key, featureId, value: "v", observedAt: isLater ? until + 1 : until }], scope);
            for (const one of cells.filter(({ isFlushed }) => isFlushed)) await write(one);
            await store.flush();
            ahead = 120_000;
            for (const one of cells.filter(({ isFlushed }) => !isFlushed)) await write(one);
            for (const { scope, ns, key, featureId } of cells.filter(({ isRead }) => isRead)) await get([featureId], { scope, ns, key });
            const { scope, ns, keys, featureIds } = wanted;
            const isGone = (one: (typeof cells)[number]) =>
              one.scope === scope &&
              one.ns === ns &&
              keys.includes(one.key) &&
              featureIds.includes(one.featureId) &&
              (one.isFlushed || !one.isLater);
            expect(await store.deleteKeys(scope, { namespace: ns, keys, featureIds, until })).toBe(cells.filter(isGone).length);
            for (const reads of [1, 2]) {
              for (const one of cells)
                expect([reads, (await get([one.featureId], { scope: one.scope, ns: one.ns, key: one.key }))[0]?.value]).toEqual([
                  reads,
                  isGone(one) ? undefined : "v",
                ]);
              await store.flush();
            }
          },
        ),
        seeded(100, 2_000),
      );
    });

    test("deleteKeys begins again anywhere, takes relations along, and lets newer values in", async () => {
      const keys = Array.from({ length: 300 }, (_, n) => `i:${n}`);
      putRelations([completeRows({ key: "i:1", observedAt: 1 })]);
      await put(keys.map((key) => ({ key, observedAt: 1, value: "old" })));
      await store.flush();
      const rows = { namespace: "user", keys, featureIds: [1, 5], until: 1 };
      expect(await store.deleteKeys("main", { ...rows, until: 0 })).toBe(0);
      expect(await store.deleteKeys("main", rows, AbortSignal.abort())).toBe(0);
      expect([await store.deleteKeys("main", rows), await store.deleteKeys("main", rows)]).toEqual([301, 0]);
      expect(await readRows({ namespace: "user", keys: ["i:1"], relationId: 5 })).toEqual([undefined]);
      await put([{ key: "i:1", observedAt: 2, value: "new" }]);
      expect((await get([1]))[0]?.value).toBe("new");
      await store.flush();
      if (isDurable) await reopen();
      expect([(await get([1]))[0]?.value, (await store.measure()).items]).toEqual(["new", 1]);
    });

    test("while it is suspended values wait and are served, or are dropped and counted; resumed, they are stored", async () => {
      await put([{ value: "before" }]);
      await store.flush();
      store.suspend();
      await put([{ value: "after", observedAt: 1 }]);
      const waits = store.pending() === 1;
      expect([(await get([1]))[0]?.value, store.dropped()]).toEqual(waits ? ["after", 0] : ["before", 1]);
      if (waits) await expect(store.flush()).rejects.toThrow("persistence is suspended");
      store.resume();
      await store.flush();
      expect([store.pending(), store.dropped()]).toEqual([0, waits ? 0 : 1]);
      if (!isDurable) return;
      store.suspend();
      await put([{ value: "never", observedAt: 2 }]);
      await store.close();
      expect(store.dropped()).toBe(waits ? 1 : 2);
      await open();
      expect((await get([1]))[0]?.value).toBe(waits ? "after" : "before");
    });

    test("a scope that is dropped while it is suspended is gone, and what is lost of others is counted", async () => {
      for (const scope of ["main", "b"]) await put([{ value: scope }], scope);
      await store.flush();
      store.suspend();
      await put([{ value: "main2", observedAt: 1 }]);
      await put([{ value: "b2", observedAt: 1 }], "b");
      const before = store.dropped();
      await store.dropScope("b");
      expect((await get([1], { scope: "b" }))[0]).toBeUndefined();
      const [kept] = await get([1]);
      expect(["main", "main2"]).toContain(kept?.value as string);
      if (kept?.value === "main") expect(store.dropped()).toBeGreaterThanOrEqual(Math.max(before, 1));
      else expect(store.dropped()).toBe(before);
    });

    describe("expiry", () => {
      const HOUR = 3_600_000;

      test("a sweep forgets what has expired by the store's clock, written or queued, and nothing else", async () => {
        const start = now();
        for (const isFlushed of [false, true]) {
          await store.dropScope("main");
          store.put("main", {
            values: [
              complete({ featureId: 1, value: "an hour", expiresAt: start + HOUR }),
              complete({ featureId: 2, value: "two hours", expiresAt: start + 2 * HOUR }),
              complete({ featureId: 3, value: "for ever" }),
            ],
            rows: [completeRows({ rows: 1, columns: new Map([[7, [1]]]), expiresAt: start + HOUR })],
          });
          ahead = 0;
          if (isFlushed) await store.flush();
          const left = async () => [
            ...(await get([1, 2, 3])).map((stored) => stored?.value),
            (await readRows({ namespace: "user", keys: ["i:1"], relationId: 5 }))[0]?.rows,
          ];
          await store.sweep();
          expect(await left()).toEqual(["an hour", "two hours", "for ever", 1]);
          ahead = HOUR + 1_000;
          await store.flush();
          expect(await store.sweep()).toBe(2);
          expect(await store.sweep()).toBe(0);
          expect(await left()).toEqual([undefined, "two hours", "for ever", undefined]);
          if (isDurable) await reopen();
          expect(await left()).toEqual([undefined, "two hours", "for ever", undefined]);
        }
      });

      test("a value that is written again is kept as long as the last write says", async () => {
        const start = now();
        await put([{ value: "short", observedAt: 1, expiresAt: start + HOUR }]);
        await put([{ value: "long", observedAt: 2, expiresAt: start + 3 * HOUR }]);
        await put([{ value: "older", observedAt: 1, expiresAt: start }]);
        await put([{ featureId: 2, value: "long", observedAt: 1 }]);
        await put([{ featureId: 2, value: "short", observedAt: 1, expiresAt: start + HOUR }]);
        await store.flush();
        ahead = 2 * HOUR;
        expect(await store.sweep()).toBe(1);
        expect((await get([1, 2])).map((stored) => stored?.value)).toEqual(["long", undefined]);
        await put([{ featureId: 2, value: "again", observedAt: 0 }]);
        expect((await get([2]))[0]?.value).toBe("again");
      });

      test("a sweep goes through many rows, and ends early when it is told to", async () => {
        const start = now();
        await put(Array.from({ length: 2_000 }, (_, key) => ({ key: `i:${key}`, value: key, ...(key % 2 ? { expiresAt: start } : {}) })));
        await store.flush();
        ahead = HOUR;
        expect(await store.sweep(AbortSignal.abort())).toBe(0);
        expect(await store.sweep()).toBe(1_000);
        const keys = Array.from({ length: 2_000 }, (_, key) => `i:${key}`);
        const values = (await readValues({ namespace: "user", keys, featureIds: [1] })).map(([stored]) => stored?.value);
        expect(values).toEqual(keys.map((_, key) => (key % 2 ? undefined : key)));
      });

      test("a sweep under way goes on while values are put, read and dropped", async () => {
        const start = now();
        const writes = (observedAt: number) =>
          Array.from({ length: 1_500 }, (_, key) => ({ key: `i:${key}`, value: observedAt, observedAt, expiresAt: start + observedAt }));
        await put(writes(1));
        await store.flush();
        ahead = HOUR;
        const sweeping = store.sweep();
        await put(writes(2 * HOUR));
        await put([{ value: "other" }], "b");
        await store.dropScope("b");
        await store.flush();
        await sweeping;
        expect((await get([1], { key: "i:1499" }))[0]?.value).toBe(2 * HOUR);
        expect(await store.sweep()).toBe(0);
      });
    });

    test("what was put is seen at once, and is stored when flush resolves", async () => {
      await store.flush();
      await put(Array.from({ length: 500 }, (_, key) => ({ key: `i:${key}`, value: key })));
      expect((await get([1], { key: "i:499" }))[0]?.value).toBe(499);
      const flushed = store.flush();
      await put([{ key: "i:0", value: "newer", observedAt: 1 }]);
      await flushed;
      expect([(await get([1], { key: "i:0" }))[0]?.value, store.dropped()]).toEqual(["newer", 0]);
      if (isDurable) await reopen();
      expect([(await get([1], { key: "i:0" }))[0]?.value, (await get([1], { key: "i:499" }))[0]?.value]).toEqual(["newer", 499]);
    });

    test("every kind of value comes back as it was, also after a reopen", async () => {
      const values: FeatureValue[] = [
        null,
        true,
        false,
        0,
        -0,
        1.5,
        -1e308,
        5e-324,
        Number.NaN,
        Number.POSITIVE_INFINITY,
        Number.NEGATIVE_INFINITY,
        Number.MAX_SAFE_INTEGER,
        2n ** 63n - 1n,
        -(2n ** 63n),
        "",
        'text \u0000 \ud83d\ude00 "quoted"',
        "2024-05-01T12:00:00.000001Z",
        new Uint8Array([0, 255, 7]),
        [],
        [1, null, "a", [2n ** 60n]],
        { street: "x", no: 5, gone: null, bytes: new Uint8Array([1]) },
      ];
      await put(values.map((value, index) => ({ featureId: index + 1, value })));
      const ids = values.map((_, index) => index + 1);
      expect((await get(ids)).map((stored) => stored?.value)).toEqual(values);
      if (!isDurable) return;
      await reopen();
      expect((await get(ids)).map((stored) => stored?.value)).toEqual(values);
    });

    test("a caller cannot change what is stored", async () => {
      const given = { tags: ["a"], raw: new Uint8Array([1]) };
      await put([{ value: given }]);
      given.tags.push("b");
      const read = (await get([1]))[0]?.value as typeof given;
      read.tags.push("c");
      read.raw[0] = 9;
      expect((await get([1]))[0]?.value).toEqual({ tags: ["a"], raw: new Uint8Array([1]) });
    });

    describe("rows of relations", () => {
      const putRows = (amounts: readonly FeatureValue[], more: Partial<RowsWrite> = {}, scope = "main") =>
        putRelations([completeRows({ rows: amounts.length, columns: new Map([[7, amounts]]), ...more })], scope);
      const getRows = async (options: { scope?: string; ns?: string; key?: string; asOf?: number; relation?: number } = {}) => {
        const { scope, ns = "user", key = "i:1", asOf, relation = 5 } = options;
        const read = { namespace: ns, keys: [key], relationId: relation, ...(asOf === undefined ? {} : { asOf }) };
        return (await readRows(read, scope))[0];
      };

      test("come back as they were found, no rows among them, also after a reopen", async () => {
        const columns = new Map<number, readonly FeatureValue[]>([
          [7, [1, 2n ** 60n, null]],
          [9, ["a", Number.NaN, [1, { at: new Uint8Array([1]) }]]],
        ]);
        const written = { rows: 3, columns, observedAt: 5, resolver: "m.f" };
        putRelations([completeRows(written), completeRows({ key: "i:2", rows: 0, columns: new Map([[7, []]]) })]);
        const expected = [written, { rows: 0, columns: new Map([[7, []]]), observedAt: 0, resolver: "m.r" }, undefined];
        expect(await readRows({ namespace: "user", keys: ["i:1", "i:2", "i:3"], relationId: 5 })).toEqual(expected);
        if (!isDurable) return;
        await reopen();
        expect(await readRows({ namespace: "user", keys: ["i:1", "i:2", "i:3"], relationId: 5 })).toEqual(expected);
      });

      test("are replaced whole by newer ones, never by older ones", async () => {
        await putRows([1, 2, 3], { observedAt: 100 });
        await putRows([9], { observedAt: 99 });
        expect((await getRows())?.columns.get(7)).toEqual([1, 2, 3]);
        await putRows([1, 3], { observedAt: 101 });
        expect(await getRows()).toMatchObject({ rows: 2, columns: new Map([[7, [1, 3]]]), observedAt: 101 });
        putRelations([completeRows({ rows: 1, columns: new Map([[8, ["x"]]]), observedAt: 102 })]);
        expect([...((await getRows())?.columns ?? [])]).toEqual([[8, ["x"]]]);
        if (isDurable) await reopen();
        await putRows([9], { observedAt: 101 });
        expect((await getRows())?.columns.get(8)).toEqual(["x"]);
      });

      test("are hidden before their time, apart by scope, class, key and relation, and dropped with the scope", async () => {
        await putRows([1], { observedAt: 100 });
        expect([await getRows({ asOf: 99 }), (await getRows({ asOf: 100 }))?.rows]).toEqual([undefined, 1]);
        for (const other of [{ scope: "b" }, { ns: "account" }, { key: "s:1" }, { relation: 6 }])
          expect(await getRows(other)).toBeUndefined();
        await putRows([2, 3], {}, "b");
        await store.dropScope("b");
        expect([(await getRows())?.rows, await getRows({ scope: "b" })]).toEqual([1, undefined]);
      });

      test("a caller cannot change what is stored", async () => {
        const given = [{ tags: ["a"] }];
        await putRows(given);
        given[0]?.tags.push("b");
        const read = (await getRows())?.columns.get(7) as typeof given;
        read[0]?.tags.push("c");
        expect((await getRows())?.columns.get(7)).toEqual([{ tags: ["a"] }]);
      });

      test("of many rows are written and read whole", async () => {
        const amounts = Array.from({ length: 20_000 }, (_, index) => index);
        for (let key = 0; key < 20; key++) await putRows(amounts, { key: `i:${key}` });
        if (isDurable) await reopen();
        for (let key = 0; key < 20; key++) expect((await getRows({ key: `i:${key}` }))?.columns.get(7)).toEqual(amounts);
      });
    });

    test("wide rows and sparse feature ids are read whole", async () => {
      const ids = Array.from({ length: 500 }, (_, index) => 1 + index * 7);
      await put(ids.map((featureId) => ({ featureId, value: featureId })));
      if (isDurable) await reopen();
      expect((await get(ids)).map((stored) => stored?.value)).toEqual(ids);
      if (isDurable) await reopen();
      expect((await get([1, 8, 2, 3494])).map((stored) => stored?.value)).toEqual([1, 8, undefined, 3494]);
    });

    test("the probe passes and leaves nothing behind", async () => {
      await store.probe();
      expect(await get([0, 1])).toEqual([undefined, undefined]);
    });

    test("does what a model in memory does, for random operations", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 120, size: "max" }), async (operations) => {
          const model = new Model();
          for (const scope of SCOPES) await store.dropScope(scope);
          for (const step of operations) {
            if (step.kind === "put") {
              await put(step.writes, step.scope);
              model.put(step.scope, step.writes);
            } else if (step.kind === "get") {
              const { scope, kind: _, ...read } = step;
              expect(await readValues(read, scope)).toEqual(model.get(scope, read.namespace, read.keys, read.featureIds, read.asOf));
            } else if (step.kind === "putRows") {
              putRelations(step.writes, step.scope);
              model.put(step.scope, step.writes.map(asCell));
            } else if (step.kind === "getRows") {
              const { scope, kind: _, ...read } = step;
              const expected = model.get(scope, read.namespace, read.keys, [RELATION], read.asOf);
              expect(await readRows({ ...read, relationId: RELATION }, scope)).toEqual(
                expected.map(([stored]) => stored && rowsOfCell(stored)),
              );
            } else if (step.kind === "dropScope") {
              await store.dropScope(step.scope);
              model.drop((cell) => cell.scope === step.scope);
            } else if (step.kind === "sweep") {
              await store.flush();
              await store.sweep();
              const swept = now();
              model.drop(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt <= swept);
            } else if (step.kind === "pause") await Bun.sleep(step.ms);
            else if (isDurable) await reopen();
          }
        }),
        seeded(isDurable ? 25 : 100, 5_000),
      );
    }, 300_000);
  });

function complete(write: Partial<ValueWrite>): ValueWrite {
  return { namespace: "user", key: "i:1", featureId: 1, value: null, observedAt: 0, resolver: "m.r", ...write };
}

function completeRows(write: Partial<RowsWrite>): RowsWrite {
  return { namespace: "user", key: "i:1", relationId: 5, rows: 0, columns: new Map(), observedAt: 0, resolver: "m.r", ...write };
}

/** The relation of random operations: its id is that of no feature. */
const RELATION = 77;

/** Rows of a relation as the model keeps them: one value under the relation's id. */
function asCell({ relationId, rows, columns, ...write }: RowsWrite): ValueWrite {
  return { ...write, featureId: relationId, value: [rows, [...columns].map(([id, values]) => [id, [...values]])] };
}

function rowsOfCell({ value, observedAt, resolver }: StoredValue): StoredRows {
  const [rows, columns] = value as unknown as readonly [number, readonly (readonly [number, readonly FeatureValue[]])[]];
  return { rows, columns: new Map(columns), observedAt, resolver };
}

/** The obvious store: a list of cells. */
class Model {
  private cells: (ValueWrite & { readonly scope: string })[] = [];

  put(scope: string, writes: readonly ValueWrite[]): void {
    for (const write of writes) {
      const same = (cell: ValueWrite & { readonly scope: string }): boolean =>
        cell.scope === scope && cell.namespace === write.namespace && cell.key === write.key && cell.featureId === write.featureId;
      const known = this.cells.find(same);
      if (known && known.observedAt > write.observedAt) continue;
      this.cells = [...this.cells.filter((cell) => !same(cell)), { ...write, scope }];
    }
  }

  get(scope: string, namespace: string, keys: readonly string[], featureIds: readonly number[], asOf = Number.POSITIVE_INFINITY) {
    return keys.map((key) =>
      featureIds.map((featureId): StoredValue | undefined => {
        const cell = this.cells.find(
          (one) => one.scope === scope && one.namespace === namespace && one.key === key && one.featureId === featureId,
        );
        if (!cell || cell.observedAt > asOf) return undefined;
        return { value: cell.value, observedAt: cell.observedAt, resolver: cell.resolver };
      }),
    );
  }

  drop(matches: (cell: ValueWrite & { readonly scope: string }) => boolean): void {
    this.cells = this.cells.filter((cell) => !matches(cell));
  }
}

const SCOPES = ["main", "branch"];
const scope = fc.constantFrom(...SCOPES);
const namespace = fc.constantFrom("user", "account");
const key = fc.constantFrom("i:1", "s:1");
const featureId = fc.constantFrom(1, 2, 40_000);
const instant = fc.constantFrom(-1, 0, 1, 2, 3, 1_700_000_000_000);
const value: fc.Arbitrary<FeatureValue> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.double(),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
  fc.string(),
  fc.uint8Array({ maxLength: 4 }),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.record({ city: fc.string(), zip: fc.integer() }),
);
/** Expired, not yet expired, and never. */
const expiry = fc.constantFrom({ expiresAt: 1 }, { expiresAt: 9_000_000_000_000 }, {});
const write = fc
  .record({
    namespace,
    key,
    featureId,
    value,
    observedAt: instant,
    resolver: fc.constantFrom("m.f", "m.g"),
  })
  .chain((made) => expiry.map((expires) => ({ ...made, ...expires })));
const relationWrite: fc.Arbitrary<RowsWrite> = fc
  .record({
    namespace,
    key,
    values: fc.array(value, { maxLength: 4 }),
    ids: fc.uniqueArray(featureId, { minLength: 1 }),
    observedAt: instant,
    resolver: fc.constantFrom("m.f", "m.g"),
    expiry,
  })
  .map(({ values, ids, expiry: expires, ...rest }) => ({
    ...rest,
    ...expires,
    relationId: RELATION,
    rows: values.length,
    columns: new Map([...ids].sort((a, b) => a - b).map((id) => [id, values])),
  }));
const operation = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("putRows" as const), scope, writes: fc.array(relationWrite, { maxLength: 2 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("getRows" as const),
      scope,
      namespace,
      keys: fc.array(key, { maxLength: 3 }),
      asOf: fc.oneof(instant, fc.constant(Number.POSITIVE_INFINITY)),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("put" as const), scope, writes: fc.array(write, { maxLength: 6, size: "max" }) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("get" as const),
      scope,
      namespace,
      keys: fc.array(key, { maxLength: 3, size: "max" }),
      featureIds: fc.array(featureId, { maxLength: 6, size: "max" }),
      asOf: fc.oneof(instant, fc.constant(Number.POSITIVE_INFINITY)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("dropScope" as const), scope }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("sweep" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pause" as const), ms: fc.constantFrom(0, 7) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
);
