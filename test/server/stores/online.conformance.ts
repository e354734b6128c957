/** What every online store does, whatever keeps its values. Run by the test file of each backend. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { FeatureValue } from "../../../src/domain/value.ts";
import {
  type OnlineStore,
  type OnlineWrite,
  type RelationWrite,
  type StoredRows,
  type StoredValue,
  storeKey,
} from "../../../src/server/stores/online.ts";
import { seeded } from "../../domain/seed.ts";

/** A place that stores can be opened on, one after the other. */
export interface StorePlace {
  /** Opens the store on what was stored here before. */
  open(): OnlineStore | Promise<OnlineStore>;
  /** Whether values outlive `close`. */
  readonly durable: boolean;
  /** Removes everything. */
  remove(): void | Promise<void>;
}

/** Declares the suite for a backend. */
export function onlineStoreConformance(name: string, createPlace: () => StorePlace): void {
  describe(`online store: ${name}`, () => {
    let place: StorePlace;
    let store: OnlineStore;
    beforeEach(async () => {
      place = createPlace();
      store = await place.open();
    });
    afterEach(async () => {
      await store.close();
      await place.remove();
    });

    const put = (writes: readonly Partial<OnlineWrite>[], scope = "main") => store.putMany(scope, writes.map(complete));
    const get = async (featureIds: number[], options: { scope?: string; ns?: string; key?: string; asOf?: number } = {}) =>
      (await store.getMany(options.scope ?? "main", options.ns ?? "user", [options.key ?? "i:1"], featureIds, options.asOf))[0] ?? [];

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
      expect((await store.getMany("main", "user", keys, [3])).map((row) => row[0]?.value)).toEqual([undefined, "c", "c"]);
      expect(await store.getMany("main", "user", [], [1])).toEqual([]);
      expect(await store.getMany("main", "user", ["i:1"], [])).toEqual([[]]);
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
      if (!place.durable) return;
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
      const now = Date.now();
      const ahead = now + 86_400_000;
      const relation = { namespace: "user", key: "i:1", relationId: 7, resolver: "m.r" };
      for (const isReopened of place.durable ? [false, true] : [false]) {
        await store.dropScope("main");
        await put([{ value: "from the future", observedAt: ahead }]);
        await store.putRelation("main", [{ ...relation, rows: 1, columns: new Map([[8, [1]]]), observedAt: ahead }]);
        if (isReopened) await reopen();
        await put([{ value: "right", observedAt: now }]);
        await store.putRelation("main", [{ ...relation, rows: 2, columns: new Map([[8, [1, 2]]]), observedAt: now }]);
        if (isReopened) await reopen();
        expect((await get([1], { asOf: now }))[0]?.value).toBe("right");
        expect((await store.getRelation("main", "user", ["i:1"], 7, now))[0]).toMatchObject({ rows: 2, observedAt: now });
        await put([{ value: "older", observedAt: now - 1 }]);
        expect((await get([1], { asOf: now }))[0]?.value).toBe("right");
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

    test("dropScope forgets a scope, dropFeature a feature in every scope", async () => {
      for (const scope of ["main", "b"])
        await put(
          [
            { featureId: 1, value: "one" },
            { featureId: 2, value: "two" },
          ],
          scope,
        );
      await get([1, 2]);
      await store.dropFeature(1);
      expect((await get([1, 2])).map((stored) => stored?.value)).toEqual([undefined, "two"]);
      await store.dropScope("b");
      expect((await get([2], { scope: "b" }))[0]).toBeUndefined();
      await put([{ featureId: 1, value: "again", observedAt: -5 }]);
      expect((await get([1, 2])).map((stored) => stored?.value)).toEqual(["again", "two"]);
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
      if (!place.durable) return;
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
      const putRows = (amounts: readonly FeatureValue[], more: Partial<RelationWrite> = {}, scope = "main") =>
        store.putRelation(scope, [completeRows({ rows: amounts.length, columns: new Map([[7, amounts]]), ...more })]);
      const getRows = async (options: { scope?: string; ns?: string; key?: string; asOf?: number; relation?: number } = {}) =>
        (
          await store.getRelation(
            options.scope ?? "main",
            options.ns ?? "user",
            [options.key ?? "i:1"],
            options.relation ?? 5,
            options.asOf,
          )
        )[0];

      test("come back as they were found, no rows among them, also after a reopen", async () => {
        const columns = new Map<number, readonly FeatureValue[]>([
          [7, [1, 2n ** 60n, null]],
          [9, ["a", Number.NaN, [1, { at: new Uint8Array([1]) }]]],
        ]);
        const written = { rows: 3, columns, observedAt: 5, resolver: "m.f" };
        await store.putRelation("main", [completeRows(written), completeRows({ key: "i:2", rows: 0, columns: new Map([[7, []]]) })]);
        const expected = [written, { rows: 0, columns: new Map([[7, []]]), observedAt: 0, resolver: "m.r" }, undefined];
        expect(await store.getRelation("main", "user", ["i:1", "i:2", "i:3"], 5)).toEqual(expected);
        if (!place.durable) return;
        await reopen();
        expect(await store.getRelation("main", "user", ["i:1", "i:2", "i:3"], 5)).toEqual(expected);
      });

      test("are replaced whole by newer ones, never by older ones", async () => {
        await putRows([1, 2, 3], { observedAt: 100 });
        await putRows([9], { observedAt: 99 });
        expect((await getRows())?.columns.get(7)).toEqual([1, 2, 3]);
        await putRows([1, 3], { observedAt: 101 });
        expect(await getRows()).toMatchObject({ rows: 2, columns: new Map([[7, [1, 3]]]), observedAt: 101 });
        await store.putRelation("main", [completeRows({ rows: 1, columns: new Map([[8, ["x"]]]), observedAt: 102 })]);
        expect([...((await getRows())?.columns ?? [])]).toEqual([[8, ["x"]]]);
        if (place.durable) await reopen();
        await putRows([9], { observedAt: 101 });
        expect((await getRows())?.columns.get(8)).toEqual(["x"]);
      });

      test("are hidden before their time, apart by scope, class, key and relation, and dropped with scope or relation", async () => {
        await putRows([1], { observedAt: 100 });
        expect([await getRows({ asOf: 99 }), (await getRows({ asOf: 100 }))?.rows]).toEqual([undefined, 1]);
        for (const other of [{ scope: "b" }, { ns: "account" }, { key: "s:1" }, { relation: 6 }])
          expect(await getRows(other)).toBeUndefined();
        await putRows([2, 3], {}, "b");
        await put([{ featureId: 6, value: "beside" }]);
        await store.dropFeature(5);
        expect([await getRows(), await getRows({ scope: "b" })]).toEqual([undefined, undefined]);
        expect((await get([6]))[0]?.value).toBe("beside");
        await putRows([2, 3], {}, "b");
        await store.dropScope("b");
        expect(await getRows({ scope: "b" })).toBeUndefined();
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
        if (place.durable) await reopen();
        for (let key = 0; key < 20; key++) expect((await getRows({ key: `i:${key}` }))?.columns.get(7)).toEqual(amounts);
      });
    });

    test("wide rows and sparse feature ids are read whole", async () => {
      const ids = Array.from({ length: 500 }, (_, index) => 1 + index * 7);
      await put(ids.map((featureId) => ({ featureId, value: featureId })));
      if (place.durable) await reopen();
      expect((await get(ids)).map((stored) => stored?.value)).toEqual(ids);
      if (place.durable) await reopen();
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
              await store.putMany(step.scope, step.writes);
              model.put(step.scope, step.writes);
            } else if (step.kind === "get") {
              const found = await store.getMany(step.scope, step.namespace, step.keys, step.featureIds, step.asOf);
              expect(found).toEqual(model.get(step.scope, step.namespace, step.keys, step.featureIds, step.asOf));
            } else if (step.kind === "putRows") {
              await store.putRelation(step.scope, step.writes);
              model.put(step.scope, step.writes.map(asCell));
            } else if (step.kind === "getRows") {
              const found = await store.getRelation(step.scope, step.namespace, step.keys, RELATION, step.asOf);
              const expected = model.get(step.scope, step.namespace, step.keys, [RELATION], step.asOf);
              expect(found).toEqual(expected.map(([stored]) => stored && rowsOfCell(stored)));
            } else if (step.kind === "dropScope") {
              await store.dropScope(step.scope);
              model.drop((cell) => cell.scope === step.scope);
            } else if (step.kind === "dropFeature") {
              await store.dropFeature(step.featureId);
              model.drop((cell) => cell.featureId === step.featureId);
            } else if (step.kind === "pause") await Bun.sleep(step.ms);
            else if (place.durable) await reopen();
          }
        }),
        seeded(place.durable ? 25 : 100, 5_000),
      );
    }, 60_000);

    async function reopen(): Promise<void> {
      await store.close();
      store = await place.open();
    }
  });
}

function complete(write: Partial<OnlineWrite>): OnlineWrite {
  return { namespace: "user", key: "i:1", featureId: 1, value: null, observedAt: 0, resolver: "m.r", ...write };
}

function completeRows(write: Partial<RelationWrite>): RelationWrite {
  return { namespace: "user", key: "i:1", relationId: 5, rows: 0, columns: new Map(), observedAt: 0, resolver: "m.r", ...write };
}

/** The relation of random operations: its id is that of no feature. */
const RELATION = 77;

/** Rows of a relation as the model keeps them: one value under the relation's id. */
function asCell({ relationId, rows, columns, ...write }: RelationWrite): OnlineWrite {
  return { ...write, featureId: relationId, value: [rows, [...columns].map(([id, values]) => [id, [...values]])] };
}

function rowsOfCell({ value, observedAt, resolver }: StoredValue): StoredRows {
  const [rows, columns] = value as unknown as readonly [number, readonly (readonly [number, readonly FeatureValue[]])[]];
  return { rows, columns: new Map(columns), observedAt, resolver };
}

/** The obvious store: a list of cells. */
class Model {
  private cells: (OnlineWrite & { readonly scope: string })[] = [];

  put(scope: string, writes: readonly OnlineWrite[]): void {
    for (const write of writes) {
      const same = (cell: OnlineWrite & { readonly scope: string }): boolean =>
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

  drop(matches: (cell: OnlineWrite & { readonly scope: string }) => boolean): void {
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
const write = fc.record({
  namespace,
  key,
  featureId,
  value,
  observedAt: instant,
  resolver: fc.constantFrom("m.f", "m.g"),
});
const relationWrite: fc.Arbitrary<RelationWrite> = fc
  .record({
    namespace,
    key,
    values: fc.array(value, { maxLength: 4 }),
    ids: fc.uniqueArray(featureId, { minLength: 1 }),
    observedAt: instant,
    resolver: fc.constantFrom("m.f", "m.g"),
  })
  .map(({ values, ids, ...rest }) => ({
    ...rest,
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
      asOf: fc.option(instant, { nil: undefined }),
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
      asOf: fc.option(instant, { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("dropScope" as const), scope }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("dropFeature" as const), featureId: fc.oneof(featureId, fc.constant(RELATION)) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pause" as const), ms: fc.constantFrom(0, 7) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
);
