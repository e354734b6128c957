/** Samples and exports of the offline store by files, against a plain loop over what was stored. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { type DataType, DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { formatMicros } from "../../../../src/domain/timestamp.ts";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { createLog } from "../../../../src/server/log.ts";
import type { FeatureVersion, Observations, SampleBounds, TableFeature } from "../../../../src/server/stores/offline/store.ts";
import { createTableEngine } from "../../../../src/server/tables/create-table-engine.ts";
import type { TableColumn, TableEngine } from "../../../../src/server/tables/engine.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { seeded } from "../../../harness/seed.ts";
import { openEmbedded } from "./drivers.ts";
import { type Known, sampled } from "./oracle.ts";
import { dtypeOf, featureVersion } from "./versions.ts";

let folder: TempFolder;
let tables: TableEngine;
let store: ReturnType<typeof openEmbedded>;
let clock = 1_000;
let lastId = 0;
beforeAll(() => {
  folder = new TempFolder();
  tables = createTableEngine({
    folder: join(folder.path, "tables"),
    libraryFolders: [],
    log: createLog({ write: () => undefined, clock: { now: Date.now } }),
  });
  store = openEmbedded(folder.path, { now: () => clock });
});
afterAll(async () => {
  await store.close();
  await tables.close();
  folder[Symbol.dispose]();
});

const file = (name: string): string => join(folder.path, name);
const feature = (more: Partial<FeatureVersion> = {}): FeatureVersion => featureVersion(++lastId, more);
const INT64 = dtypeOf("INT64");
const DATETIME = dtypeOf("DATETIME");

/** Milliseconds of microseconds, as everything in memory has them. */
const msOf = (micros: number | bigint): number => Number(micros) / 1000;

async function write(name: string, columns: readonly TableColumn[], values: readonly (readonly FeatureValue[])[]): Promise<string> {
  const path = file(name);
  const writer = await tables.write(path, columns);
  await writer.append({ rows: values[0]?.length ?? 0, columns: values });
  await writer.finish();
  return path;
}

async function read(path: string): Promise<Record<string, FeatureValue[]>> {
  const { columns } = await tables.describe(path);
  const found: Record<string, FeatureValue[]> = Object.fromEntries(columns.map(({ name }) => [name, []]));
  for await (const chunk of tables.read(path))
    for (const [at, { name }] of columns.entries()) found[name]?.push(...(chunk.columns[at] as FeatureValue[]));
  return found;
}

async function append(
  version: FeatureVersion,
  rows: readonly (readonly [string, number, FeatureValue])[],
  more: Partial<Observations> = {},
) {
  const refusals = await store.append([
    {
      version,
      deploymentId: "dpl_1",
      resolver: "m.f",
      op: "query",
      keys: rows.map(([key]) => key),
      observedAt: rows.map(([, at]) => at),
      values: rows.map(([, , value]) => value),
      ...more,
    },
  ]);
  expect(refusals).toEqual([]);
}

test("a sample of a file is what its definition says, whatever was stored", async () => {
  const micros = fc.oneof(
    fc.integer({ min: -3, max: 12 }).map((n) => n * 1000),
    fc.constantFrom(500, 1, 7_000_001, 1_700_000_000_000_125, -62_135_596_800_000_000n, 253_402_300_799_999_999n),
  );
  const time = fc.oneof(micros, fc.constantFrom(8_000, 1_700_000_000_000_124));
  const isText = fc.boolean();
  const key = fc.oneof(fc.integer({ min: -1, max: 2 }), fc.constant(9_007_199_254_740_993n));
  const observation = fc.record({ key, at: micros, knownAt: time, value: fc.option(fc.integer({ min: 0, max: 99 })) });
  const commit = fc.record({
    pause: fc.integer({ min: 0, max: 3 }),
    second: fc.boolean(),
    rows: fc.array(observation, { maxLength: 8 }),
    saysWhenKnown: fc.boolean(),
    isForgotten: fc.boolean(),
  });
  const bound = fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined });
  const world = fc.record({
    isText,
    commits: fc.array(commit, { maxLength: 8 }),
    spine: fc.array(fc.record({ key: fc.option(key, { freq: 9 }), at: fc.option(time, { freq: 9 }) }), { minLength: 1, maxLength: 30 }),
    ttls: fc.tuple(bound, bound),
    asKnown: fc.boolean(),
    from: bound,
    before: bound,
    deleted: fc.option(key, { freq: 3, nil: undefined }),
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(world, async ({ isText, commits, spine, ttls, asKnown, from, before, deleted }) => {
      const versions = [feature(), feature({ internalVersion: 2 })] as const;
      const known: [Known[], Known[]] = [[], []];
      const storeKey = (one: number | bigint): string => (isText ? `s:k'${one}` : `i:${one}`);
      clock = 2;
      for (const { pause, second, rows, saysWhenKnown } of commits) {
        clock += pause;
        const of = second ? 1 : 0;
        await append(
          versions[of],
          rows.map((row) => [storeKey(row.key), msOf(row.at), row.value]),
          saysWhenKnown ? { knownAt: rows.map((row) => msOf(row.knownAt)) } : {},
        );
        for (const row of rows)
          known[of].push({
            key: storeKey(row.key),
            value: row.value,
            observedAt: msOf(row.at),
            insertedAt: clock,
            knownAt: saysWhenKnown ? msOf(row.knownAt) : clock,
          });
      }
      if (deleted !== undefined) {
        const removed = known[0].filter((one) => one.key === storeKey(deleted));
        expect(await store.deleteKeys([versions[0].featureId], [storeKey(deleted)])).toBe(removed.length);
        known[0] = known[0].filter((one) => one.key !== storeKey(deleted));
      }
      const keyType = isText ? dtypeOf("STRING") : INT64;
      const path = await write(
        `spine-${++run}.parquet`,
        [
          { name: "n", dtype: INT64 },
          { name: "user id", dtype: keyType },
          { name: "ts", dtype: DATETIME },
        ],
        [
          spine.map((_, row) => row),
          spine.map((row) => (row.key === null ? null : isText ? `k'${row.key}` : row.key)),
          spine.map((row) => (row.at === null ? null : formatMicros(BigInt(row.at)))),
        ],
      );
      const bounds: SampleBounds = {
        asKnown,
        ...(from === undefined ? {} : { insertedFrom: from }),
        ...(before === undefined ? {} : { insertedBefore: before }),
      };
      const features: TableFeature[] = versions.map(({ featureId, dtype }, n) => ({
        featureId,
        dtype,
        column: `user.f${n}`,
        observedAtColumn: `at${n}`,
        ...(ttls[n] === undefined ? {} : { ttlMs: ttls[n] }),
      }));
      const target = file(`sample-${run}.parquet`);
      const done = await store.sampleTable({ spine: { path, key: "user id", time: "ts" }, features, bounds, keep: ["n"], target });
      expect(done.rows).toBe(spine.length);
      const found = await read(target);
      expect(found.n).toEqual(spine.map((_, row) => row));
      for (const n of [0, 1] as const) {
        const meant = (as: boolean) =>
          spine.map((row) =>
            row.key === null || row.at === null
              ? undefined
              : sampled(known[n], storeKey(row.key), msOf(row.at), ttls[n] ?? Infinity, { ...bounds, asKnown: as }),
          );
        const expected = meant(asKnown);
        const other = meant(!asKnown);
        expect(found[`user.f${n}`]).toEqual(expected.map((one) => one?.value ?? null));
        expect(found[`at${n}`]?.map((at) => at === null)).toEqual(expected.map((one) => one === undefined));
        expect(done.changedIfAsKnown[`user.f${n}`]).toBe(expected.filter((one, row) => one !== other[row]).length);
      }
    }),
    seeded(30, 2_000),
  );
});

const list: DataType = create(DataTypeSchema, { kind: { case: "list", value: { element: INT64, elementNullable: true } } });
const struct: DataType = create(DataTypeSchema, {
  kind: {
    case: "struct",
    value: {
      name: "P",
      fields: [
        { name: "x", dtype: dtypeOf("FLOAT64"), nullable: true },
        { name: "tags", dtype: list, nullable: true },
      ],
    },
  },
});
const TYPES: readonly (readonly [name: string, dtype: DataType, values: readonly FeatureValue[]])[] = [
  ["int64", INT64, [0, -1, 9223372036854775807n, -9223372036854775808n, null]],
  ["length of time", dtypeOf("TIMEDELTA"), [1, -(2 ** 40), null]],
  ["float64", dtypeOf("FLOAT64"), [0.1, -0, Number.NaN, Infinity, -Infinity, 5e-324, null]],
  ["bool", dtypeOf("BOOL"), [true, false, null]],
  ["string", dtypeOf("STRING"), ["", "a\0b", "ä€𝄞'", null]],
  ["datetime", DATETIME, ["0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z", "2024-01-02T03:04:05.000006Z", null]],
  ["date", dtypeOf("DATE"), ["0001-01-01", "9999-12-31", null]],
  ["decimal", dtypeOf("DECIMAL"), ["1.5", "-0.000000001", null]],
  ["decimal of many digits", dtypeOf("DECIMAL"), ["1.0000000000000000000000001", "2", null]],
  ["bytes", dtypeOf("BYTES"), [new Uint8Array(0), new Uint8Array([0, 255]), null]],
  ["json", dtypeOf("JSON"), [[1, null, "a"], { a: [2 ** 40], $int: "5" }, "text", 5, true, null]],
  ["list", list, [[], [1, 2n ** 60n, null], null]],
  ["struct", struct, [{ x: 0.5, tags: [1] }, { x: null, tags: null }, null]],
];

test.each(TYPES)("values of type %s come out exactly, as samples and as history", async (name, dtype, values) => {
  const version = feature({ dtype });
  clock = 7_000;
  await append(
    version,
    values.map((value, at) => ["s:a", at + 0.5, value]),
    { knownAt: values.map((_, at) => at) },
  );
  const path = await write(
    `types-${name}.parquet`,
    [
      { name: "id", dtype: dtypeOf("STRING") },
      { name: "ms", dtype: dtypeOf("FLOAT64") },
    ],
    [values.map(() => "a"), values.map((_, at) => at + 0.75)],
  );
  const target = file(`sampled-${name}.parquet`);
  const features = [{ featureId: version.featureId, dtype, column: "v" }];
  await store.sampleTable({ spine: { path, key: "id", time: "ms" }, features, target });
  expect((await read(target)).v).toEqual([...values]);
  expect((await tables.describe(target)).columns).toEqual([{ name: "v", dtype }]);
  const history = file(`history-${name}.parquet`);
  expect(await store.exportHistory(version, history)).toEqual({ rows: values.length });
  expect(await store.exportHistory(version, file("never.parquet"), { mostRows: values.length - 1 })).toEqual({ rows: values.length });
  expect(existsSync(file("never.parquet"))).toBe(false);
  const found = await read(history);
  expect(found.value).toEqual([...values]);
  expect(found.key).toEqual(values.map(() => "a"));
  expect(found.observed_at).toEqual(values.map((_, at) => formatMicros(BigInt(at * 1000 + 500))));
  expect(found.known_at).toEqual(values.map((_, at) => formatMicros(BigInt(at * 1000))));
  expect(found.inserted_at?.[0]).toBe(formatMicros(7_000_000n));
  expect([found.resolver?.[0], found.deployment?.[0], found.operation?.[0]]).toEqual(["m.f", "dpl_1", "query"]);
});

test("keys of a namespace come as a file, all or some of them", async () => {
  const version = feature({ namespace: "keyed" });
  await append(
    version,
    Array.from({ length: 50 }, (_, n) => [`i:${n % 25}`, n, n]),
  );
  const namespace = { environmentId: "env_1", namespace: "keyed" };
  expect(await store.exportKeys(namespace, file("keys.parquet"), { observedFrom: 30, observedBefore: 40 })).toEqual({ rows: 10 });
  expect((await read(file("keys.parquet"))).key).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
  expect(await store.exportKeys(namespace, file("some.parquet"), {}, 7)).toEqual({ rows: 7 });
  const some = (await read(file("some.parquet"))).key;
  await store.exportKeys(namespace, file("some.parquet"), {}, 7);
  expect((await read(file("some.parquet"))).key).toEqual(some as FeatureValue[]);
});

test("what a file cannot give or hold is refused, and leaves no file", async () => {
  const version = feature({ dtype: dtypeOf("STRING") });
  await append(version, [["i:1", 1, "\ud800"]]);
  const columns = [
    { name: "id", dtype: INT64 },
    { name: "half", dtype: dtypeOf("FLOAT64") },
    { name: "word", dtype: dtypeOf("STRING") },
  ];
  const path = await write("refused.parquet", columns, [[1], [2.5], ["x"]]);
  const features = [{ featureId: version.featureId, dtype: version.dtype, column: "v" }];
  const target = file("never.parquet");
  const sample = (key: string, time: string, from = path) => store.sampleTable({ spine: { path: from, key, time }, features, target });
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );
  await Bun.write(file("cut.parquet"), (await Bun.file(path).bytes()).slice(0, 100));
  expect(await failure(sample("no", "half"))).toMatchObject({ code: "refused", message: expect.stringContaining('no column "no"') });
  expect(await failure(sample("half", "half"))).toMatchObject({ code: "refused", message: expect.stringContaining("keys of type DOUBLE") });
  expect(await failure(sample("id", "word"))).toMatchObject({ code: "refused", message: expect.stringContaining("times of type VARCHAR") });
  expect(await failure(sample("id", "half", file("cut.parquet")))).toMatchObject({ code: "refused" });
  expect(await failure(sample("id", "half", file("none.parquet")))).toMatchObject({ code: "refused" });
  expect(await failure(sample("id", "half"))).toMatchObject({ code: "refused", message: expect.stringContaining("no Unicode") });
  expect(
    await failure(store.sampleTable({ spine: { path, key: "id", time: "half" }, features, target }, AbortSignal.abort())),
  ).toMatchObject({
    name: "AbortError",
  });
  expect(existsSync(target)).toBe(false);
  expect(readdirSync(folder.path).filter((name) => name.includes("partial"))).toEqual([]);
});
