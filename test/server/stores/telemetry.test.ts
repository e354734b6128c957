import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { QueryRequestSchema, QueryResponseSchema } from "../../../gen/svc/v1/query_pb.ts";
import { createSqliteTelemetryStore, type TelemetryOptions } from "../../../src/server/stores/telemetry/sqlite.ts";
import type { LogEntry, QueryLogEntry, TelemetryStore } from "../../../src/server/stores/telemetry/store.ts";
import { TempFolder, TestClock } from "../running-server.ts";

let folder: TempFolder;
let clock: TestClock;
let store: TelemetryStore;

const open = (options: Partial<TelemetryOptions> = {}) =>
  createSqliteTelemetryStore({ path: join(folder.path, "telemetry.db"), programVersion: "1", clock, ...options });

beforeEach(async () => {
  folder = new TempFolder();
  clock = new TestClock();
  store = await open();
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

const query = (id: string, more: Partial<QueryLogEntry> = {}): QueryLogEntry => ({
  queryId: id,
  environmentId: "env_1",
  deploymentId: "dpl_1",
  branch: "",
  startedAt: clock.now(),
  durationMs: 1.5,
  request: create(QueryRequestSchema, { inputs: [{ feature: "user.id", value: { case: "text", value: "1" } }], queryName: "n", correlationId: "c" }),
  response: create(QueryResponseSchema, { data: [{ field: "user.name", value: { kind: { case: "stringValue", value: "x" } } }], errors: [{ message: "one" }, { message: "two" }] }),
  ...more,
});
const line = (text: string, more: Partial<LogEntry> = {}): LogEntry => ({
  environmentId: "env_1",
  deploymentId: "dpl_1",
  timestampMs: clock.now(),
  level: "info",
  logger: "l",
  resolver: "",
  queryId: "",
  text,
  ...more,
});

describe("telemetry store", () => {
  test("a query is found at once, and after a restart", async () => {
    const entry = query("qry_1");
    store.recordQuery(entry);
    expect(await store.query("qry_1")).toEqual(entry);
    await store.close();
    store = await open();
    expect(await store.query("qry_1")).toEqual(entry);
    expect(await store.query("qry_2")).toBeUndefined();
  });

  test("a refused query keeps its reason", async () => {
    const { response: _response, ...refused } = query("qry_1", { error: "unknown feature" });
    store.recordQuery(refused);
    await store.flush();
    expect(await store.query("qry_1")).toEqual(refused);
    expect((await store.queries({ environmentId: "env_1", limit: 5 }))[0]?.errorCount).toBe(1);
  });

  test("queries are listed newest first, by environment and deployment", async () => {
    for (let n = 1; n <= 100; n++) store.recordQuery(query(`qry_${n}`, { deploymentId: n % 2 === 0 ? "dpl_1" : "dpl_2" }));
    store.recordQuery(query("qry_other", { environmentId: "env_2" }));
    const [first, second] = await store.queries({ environmentId: "env_1", limit: 2 });
    expect([first?.queryId, second?.queryId]).toEqual(["qry_100", "qry_99"]);
    expect(first).toMatchObject({ queryName: "n", correlationId: "c", errorCount: 2, durationMs: 1.5 });
    expect((await store.queries({ environmentId: "env_1", deploymentId: "dpl_2", limit: 1 }))[0]?.queryId).toBe("qry_99");
  });

  test("log lines come oldest first, the newest of them, by deployment or query", async () => {
    for (let n = 1; n <= 50; n++) store.recordLog(line(String(n), { queryId: n === 7 ? "qry_1" : "" }));
    store.recordLog(line("other", { deploymentId: "dpl_2" }));
    expect((await store.logs({ deploymentId: "dpl_1", limit: 2 })).map(({ text }) => text)).toEqual(["49", "50"]);
    expect((await store.logs({ queryId: "qry_1", limit: 9 })).map(({ text }) => text)).toEqual(["7"]);
  });

  test("too many at once are dropped, oldest first, and counted", async () => {
    await store.close();
    store = await open({ maxPending: 10 });
    for (let n = 1; n <= 25; n++) store.recordLog(line(String(n)));
    expect(store.dropped()).toBe(15);
    expect((await store.logs({ deploymentId: "dpl_1", limit: 99 })).map(({ text }) => text)).toEqual(["16", "17", "18", "19", "20", "21", "22", "23", "24", "25"]);
  });

  test("records end after their time, and the oldest go when the file is too big", async () => {
    await store.close();
    store = await open({ ttlMs: 1000, maxBytes: 400_000 });
    store.recordQuery(query("qry_old"));
    await store.flush();
    clock.advance(120_000);
    store.recordQuery(query("qry_new"));
    while (await store.query("qry_old")) await Bun.sleep(5);
    expect((await store.query("qry_new"))?.queryId).toBe("qry_new");
    for (let n = 0; n < 1500; n++) store.recordLog(line(`${n} ${"x".repeat(1000)}`));
    await store.flush();
    clock.advance(60_001);
    store.recordLog(line("last", { timestampMs: clock.now() }));
    const lines = () => store.logs({ deploymentId: "dpl_1", limit: 5000 });
    while ((await lines()).length > 600) await Bun.sleep(5);
    expect((await lines()).at(-1)?.text).toBe("last");
  });

  test("a store that cannot be written drops and tells, and the server goes on", async () => {
    await store.close();
    const errors: unknown[] = [];
    store = await open({ onError: (error) => errors.push(error) });
    const blocker = new Database(join(folder.path, "telemetry.db"));
    blocker.run("drop table log");
    blocker.close();
    store.recordLog(line("lost"));
    await store.flush();
    expect([errors.length, store.dropped()]).toEqual([1, 1]);
    expect(store.probe()).rejects.toThrow();
  });
});
