import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createSqliteTelemetryStore, type TelemetryOptions } from "../../../src/server/stores/telemetry/sqlite.ts";
import type { SpanRecord, StageRecord, TelemetryStore } from "../../../src/server/stores/telemetry/store.ts";
import { TempFolder, TestClock } from "../running-server.ts";

const HOUR = 3_600_000;
let folder: TempFolder;
let clock: TestClock;
let store: TelemetryStore;
let deleted: string[];

const open = (options: Partial<TelemetryOptions> = {}) =>
  createSqliteTelemetryStore({
    path: join(folder.path, "telemetry.db"),
    programVersion: "1",
    clock,
    ttlMs: 24 * HOUR,
    deleteObject: async (sha256) => void deleted.push(sha256),
    ...options,
  });

beforeEach(() => {
  folder = new TempFolder();
  clock = new TestClock();
  deleted = [];
  store = open();
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

const span = (spanId: string, more: Partial<SpanRecord> = {}): SpanRecord => ({
  traceId: "t1",
  spanId,
  parentSpanId: "",
  kind: "op",
  name: "m.f",
  startedAt: clock.now(),
  durationMs: 1.25,
  error: "",
  attributes: { rows_in: "1", "é\u0000": '"' },
  queryId: "q1",
  environmentId: "env_1",
  deploymentId: "dpl_1",
  ...more,
});
const stage = (queryId: string, number: number, more: Partial<StageRecord> = {}): StageRecord => ({
  queryId,
  stage: number,
  environmentId: "env_1",
  startedAt: clock.now(),
  kind: "python",
  provider: "m.f",
  path: "user",
  rows: 2,
  columns: ["user.a", "user.b"],
  omitted: "",
  sha256: `${queryId}-${number}`,
  size: 100,
  ...more,
});
const ids = async (filter: Parameters<TelemetryStore["spans"]>[0]) => (await store.spans(filter)).map(({ spanId }) => spanId);

describe("spans", () => {
  test("are found at once and after a restart, by trace and by query, by their start", async () => {
    const first = span("a");
    store.recordSpans([span("c", { startedAt: first.startedAt + 2 }), first, span("b", { startedAt: first.startedAt + 1, queryId: "q2" })]);
    store.recordSpans([span("d", { traceId: "t2" })]);
    expect((await store.spans({ queryId: "q1" }))[0]).toEqual(first);
    expect(await ids({ traceId: "t1" })).toEqual(["a", "b", "c"]);
    await store.close();
    store = open();
    expect(await ids({ traceId: "t1" })).toEqual(["a", "b", "c"]);
    expect(await ids({ queryId: "q2" })).toEqual(["b"]);
    expect(await ids({ traceId: "t3" })).toEqual([]);
  });

  test("go with the log's age", async () => {
    store.recordSpans([span("old")]);
    await store.flush();
    clock.advance(25 * HOUR);
    store.recordSpans([span("new")]);
    await store.flush();
    expect(await ids({ traceId: "t1" })).toEqual(["new"]);
  });

  test("of a query are kept whole or dropped whole and counted when there is no room", async () => {
    await store.close();
    store = open({ maxPending: 3 });
    store.recordSpans([span("a"), span("b")]);
    store.recordSpans([span("c", { queryId: "q2" }), span("d", { queryId: "q2" })]);
    store.recordSpans([span("e", { queryId: "q3" }), span("f", { queryId: "q3" })]);
    expect(store.dropped()).toBe(2);
    expect(await ids({ traceId: "t1" })).toEqual(["a", "b", "c", "d"]);
  });
});

describe("stages", () => {
  test("are read back in order, each query's own", async () => {
    const stages = [stage("q1", 0), stage("q1", 1, { omitted: "too many", sha256: "", size: 0 }), stage("q1", 2)];
    await store.keepStages(stages);
    await store.keepStages([stage("q2", 0)]);
    expect(await store.stages("q1")).toEqual(stages);
    expect(await store.stages("q3")).toEqual([]);
  });

  test("go with their query's age, objects first", async () => {
    await store.keepStages([stage("q1", 0), stage("q1", 1, { sha256: "", size: 0 })]);
    clock.advance(25 * HOUR);
    await store.keepStages([stage("q2", 0)]);
    expect(deleted).toEqual(["q1-0"]);
    expect([await store.stages("q1"), (await store.stages("q2")).length]).toEqual([[], 1]);
  });

  test("go also when no others are kept, with any record that is written", async () => {
    await store.keepStages([stage("q1", 0)]);
    clock.advance(25 * HOUR);
    store.recordSpans([span("a")]);
    await store.flush();
    expect(deleted).toEqual(["q1-0"]);
    expect(await store.stages("q1")).toEqual([]);
  });

  test("whose object cannot be deleted stay known, and are tried again", async () => {
    await store.close();
    let full = true;
    const failed: unknown[] = [];
    store = open({
      onError: (error) => failed.push(error),
      async deleteObject(sha256) {
        if (full) throw new Error("no");
        deleted.push(sha256);
      },
    });
    await store.keepStages([stage("q1", 0)]);
    clock.advance(25 * HOUR);
    await store.keepStages([stage("q2", 0)]);
    expect([failed.length, (await store.stages("q1")).length]).toEqual([1, 1]);
    full = false;
    await store.keepStages([stage("q3", 0)]);
    expect([deleted, await store.stages("q1")]).toEqual([["q1-0"], []]);
  });

  test("of the oldest queries go when all together are too large", async () => {
    await store.close();
    store = open({ maxStageBytes: 450 });
    for (const queryId of ["q1", "q2", "q3"]) {
      await store.keepStages([stage(queryId, 0), stage(queryId, 1)]);
      clock.advance(1_000);
    }
    expect(deleted).toEqual(["q1-0", "q1-1"]);
    expect((await store.stages("q3")).length).toBe(2);
  });
});
