/** What every telemetry store does, whatever keeps its records. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { QueryRequestSchema } from "../../../../gen/svc/v1/query_pb.ts";
import type {
  QueryLogEntry,
  RecordedBounds,
  SpanRecord,
  StageRecord,
  TelemetryStore,
} from "../../../../src/server/stores/telemetry/store.ts";
import { TempFolder, TestClock } from "../../../harness/running-server.ts";
import { seeded } from "../../../harness/seed.ts";
import { KEPT, TELEMETRY_DRIVERS } from "./drivers.ts";
import { query as queryAt, span as spanAt, stage as stageAt } from "./records.ts";

describe.each(TELEMETRY_DRIVERS)("telemetry store: $name", (driver) => {
  let folder: TempFolder;
  let clock: TestClock;
  let store: TelemetryStore;

  const open = async (): Promise<void> => {
    store = await driver.open(folder.path, { now: () => clock.now() });
  };
  const reopen = async (): Promise<void> => {
    await store.close();
    await open();
  };
  beforeEach(async () => {
    folder = new TempFolder();
    clock = new TestClock();
    await open();
  });
  afterEach(async () => {
    await store.close();
    folder[Symbol.dispose]();
  });

  const query = (id: string, more: Partial<QueryLogEntry> = {}) => queryAt(id, clock.now(), more);
  const span = (id: string, more: Partial<SpanRecord> = {}) => spanAt(id, clock.now(), more);
  const stage = (queryId: string, number: number, more: Partial<StageRecord> = {}) => stageAt(queryId, number, clock.now(), more);

  test("a query is found at once, and after a restart", async () => {
    const entry = query("qry_1");
    store.recordQuery(entry);
    expect(await store.query("qry_1")).toEqual(entry);
    if (!driver.isDurable) return;
    await reopen();
    expect(await store.query("qry_1")).toEqual(entry);
    expect(await store.query("qry_2")).toBeUndefined();
  });

  test("it tells what it holds, and keeps to a limit that is set, until that is taken back", async () => {
    const before = await store.figures();
    expect(before).toMatchObject({ pendingRecords: 0, pendingBytes: 0, maxBytes: before.defaultMaxBytes });
    await store.limit({ maxBytes: before.defaultMaxBytes * 2, maxAgeMs: undefined });
    expect((await store.figures()).maxBytes).toBe(before.defaultMaxBytes * 2);
    await store.limit({ maxBytes: undefined, maxAgeMs: undefined });
    expect((await store.figures()).maxBytes).toBe(before.defaultMaxBytes);
    store.recordQuery(query("waits"));
    const waiting = store.figures();
    expect((await waiting).pendingRecords).toBeLessThanOrEqual(1);
    await store.flush();
    expect(await store.figures()).toMatchObject({ pendingRecords: 0, pendingBytes: 0, schemaVersion: before.schemaVersion });
  });

  test("a migration leads to the newest schema, and a second has nothing to do", async () => {
    const { schemaVersion } = await store.figures();
    expect((await store.migrate()).to).toBe(schemaVersion);
    expect(await store.migrate()).toEqual({ from: schemaVersion, to: schemaVersion });
  });

  test("each of the queries that are written together keeps its own bodies, exactly", async () => {
    const body = fc.oneof(
      fc.record({
        encoding: fc.constant("json" as const),
        request: fc.string({ unit: "grapheme" }),
        response: fc.option(fc.string({ unit: "grapheme" }), { nil: undefined }),
      }),
      fc.record({
        encoding: fc.constant("proto" as const),
        request: fc.uint8Array(),
        response: fc.option(fc.uint8Array(), { nil: undefined }),
      }),
    );
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ body, origins: fc.string({ unit: "grapheme" }) }), { maxLength: 40 }), async (given) => {
        run++;
        const entries = given.map(({ body: { response, ...asked }, origins }, index) => {
          const { response: _response, ...entry } = query(`qry_${run}_${index}`, { ...asked, origins });
          return response === undefined ? { ...entry, error: "refused", errorCount: 1 } : { ...entry, response };
        });
        for (const entry of entries) store.recordQuery(entry);
        for (const entry of entries) expect(await store.query(entry.queryId)).toEqual(entry);
      }),
      seeded(20, 1_000),
    );
  });

  test("a refused query keeps its reason", async () => {
    const { response: _response, ...refused } = query("qry_1", { error: "unknown feature", errorCount: 1 });
    store.recordQuery(refused);
    expect(await store.query("qry_1")).toEqual(refused);
    expect((await store.queries({ environmentId: "env_1", limit: 5 }))[0]?.errorCount).toBe(1);
  });

  test("queries are found by their time", async () => {
    const start = clock.now();
    const ids = async (bounds: RecordedBounds) =>
      (await store.queries({ environmentId: "env_1", limit: 9, ...bounds })).map(({ queryId }) => queryId);
    for (const n of [0, 1, 2, 3]) store.recordQuery(query(`q${n}`, { startedAt: start + n * 10 }));
    expect(await ids({ from: start + 10 })).toEqual(["q3", "q2", "q1"]);
    expect(await ids({ before: start + 10 })).toEqual(["q0"]);
    expect(await ids({ from: start + 10, before: start + 30 })).toEqual(["q2", "q1"]);
    expect(await ids({ from: start + 31 })).toEqual([]);
    expect(await ids({ before: start })).toEqual([]);
  });

  test("queries are listed newest first, by environment and deployment", async () => {
    for (let n = 1; n <= 600; n++)
      store.recordQuery(query(`qry_${n}`, { deploymentId: n % 2 === 0 ? "dpl_1" : "dpl_2", errorCount: n % 3 }));
    store.recordQuery(query("qry_other", { environmentId: "env_2" }));
    const [first, second] = await store.queries({ environmentId: "env_1", limit: 2 });
    expect([first?.queryId, second?.queryId]).toEqual(["qry_600", "qry_599"]);
    expect(first).toMatchObject({
      queryId: "qry_600",
      environmentId: "env_1",
      deploymentId: "dpl_1",
      branch: "",
      startedAt: expect.any(Number),
      durationMs: 1.5,
      queryName: "n",
      correlationId: "c",
      errorCount: 0,
    });
    expect((await store.queries({ environmentId: "env_1", deploymentId: "dpl_2", limit: 1 }))[0]?.queryId).toBe("qry_599");
    expect((await store.query("qry_1"))?.queryId).toBe("qry_1");
  });

  describe("spans", () => {
    const ids = async (filter: Parameters<TelemetryStore["spans"]>[0]) => (await store.spans(filter)).map(({ spanId }) => spanId);

    test("are found at once and after a restart, by trace and by query, by their start", async () => {
      const first = span("a");
      store.recordSpans([
        span("c", { startedAt: first.startedAt + 2 }),
        first,
        span("b", { startedAt: first.startedAt + 1, queryId: "q2" }),
      ]);
      store.recordSpans([span("d", { traceId: "t2" })]);
      expect((await store.spans({ queryId: "q1" }))[0]).toEqual(first);
      expect(await ids({ traceId: "t1" })).toEqual(["a", "b", "c"]);
      expect(await ids({ queryId: "q2" })).toEqual(["b"]);
      expect(await ids({ traceId: "t3" })).toEqual([]);
      const traceIds = [store.traceIdOf("env_1", "q1"), store.traceIdOf("env_1", "q3"), store.traceIdOf("env_2", "q1")];
      expect(await Promise.all(traceIds)).toEqual(["t1", undefined, undefined]);
      if (!driver.isDurable) return;
      await reopen();
      expect(await ids({ traceId: "t1" })).toEqual(["a", "b", "c"]);
    });
  });

  test("records go when they are too old", async () => {
    store.recordSpans([span("old")]);
    store.recordQuery(query("qry_old"));
    await store.flush();
    clock.advance(KEPT.ttlMs + 1_000);
    store.recordSpans([span("new")]);
    store.recordQuery(query("qry_new"));
    await store.flush();
    expect((await store.spans({ traceId: "t1" })).map(({ spanId }) => spanId)).toEqual(["new"]);
    expect((await store.queries({ environmentId: "env_1", limit: 9 })).map(({ queryId }) => queryId)).toEqual(["qry_new"]);
  });

  test("what is known of an environment is forgotten, also what was just recorded", async () => {
    const other = { environmentId: "env_2" };
    for (const of of [{}, other]) {
      const id = "environmentId" in of ? "other" : "own";
      store.recordQuery(query(id, of));
      store.recordSpans([span(id, { ...of, queryId: id })]);
      await store.keepStages([stage(id, 0, of)]);
    }
    await store.forgetEnvironment("env_1");
    const known = async (id: string) => [
      (await store.query(id)) !== undefined,
      (await store.spans({ queryId: id })).length,
      (await store.stages(id)).length,
    ];
    expect([await known("own"), await known("other")]).toEqual([
      [false, 0, 0],
      [true, 1, 1],
    ]);
    expect(await store.expiredStages()).toEqual({ queryIds: ["own"], objects: ["own-0"] });
  });

  test("queries with a key are forgotten with their spans and stages, told before; those packed with them are read as before", async () => {
    const at = clock.now();
    const proto = (id: bigint | string): Uint8Array =>
      toBinary(
        QueryRequestSchema,
        create(QueryRequestSchema, {
          inputs: [
            {
              feature: "user.id",
              value: {
                case: "typed",
                value: { kind: typeof id === "string" ? { case: "stringValue", value: id } : { case: "int64Value", value: id } },
              },
            },
          ],
        }),
      );
    const own: readonly (readonly [id: string, more: Partial<QueryLogEntry>])[] = [
      ["number", { request: '{"inputs":{"user.id":17}}' }],
      ["answer", { request: "{}", response: '{"data":[{"value":"user 17"}]}' }],
      ["escaped", { request: '{"inputs":{"user.id":"\\u00e4 b@c"}}' }],
      ["key of an object", { request: '{"inputs":{"ä b@c":1}}' }],
      ["long number", { request: '{"inputs":{"user.id":[9007199254740993]}}' }],
      ["refused", { request: "{", error: "17 is wrong" }],
      ["proto number", { encoding: "proto", request: proto(17n), response: new Uint8Array() }],
      ["negative", { encoding: "proto", request: proto(-3n), response: new Uint8Array() }],
      ["proto text", { encoding: "proto", request: proto("ä b@c"), response: new Uint8Array() }],
    ];
    const others: typeof own = [
      [
        "about the answer",
        { request: "{}", response: '{"data":[{"value":17.5,"meta":{"version":17}}],"meta":{"at":"2024-01-17T17:17:17Z"}}' },
      ],
      ["another number", { request: '{"inputs":{"user.id":170}}' }],
      ["another proto", { encoding: "proto", request: proto(170n), response: proto("b@c") }],
      ["another environment", { request: "[17]", environmentId: "env_2" }],
      ["another branch", { request: "[17]", branch: "b" }],
      ["later", { request: "[17]", startedAt: at + 1 }],
    ];
    for (const [id, more] of own.flatMap((one, n) => [one, others[n] ?? one].slice(0, n < others.length ? 2 : 1))) {
      store.recordQuery(query(id, { startedAt: at, ...more }));
      store.recordSpans([span("s", { queryId: id })]);
      await store.keepStages([stage(id, 0, { sha256: "", size: 0 })]);
    }
    const before = await Promise.all(others.map(([id]) => store.query(id)));
    const keys = { environmentId: "env_1", branch: "", keys: ["17", "ä b@c", "-3", "9007199254740993"], until: at };
    expect(await store.forgetKeys(keys, AbortSignal.abort())).toBe(0);
    const failed = store.forgetKeys(keys, undefined, () => Promise.reject(new Error("not yet")));
    expect(await failed.catch(String)).toContain("not yet");
    const told: string[] = [];
    const tell = async (ids: readonly string[]) => void told.push(...ids);
    expect(await store.forgetKeys(keys, undefined, tell)).toBe(own.length);
    expect(told.toSorted()).toEqual(own.map(([id]) => id).sort());
    for (const [id] of own) expect([id, await store.query(id), await store.spans({ queryId: id })]).toEqual([id, undefined, []]);
    expect(await Promise.all(others.map(([id]) => store.query(id)))).toEqual(before);
    expect((await store.expiredStages()).queryIds.toSorted()).toEqual(own.map(([id]) => id).sort());
    expect(await store.forgetKeys(keys)).toBe(0);
  });

  describe("stages", () => {
    test("are read back in order, each query's own", async () => {
      const stages = [stage("q1", 0), stage("q1", 1, { omitted: "too many", sha256: "", size: 0 }), stage("q1", 2)];
      await store.keepStages(stages);
      await store.keepStages([stage("q2", 0)]);
      expect(await store.stages("q1")).toEqual(stages);
      expect(await store.stages("q3")).toEqual([]);
      expect(await store.expiredStages()).toEqual({ queryIds: [], objects: [] });
    });

    test("expire with their query's age; their objects stay known until they are forgotten", async () => {
      await store.keepStages([stage("q1", 0), stage("q1", 1, { sha256: "", size: 0 })]);
      clock.advance(KEPT.ttlMs + 1_000);
      await store.keepStages([stage("q2", 0)]);
      const expired = { queryIds: ["q1"], objects: ["q1-0"] };
      expect(await store.expiredStages()).toEqual(expired);
      expect([await store.expiredStages(), await store.stages("q1")]).toEqual([expired, []]);
      await store.forgetStages(["q1"]);
      expect(await store.expiredStages()).toEqual({ queryIds: [], objects: [] });
      expect([await store.stages("q1"), (await store.stages("q2")).length]).toEqual([[], 1]);
    });

    test("of the oldest queries expire when all together are too large", async () => {
      for (const queryId of ["q1", "q2", "q3"]) {
        await store.keepStages([stage(queryId, 0), stage(queryId, 1)]);
        clock.advance(1_000);
      }
      expect(await store.expiredStages()).toEqual({ queryIds: ["q1"], objects: ["q1-0", "q1-1"] });
    });
  });

  test("the probe passes and leaves nothing behind; a store with room says so", async () => {
    await store.probe();
    expect([store.hasRoom(), store.dropped()]).toEqual([true, 0]);
  });
});
