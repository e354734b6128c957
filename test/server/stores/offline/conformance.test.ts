/** What every offline store does, whatever keeps its values. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { type DataType, DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import type {
  FeatureVersion,
  InsertedBounds,
  Observations,
  OfflineStore,
  SampleBounds,
  Spine,
} from "../../../../src/server/stores/offline/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { seeded } from "../../../harness/seed.ts";
import { OFFLINE_DRIVERS } from "./drivers.ts";
import { type Known, sampled } from "./oracle.ts";
import { dtypeOf, featureVersion } from "./versions.ts";

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

const TEXTS = ["", "a", "1", "1.0", "ä€𝄞", "a\0b", "\ud800", '{"$int":"5"}', "x".repeat(5000), null];
const JSONS = [null, [1, null, "a"], { a: [1n << 60n, Number.NaN], b: { $int: "5" } }, "text", 5, true, new Uint8Array([1]), []];
const INTEGERS = [0, 1, -1, 2 ** 31, 2 ** 53 - 1, 9223372036854775807n, -9223372036854775808n, null];
/** Types with values of each. */
const VALUES: readonly (readonly [name: string, dtype: DataType, values: readonly FeatureValue[]])[] = [
  ["int64", dtypeOf("INT64"), INTEGERS],
  ["length of time", dtypeOf("TIMEDELTA"), INTEGERS],
  ["float64", dtypeOf("FLOAT64"), [0, -0, 0.1, 1, -1e308, 5e-324, Number.NaN, Infinity, -Infinity, null]],
  ["bool", dtypeOf("BOOL"), [true, false, null]],
  ["string", dtypeOf("STRING"), TEXTS],
  ["datetime", dtypeOf("DATETIME"), ["2024-01-02T03:04:05.000006Z", null]],
  ["date", dtypeOf("DATE"), ["2024-01-02", null]],
  ["decimal", dtypeOf("DECIMAL"), ["1.50", "-0.000000001", null]],
  ["bytes", dtypeOf("BYTES"), [new Uint8Array(0), new Uint8Array([0, 255, 1]), null]],
  ["json", dtypeOf("JSON"), JSONS],
  ["list", create(DataTypeSchema, { kind: { case: "list", value: { element: dtypeOf("INT64") } } }), [[], [1, 2n ** 60n, null], null]],
];

for (const driver of OFFLINE_DRIVERS)
  describe(`offline store: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: OfflineStore;
    let clock = 1_000;
    let lastId = 0;
    /** A case costs a move to the history where there is one. */
    const usualCases = driver.name === "SQLite" ? 150 : 40;
    const open = () => driver.open(folder.path, { now: () => clock });
    beforeAll(async () => {
      folder = new TempFolder();
      store = await open();
    });
    afterAll(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    /** A feature of its own for each test. */
    const feature = (more: Partial<FeatureVersion> = {}): FeatureVersion => featureVersion(++lastId, more);
    type Row = readonly [key: string, observedAt: number, value: FeatureValue];
    const observationsOf = (version: FeatureVersion, rows: readonly Row[], more: Partial<Observations> = {}): Observations => ({
      version,
      deploymentId: "dpl_1",
      resolver: "m.f",
      op: "query",
      keys: rows.map(([key]) => key),
      observedAt: rows.map(([, at]) => at),
      values: rows.map(([, , value]) => value),
      ...more,
    });
    const append = async (version: FeatureVersion, rows: readonly Row[]) =>
      expect(await store.append([observationsOf(version, rows)])).toEqual([]);
    const valuesAt = async (version: FeatureVersion, spine: readonly (readonly [string, number])[], bounds?: InsertedBounds) => {
      const [column] = await store.sample(
        { keys: spine.map(([key]) => key), times: spine.map(([, time]) => time) },
        [{ featureId: version.featureId }],
        bounds,
      );
      return column?.values;
    };

    test("the newest observation at or before a time is the value then", async () => {
      const version = feature();
      await append(version, [
        ["i:1", 100, 1],
        ["i:1", 300, 3],
        ["i:1", 200, 2],
        ["s:1", 100, 9],
      ]);
      const spine = [
        ["i:1", 99],
        ["i:1", 100],
        ["i:1", 199.5],
        ["i:1", 250],
        ["i:1", 1e12],
        ["s:1", 100],
        ["i:2", 100],
      ] as const;
      expect(await valuesAt(version, spine)).toEqual([null, 1, 1, 2, 3, 9, null]);
    });

    test("of observations of the same time the one stored last counts", async () => {
      const version = feature();
      await append(version, [
        ["i:1", 100, 1],
        ["i:1", 100, 2],
      ]);
      await append(version, [["i:1", 100, 3]]);
      expect(await valuesAt(version, [["i:1", 100]])).toEqual([3]);
      expect((await store.scan(version.featureId, { limit: 9 })).map(({ value }) => value)).toEqual([1, 2, 3]);
    });

    test("bounds of the time of storing tell what was known then", async () => {
      const version = feature();
      clock = 5_000;
      await append(version, [["i:1", 100, 1]]);
      clock = 6_000;
      await append(version, [["i:1", 90, 2]]);
      clock = 7_000;
      await append(version, [["i:1", 110, 3]]);
      const at = (bounds: InsertedBounds) => valuesAt(version, [["i:1", 1_000]], bounds);
      expect(await at({ insertedBefore: 5_000 })).toEqual([null]);
      expect(await at({ insertedBefore: 5_001 })).toEqual([1]);
      expect(await at({ insertedBefore: 7_000 })).toEqual([1]);
      expect(await at({ insertedFrom: 5_001, insertedBefore: 7_000 })).toEqual([2]);
      expect(await at({ insertedFrom: 6_000 })).toEqual([3]);
    });

    test("as known: what was learned after a row's time does not count for it", async () => {
      const version = feature();
      clock = 300;
      await append(version, [
        ["i:1", 100, 1],
        ["i:1", 200, 2],
      ]);
      await store.append([observationsOf(version, [["i:1", 150, 3]], { knownAt: [150.5] })]);
      await store.append([observationsOf(version, [["i:1", 400, 4]], { knownAt: [120] })]);
      const times = [99, 150, 150.5, 299, 300, 400];
      const spine: Spine = { keys: times.map(() => "i:1"), times };
      const sample = async (bounds: SampleBounds) => (await store.sample(spine, [{ featureId: version.featureId }], bounds))[0];
      expect(await sample({})).toMatchObject({ values: [null, 3, 3, 2, 2, 4], changedIfAsKnown: 2 });
      expect(await sample({ asKnown: true })).toMatchObject({ values: [null, null, 3, 3, 2, 4], changedIfAsKnown: 2 });
      expect((await store.scan(version.featureId, { limit: 9 })).map(({ knownAt }) => knownAt)).toEqual([300, 150.5, 300, 120]);
    });

    test("an observation older than the ttl is none, and no older one takes its place", async () => {
      const version = feature();
      await append(version, [
        ["i:1", 100, 1],
        ["i:1", 200, 2],
      ]);
      const spine: Spine = { keys: ["i:1", "i:1", "i:1"], times: [199, 250, 251] };
      const [column] = await store.sample(spine, [{ featureId: version.featureId, ttlMs: 50 }]);
      expect(column?.values).toEqual([null, 2, null]);
      expect([...(column?.observedAt ?? [])]).toEqual([Number.NaN, 200, Number.NaN]);
    });

    test("null that was observed is told from nothing", async () => {
      const version = feature();
      await append(version, [["i:1", 100, null]]);
      const [column] = await store.sample({ keys: ["i:1", "i:2"], times: [100, 100] }, [{ featureId: version.featureId }]);
      expect([column?.values, [...(column?.observedAt ?? [])]]).toEqual([
        [null, null],
        [100, Number.NaN],
      ]);
    });

    test.each(VALUES)("values of type %s come back exactly", async (_, dtype, values) => {
      const version = feature({ dtype });
      await append(
        version,
        values.map((value, at) => ["i:1", at, value]),
      );
      const found = await store.scan(version.featureId, { limit: 99 });
      expect(found.map(({ value }) => value)).toEqual([...values]);
      for (const [at, value] of values.entries()) expect(await valuesAt(version, [["i:1", at]])).toEqual([value]);
    });

    test("versions of a feature keep their values apart", async () => {
      const [first, second] = [feature({ name: "code" }), feature({ name: "code@2" })];
      await append(first, [["i:1", 1, 1]]);
      await append(second, [["i:1", 1, 2]]);
      expect([await valuesAt(first, [["i:1", 1]]), await valuesAt(second, [["i:1", 1]])]).toEqual([[1], [2]]);
    });

    test("an append that does not fit is refused whole, the others of the call are stored", async () => {
      const good = feature();
      const other = feature();
      await append(other, [["i:1", 1, 1]]);
      const bad: [Observations, string][] = [
        [observationsOf(feature(), [["i:1", 1, "text"]]), "does not fit"],
        [observationsOf(feature({ dtype: dtypeOf("BOOL") }), [["i:1", 1, 1]]), "does not fit"],
        [observationsOf(feature({ dtype: dtypeOf("FLOAT64") }), [["i:1", 1, 1n]]), "does not fit"],
        [observationsOf(feature({ name: 'x"; drop version version; --' }), [["i:1", 1, 1]]), "cannot have the name"],
        [observationsOf(feature({ name: "code@0" }), [["i:1", 1, 1]]), "cannot have the name"],
        [observationsOf(feature({ namespace: "a b" }), [["i:1", 1, 1]]), "cannot have the namespace"],
        [observationsOf(feature({ internalVersion: 0 }), [["i:1", 1, 1]]), "internal version 0"],
        [observationsOf({ ...other, name: "another" }, [["i:1", 1, 1]]), "the id is that of"],
        [observationsOf({ ...other, dtype: dtypeOf("STRING") }, [["i:1", 1, "a"]]), "the id is that of"],
        [observationsOf(feature(), [["1", 1, 1]]), "not a row's key"],
        [observationsOf(feature(), [["i:1", Number.NaN, 1]]), "is not a time"],
        [observationsOf(feature(), [["i:1", 1, 1]], { values: [] }), "0 values"],
        [observationsOf(feature(), [["i:1", 1, 1]], { knownAt: [] }), "0 times"],
        [observationsOf(feature(), [["i:1", 1, 1]], { knownAt: [Number.POSITIVE_INFINITY] }), "is not a time"],
        [observationsOf(feature(), [["i:1", 1, 1]], { op: "Query; drop" }), "does not name"],
      ];
      const refusals = await store.append([...bad.map(([one]) => one), observationsOf(good, [["i:1", 1, 7]])]);
      expect(refusals.map(({ index }) => index)).toEqual(bad.map((_, index) => index));
      for (const [index, [, reason]] of bad.entries()) expect(refusals[index]?.reason).toContain(reason);
      expect(await valuesAt(good, [["i:1", 1]])).toEqual([7]);
      expect(await valuesAt(other, [["i:1", 1]])).toEqual([1]);
      for (const [one] of bad.filter(([{ version }]) => version.featureId !== other.featureId))
        expect(await store.scan(one.version.featureId, { limit: 1 })).toEqual([]);
    });

    test("observations outlive the store, and say who made them", async () => {
      const version = feature({ dtype: dtypeOf("STRING") });
      clock = 9_000;
      await store.append([observationsOf(version, [["s:a", 5.25, "x"]], { resolver: "m.g", deploymentId: "dpl_7", op: "upload" })]);
      await store.close();
      store = await open();
      await append(version, [["s:a", 5.25, "y"]]);
      const found = await store.scan(version.featureId, { limit: 9 });
      expect(found[0]).toMatchObject({
        key: "s:a",
        observedAt: 5.25,
        insertedAt: 9_000,
        value: "x",
        resolver: "m.g",
        deploymentId: "dpl_7",
        op: "upload",
      });
      expect(found[1]?.sequence).toBeGreaterThan(found[0]?.sequence ?? Infinity);
      expect(await valuesAt(version, [["s:a", 6]])).toEqual(["y"]);
    });

    test("keys of a namespace: by bounds, in order, and with a limit the same ones each time", async () => {
      const [a, b, elsewhere] = [
        feature({ namespace: "scan" }),
        feature({ namespace: "scan" }),
        feature({ namespace: "scan", environmentId: "env_2" }),
      ];
      await append(a, [
        ["i:3", 100, 1],
        ["i:1", 100, 1],
        ["i:1", 500, 1],
      ]);
      await append(b, [
        ["i:2", 200, 1],
        ["i:1", 200, 1],
      ]);
      await append(elsewhere, [["i:9", 100, 1]]);
      const scan = (...args: [bounds?: Parameters<OfflineStore["scanKeys"]>[2], limit?: number]) =>
        store.scanKeys("env_1", "scan", ...args);
      expect(await scan()).toEqual(["i:1", "i:2", "i:3"]);
      expect(await scan({ observedFrom: 200 })).toEqual(["i:1", "i:2"]);
      expect(await scan({ observedFrom: 101, observedBefore: 200 })).toEqual([]);
      expect(await scan({ observedBefore: 101 })).toEqual(["i:1", "i:3"]);
      await append(
        a,
        Array.from({ length: 300 }, (_, key) => [`s:${key}`, 1, 1]),
      );
      const some = await scan({}, 20);
      expect(some).toHaveLength(20);
      expect(some).toEqual([...some].sort());
      expect(await scan({}, 20)).toEqual(some);
      expect(some.every((key) => !/^s:1?\d$/.test(key))).toBe(false);
      expect(await store.scanKeys("env_3", "scan")).toEqual([]);
    });

    test("a feature's observations come in pages", async () => {
      const version = feature();
      const rows: Row[] = Array.from({ length: 25 }, (_, n) => [`i:${n % 4}`, Math.floor(n / 8), n]);
      await append(version, rows);
      const all = await store.scan(version.featureId, { limit: 100 });
      expect(all.map(({ value }) => value).sort((a, b) => Number(a) - Number(b))).toEqual(rows.map(([, , value]) => value));
      const paged: typeof all = [];
      for (;;) {
        const after = paged.at(-1);
        const page = await store.scan(version.featureId, { limit: 7, ...(after ? { after } : {}) });
        paged.push(...page);
        if (page.length < 7) break;
      }
      expect(paged).toEqual(all);
      expect((await store.scan(version.featureId, { limit: 100, observedFrom: 1, observedBefore: 2 })).length).toBe(8);
      expect(await store.scan(999_999, { limit: 1 })).toEqual([]);
    });

    test("latest tuples: rows for which every feature was observed, with the newest values", async () => {
      const [a, b] = [feature(), feature({ dtype: dtypeOf("STRING") })];
      await append(a, [
        ["i:1", 10, 1],
        ["i:1", 30, 2],
        ["i:2", 10, 3],
        ["i:3", 10, 4],
      ]);
      await append(b, [
        ["i:1", 20, "x"],
        ["i:3", 40, "y"],
        ["i:4", 40, "z"],
      ]);
      const ids = [a.featureId, b.featureId];
      const [one, three] = [
        { key: "i:1", observedAt: 30, values: [2, "x"] },
        { key: "i:3", observedAt: 40, values: [4, "y"] },
      ];
      expect(await store.latest(ids, { limit: 9 })).toEqual([one, three]);
      expect(await store.latest(ids, { limit: 1 })).toEqual([one]);
      expect(await store.latest(ids, { limit: 9, after: "i:1" })).toEqual([three]);
      expect(await store.latest([a.featureId, 999_999], { limit: 9 })).toEqual([]);
    });

    test("versions of a feature are apart; one that is dropped has no observations, and may get new ones", async () => {
      const first = feature({ name: "grown" });
      const second = feature({ name: "grown", internalVersion: 2, dtype: dtypeOf("STRING") });
      await append(first, [["i:1", 1, 1]]);
      await append(second, [["i:2", 1, "a"]]);
      expect(await store.scanKeys("env_1", "user", { observedFrom: 1, observedBefore: 2 })).toContain("i:2");
      await store.dropVersion(first.featureId);
      await store.dropVersion(first.featureId);
      expect([await valuesAt(first, [["i:1", 9]]), await valuesAt(second, [["i:2", 9]])]).toEqual([[null], ["a"]]);
      await append(first, [["i:1", 5, 6]]);
      expect(await valuesAt(first, [["i:1", 9]])).toEqual([6]);
    });

    test("a version without observations is the newest one by its name too", async () => {
      const first = feature({ namespace: "renewed", name: "x", environmentId: "env_renewed" });
      const second = feature({ namespace: "renewed", name: "x", environmentId: "env_renewed", internalVersion: 2 });
      await store.append([observationsOf(first, [["i:1", 1, 1]])]);
      expect(await store.scanKeys("env_renewed", "renewed")).toEqual(["i:1"]);
      await store.append([observationsOf(second, [])]);
      expect(await store.scanKeys("env_renewed", "renewed")).toEqual([]);
      expect((await store.scan(first.featureId, { limit: 9 })).length).toBe(1);
    });

    test("old observations of an environment are removed, of all versions, and nothing newer", async () => {
      const HOUR = 3_600_000;
      const [a, b, other] = [
        feature({ environmentId: "env_old" }),
        feature({ environmentId: "env_old", internalVersion: 2, dtype: dtypeOf("STRING") }),
        feature({ environmentId: "env_young" }),
      ];
      const rows = (value: FeatureValue): Row[] => [0, 1, 2, 3].map((hour) => [`i:${hour}`, hour * HOUR + 5, value]);
      await store.append([observationsOf(a, rows(1)), observationsOf(b, rows("four")), observationsOf(other, rows(1))]);
      const hours = await store.hours("env_old");
      expect(hours.map(({ from }) => from / HOUR)).toEqual([0, 1, 2, 3]);
      expect(hours.every(({ bytes }) => bytes > 90 && bytes < 200)).toBe(true);
      expect(await store.trim("env_old", 2 * HOUR + 5)).toBe(4);
      expect(await store.trim("env_old", 2 * HOUR + 5)).toBe(0);
      const left = async (version: FeatureVersion) => (await store.scan(version.featureId, { limit: 9 })).map(({ key }) => key);
      expect([await left(a), await left(b), await left(other)]).toEqual([
        ["i:2", "i:3"],
        ["i:2", "i:3"],
        ["i:0", "i:1", "i:2", "i:3"],
      ]);
      expect((await store.hours("env_old")).map(({ from }) => from / HOUR)).toEqual([2, 3]);
      expect(await store.hours("env_none")).toEqual([]);
    });

    test("keys are deleted with all their observations", async () => {
      const [a, b] = [feature(), feature()];
      for (const version of [a, b])
        await append(version, [
          ["i:1", 1, 1],
          ["i:1", 2, 2],
          ["i:2", 1, 3],
        ]);
      expect(await store.deleteKeys([a.featureId, 999_999], ["i:1", "i:7"])).toBe(2);
      const spine = [
        ["i:1", 9],
        ["i:2", 9],
      ] as const;
      expect([await valuesAt(a, spine), await valuesAt(b, spine)]).toEqual([
        [null, 3],
        [2, 3],
      ]);
    });

    test("keys are deleted with what was observed or stored until a time", async () => {
      const version = feature();
      clock = 1_000;
      await append(
        version,
        [
          ["i:1", 10, "observed before"],
          ["i:1", 5_000, "stored before"],
        ].map(([key, at], n) => [key, at, n] as [string, number, number]),
      );
      clock = 3_000;
      await append(version, [
        ["i:1", 20, 2],
        ["i:1", 2_001, 3],
      ]);
      expect(await store.deleteKeys([version.featureId], ["i:1"], 2_000)).toBe(3);
      expect((await store.scan(version.featureId, { limit: 9 })).map(({ value }) => value)).toEqual([3]);
      expect(await store.deleteKeys([version.featureId], ["i:1"], 2_000)).toBe(0);
    });

    test("sample is what its definition says, whatever was stored", async () => {
      const key = fc.constantFrom("i:1", "i:2", "s:1", "s:", "s:ä");
      const time = fc.oneof(fc.integer({ min: -5, max: 15 }), fc.constantFrom(0.5, 7.25, 1.7e12, 1.7e12 + 0.125));
      const observation = fc.record({ key, observedAt: time, knownAt: time, value: fc.option(fc.integer({ min: 0, max: 99 })) });
      const commit = fc.record({
        pause: fc.integer({ min: 0, max: 3 }),
        rows: fc.array(observation, { maxLength: 6 }),
        saysWhenKnown: fc.boolean(),
      });
      const world = fc.record({
        commits: fc.array(commit, { maxLength: 8 }),
        start: fc.constantFrom(2, 1_000_000),
        asKnown: fc.boolean(),
        spine: fc.array(fc.record({ key, time }), { maxLength: 20 }),
        ttlMs: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
        from: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
        before: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
      });
      await fc.assert(
        fc.asyncProperty(world, async ({ commits, start, spine, ttlMs, from, before, asKnown }) => {
          const version = feature();
          const known: Known[] = [];
          clock = start;
          for (const { pause, rows, saysWhenKnown } of commits) {
            clock += pause;
            const observations = observationsOf(
              version,
              rows.map((row) => [row.key, row.observedAt, row.value]),
              saysWhenKnown ? { knownAt: rows.map((row) => row.knownAt) } : {},
            );
            expect(await store.append([observations])).toEqual([]);
            for (const row of rows) known.push({ ...row, insertedAt: clock, knownAt: saysWhenKnown ? row.knownAt : clock });
          }
          const bounds: SampleBounds = {
            asKnown,
            ...(from === undefined ? {} : { insertedFrom: start + from }),
            ...(before === undefined ? {} : { insertedBefore: start + before }),
          };
          const [column] = await store.sample(
            { keys: spine.map((row) => row.key), times: spine.map((row) => row.time) },
            [{ featureId: version.featureId, ...(ttlMs === undefined ? {} : { ttlMs }) }],
            bounds,
          );
          const meant = (asKnown: boolean) =>
            spine.map((row) => sampled(known, row.key, row.time, ttlMs ?? Infinity, { ...bounds, asKnown }));
          const expected = meant(asKnown);
          const other = meant(!asKnown);
          expect(column?.changedIfAsKnown).toBe(expected.filter((one, row) => one !== other[row]).length);
          expect(column?.values).toEqual(expected.map((one) => one?.value ?? null));
          expect([...(column?.observedAt ?? [])]).toEqual(expected.map((one) => one?.observedAt ?? Number.NaN));
          expect([...(column?.insertedAt ?? [])]).toEqual(expected.map((one) => one?.insertedAt ?? Number.NaN));
        }),
        seeded(usualCases, 5_000),
      );
    });

    test("text, bytes and numbers of every kind come back exactly", async () => {
      const text = fc.string({
        unit: fc.oneof(fc.string({ minLength: 1, maxLength: 1, unit: "binary" }), fc.constantFrom("\0", "\ud800", "'")),
      });
      const [texts, bytes, reals] = [
        feature({ dtype: dtypeOf("STRING") }),
        feature({ dtype: dtypeOf("BYTES") }),
        feature({ dtype: dtypeOf("FLOAT64") }),
      ];
      let at = 0;
      await fc.assert(
        fc.asyncProperty(text, fc.uint8Array(), fc.double(), async (string, array, number) => {
          const time = ++at;
          await store.append([
            observationsOf(texts, [["i:1", time, string]]),
            observationsOf(bytes, [["i:1", time, new Uint8Array(array)]]),
            observationsOf(reals, [["i:1", time, number]]),
          ]);
          expect(await valuesAt(texts, [["i:1", time]])).toEqual([string]);
          expect(await valuesAt(bytes, [["i:1", time]])).toEqual([new Uint8Array(array)]);
          expect(await valuesAt(reals, [["i:1", time]])).toEqual([number]);
        }),
        seeded(usualCases, 5_000),
      );
    });

    test("a store that was closed refuses, what it was asked before being done", async () => {
      const version = feature();
      const appending = store.append([observationsOf(version, [["i:1", 1, 1]])]);
      await store.probe();
      await store.close();
      expect(await appending).toEqual([]);
      expect(await failureOf(store.probe())).toMatchObject({ code: "failed" });
      expect(await failureOf(store.scanKeys("env_1", "user"))).toMatchObject({ code: "failed" });
      store = await open();
      expect(await valuesAt(version, [["i:1", 1]])).toEqual([1]);
    });
  });
