/** What every log store does, whatever keeps its records. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LINE_FIELDS, LOG_LEVELS } from "../../../../src/domain/logs.ts";
import { matches } from "../../../../src/domain/search/matches.ts";
import { parseSearch } from "../../../../src/domain/search/tree.ts";
import type { LogFilter, LogKind, LogRecord, LogStore, StoredRecord } from "../../../../src/server/stores/logs/store.ts";
import { TempFolder, TestClock } from "../../../harness/running-server.ts";
import { seeded } from "../../../harness/seed.ts";
import { KEPT_MS, LOG_DRIVERS } from "./drivers.ts";
import { filter, line as lineAt, request as requestAt } from "./records.ts";

describe.each(LOG_DRIVERS)("log store: $name", (driver) => {
  let folder: TempFolder;
  let clock: TestClock;
  let store: LogStore;

  const open = async (): Promise<void> => {
    store = await driver.open(folder.path, { now: () => clock.now() });
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

  const line = (message: string, more: Partial<LogRecord> = {}) => lineAt(message, clock.now(), more);
  const record = (...messages: string[]) => {
    for (const message of messages) store.record(line(message));
  };
  const all = async (wanted: LogFilter, limit = 7): Promise<StoredRecord[]> => {
    const found: StoredRecord[] = [];
    for (let next: number | undefined = Number.MAX_SAFE_INTEGER; next !== undefined; ) {
      const page = await store.search(wanted, limit, next);
      expect(page.records.length).toBeLessThanOrEqual(limit);
      found.push(...page.records);
      next = page.next;
    }
    return found;
  };
  const texts = async (search = "", more: Partial<LogFilter> = {}) => (await all(filter(search, more))).map(({ message }) => message);

  test("a record is found at once as it was, and after a restart", async () => {
    const full = line("é 😀\nsecond", {
      ...{ level: "error", component: "offline-query", branch: "b", queryName: "q", podName: "p", app: "a", operationId: "qry_1" },
      ...{ correlationId: "c", traceId: "t", spanId: "s", attributes: { "k8s.pod": "x", n: 1.5 } },
    });
    store.record(full);
    expect((await store.search(filter(), 5)).records).toEqual([{ ...full, seq: 1 }]);
    if (!driver.isDurable) return;
    await store.close();
    await open();
    expect((await store.search(filter(), 5)).records).toEqual([{ ...full, seq: 1 }]);
  });

  test("pages go from the newest to the oldest, and what arrives meanwhile does not move them", async () => {
    record(...Array.from({ length: 20 }, (_, n) => `m${n}`));
    const first = await store.search(filter(), 8);
    expect(first.records.map(({ message }) => message)).toEqual(Array.from({ length: 8 }, (_, n) => `m${19 - n}`));
    record("later");
    const second = await store.search(filter(), 8, first.next);
    expect(second.records[0]?.message).toBe("m11");
    expect((await texts("m1 -later")).length).toBe(11);
  });

  test("records are found by their time, whole microseconds, also when they arrive late", async () => {
    const start = clock.now();
    for (const [n, ms] of [0, 30, 10, 20].entries()) store.record(lineAt(`l${n}`, start + ms));
    const micros = start * 1_000;
    expect(await texts("", { from: micros + 10_000 })).toEqual(["l3", "l2", "l1"]);
    expect(await texts("", { from: micros + 10_001 })).toEqual(["l3", "l1"]);
    expect(await texts("", { before: micros + 10_000 })).toEqual(["l0"]);
    expect(await texts("", { from: micros + 10_000, before: micros + 30_000 })).toEqual(["l3", "l2"]);
    expect(await texts("", { before: micros })).toEqual([]);
  });

  test("only records of the given environments are found; those of the server have none", async () => {
    store.record(line("own"));
    store.record(line("other", { environmentId: "env_2" }));
    store.record(line("server", { environmentId: "", component: "server" }));
    expect(await texts()).toEqual(["own"]);
    expect(await texts("", { environmentIds: ["env_1", ""] })).toEqual(["server", "own"]);
    expect(await texts("", { environmentIds: [] })).toEqual([]);
  });

  test("every field is searched", async () => {
    const more = {
      level: "warning",
      component: "branch",
      ...{ branch: "b1", queryName: "q1", podName: "p1", app: "a1", operationId: "o1" },
      ...{ correlationId: "c1", traceId: "t1", spanId: "s1", attributes: { "a.b": "v1", n: 7 } },
    } as const;
    store.record(line("other"));
    store.record(line("Wanted", more));
    for (const search of [
      ...["message:wanted", "wanted", "level:warn", "level>info", "component:branch", "branch:b1", "query_name:q*", "pod:p1", "app:a1"],
      ...["operation_id:o1", "query_id:o1 trace_id:t1", "correlation_id:c1", "span_id:s1", "attributes.a.b:v1", "attributes.n:7"],
      ...[
        "resolver:shop.get_user -other",
        "resolver_filter:GET_USER level:warning",
        "deployment:dpl_1 wanted",
        "resource_group:Default wanted",
      ],
      ...["logger:stdout wanted", "all_filter:C1", "(trace_id:t1 OR trace_id:t2)", "operation_id:o*"],
    ])
      expect([search, await texts(search)]).toEqual([search, ["Wanted"]]);
    expect(await texts("operation_id:other")).toEqual([]);
    expect(await texts('operation_id:""')).toEqual(["other"]);
  });

  test("requests are apart from lines, and found by their facts", async () => {
    record("a line");
    for (const [n, code] of [200, 404, 503].entries())
      store.record(
        requestAt(`/v1/things/${n}`, clock.now(), {
          method: n === 0 ? "GET" : "POST",
          response_code: code,
          duration_ms: n * 10,
          bytes: 100 * n,
        }),
      );
    const paths = (search: string) => texts(search, { kind: "request" });
    expect(await paths("")).toEqual(["/v1/things/2", "/v1/things/1", "/v1/things/0"]);
    expect(await paths("response_code>=400 -method:GET")).toEqual(["/v1/things/2", "/v1/things/1"]);
    expect(await paths("duration<20ms duration>0ms")).toEqual(["/v1/things/1"]);
    expect(await paths("bytes>100")).toEqual(["/v1/things/2"]);
    expect(await paths("path:/v1/*/0")).toEqual(["/v1/things/0"]);
    expect(await texts()).toEqual(["a line"]);
  });

  test("what `matches` finds is found, whatever the search", async () => {
    const words = fc.constantFrom("", "a", "B", "ab", "Ab%", "a_b", "é");
    const records = fc.record({
      message: words,
      resolver: words,
      level: fc.constantFrom(...LOG_LEVELS),
      operationId: fc.constantFrom("", "o1", "o2"),
      traceId: fc.constantFrom("", "t1"),
    });
    const searches = fc
      .array(
        fc.tuple(
          fc.constantFrom(
            "a",
            "b*",
            "-a",
            "level>=warning",
            "-level:info",
            "operation_id:o1",
            "trace_id:t1",
            "-operation_id:o1",
            "resolver:a*",
            "(a OR trace_id:t1)",
            "resolver:*",
            "all_filter:AB",
          ),
          fc.constantFrom(" ", " OR "),
        ),
        { maxLength: 4 },
      )
      .map((parts) => parts.map(([part, word], nth) => (nth === parts.length - 1 ? part : part + word)).join(""));
    let environment = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(records, { maxLength: 12 }), searches, async (given, search) => {
        const environmentId = `env_p${environment++}`;
        const wanted = parseSearch(search, LINE_FIELDS);
        for (const one of given) store.record(line(one.message, { ...one, environmentId }));
        const expected = given.filter((one) => {
          const values: Readonly<Record<string, string>> = {
            ...line(""),
            ...one,
            operation_id: one.operationId,
            trace_id: one.traceId,
          } as never;
          return matches(wanted, (field) => values[field]);
        });
        const found = await all(filter("", { search: wanted, environmentIds: [environmentId] }), 5);
        expect(found.map(({ message, level, operationId }) => [message, level, operationId])).toEqual(
          expected.toReversed().map(({ message, level, operationId }) => [message, level, operationId]),
        );
      }),
      seeded(150, 5_000),
    );
  });

  test("counts are of windows and levels, and add up", async () => {
    const start = Math.floor(clock.now() / 10_000) * 10_000;
    for (let n = 0; n < 30; n++) store.record(lineAt(`m${n}`, start + n * 1_000, { level: n % 3 === 0 ? "error" : "info" }));
    const counts = await store.aggregate(filter("", { from: start * 1_000, before: (start + 25_000) * 1_000 }), 10_000);
    expect(counts).toEqual([
      { start: start * 1_000, level: "error", count: 4 },
      { start: start * 1_000, level: "info", count: 6 },
      { start: (start + 10_000) * 1_000, level: "error", count: 3 },
      { start: (start + 10_000) * 1_000, level: "info", count: 7 },
      { start: (start + 20_000) * 1_000, level: "error", count: 2 },
      { start: (start + 20_000) * 1_000, level: "info", count: 3 },
    ]);
    expect(await store.aggregate(filter("level:fatal"), 10_000)).toEqual([]);
    expect(await store.aggregate(filter(), 10_000, AbortSignal.abort()).catch(String)).toContain("AbortError");
  });

  test("a tail has what came after a place, oldest first, in parts; each is told when it was written", async () => {
    const told: LogKind[][] = [];
    const end = store.onWritten((kinds) => told.push([...kinds]));
    record("a1", "b1");
    const from = await store.newest("line");
    record("a2", "b2", "a3", "a4");
    const first = await store.after(filter("a"), from, 2);
    expect(first.records.map(({ message }) => message)).toEqual(["a2", "a3"]);
    const second = await store.after(filter("a"), first.last, 2);
    expect([second.records.map(({ message }) => message), second.last]).toEqual([["a4"], await store.newest("line")]);
    expect(await store.after(filter("a"), second.last, 2)).toEqual({ records: [], last: second.last });
    expect((await store.after(filter("a"), 1_000, 2)).last).toBe(second.last);
    expect(told).toEqual([["line"], ["line"]]);
    end();
    record("unheard");
    await store.flush();
    expect(told.length).toBe(2);
  });

  test("records go when they are too old", async () => {
    record("old");
    store.record(requestAt("/old", clock.now(), {}));
    await store.flush();
    clock.advance(KEPT_MS + 1_000);
    record("new");
    store.record(requestAt("/new", clock.now(), {}));
    expect([await texts(), await texts("", { kind: "request" })]).toEqual([["new"], ["/new"]]);
    expect((await store.figures()).removedRecords).toBe(2);
  });

  test("what is known of an environment and of operations is forgotten, also what was just recorded", async () => {
    for (const operationId of ["", "o1", "o2"]) store.record(line(`own ${operationId}`, { operationId }));
    store.record(line("other", { environmentId: "env_2" }));
    await store.forgetOperations(["o1", ""]);
    expect(await texts()).toEqual(["own o2", "own "]);
    await store.forgetEnvironment("env_1");
    expect([await texts(), await texts("", { environmentIds: ["env_2"] })]).toEqual([[], ["other"]]);
    record("again");
    expect(await texts()).toEqual(["again"]);
  });

  test("lines with a key as a word are forgotten, in their environment and branch, up to a time", async () => {
    const gone = ["user 17 is new", "id=17;", "mail b@c.example came", "-3", "{'id': 17}"];
    record(...gone, "170", "x17");
    const attributes: Record<string, string | number>[] = [
      { user: "17" },
      { said: "first\n17\tlast" },
      { said: 'for O"Brien\\' },
      { "b@c.example": 1 },
      { id: -3 },
    ];
    for (const one of attributes) store.record(line("attribute", { attributes: one }));
    store.record(line("said", { attributes: { said: "170" } }));
    store.record(line("17 elsewhere", { environmentId: "env_2" }));
    store.record(line("17 on a branch", { branch: "b" }));
    store.record(lineAt("17 later", clock.now() + 1));
    const what = { environmentId: "env_1", branch: "", keys: ["17", "b@c.example", "-3", 'O"Brien\\'], until: clock.now() * 1_000 };
    expect(await store.forgetKeys(what, AbortSignal.abort())).toBe(0);
    expect(await store.forgetKeys(what)).toBe(gone.length + attributes.length);
    expect(await texts()).toEqual(["17 later", "17 on a branch", "said", "x17", "170"]);
  });

  test("what is too long is cut and said", async () => {
    const attributes = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`a${n}`, "x".repeat(2_000)]));
    store.record(line("x".repeat(10_000), { attributes, resolver: "r".repeat(1_000) }));
    store.record(line("a\0b\ud800c"));
    const [odd, long] = await all(filter());
    expect(odd?.message).toBe("a\ufffdb\ufffdc");
    expect(long?.message).toBe(`${"x".repeat(8_192)} [1808 characters more]`);
    expect(JSON.stringify(long?.attributes).length).toBeLessThan(9_000);
    expect(long?.attributes.dropped_attributes).toBe(32);
    expect(long?.resolver.length).toBe(300);
  });

  test("it tells what it holds, keeps to a limit that is set, and the probe leaves nothing behind", async () => {
    const before = await store.figures();
    expect(before).toMatchObject({ pendingRecords: 0, maxBytes: before.defaultMaxBytes, maxAgeMs: KEPT_MS });
    await store.probe();
    expect(await texts()).toEqual([]);
    for (let n = 0; n < 3_000; n++) record(`${n} ${"x".repeat(1_000)}`);
    await store.flush();
    const { bytes } = await store.figures();
    await store.limit({ maxBytes: bytes / 2, maxAgeMs: undefined });
    const after = await store.figures();
    expect(after.bytes).toBeLessThanOrEqual(bytes / 2);
    expect((await store.search(filter(), 1)).records[0]?.message).toStartWith("2999 ");
    await store.limit({ maxBytes: undefined, maxAgeMs: undefined });
    expect([(await store.figures()).maxBytes, store.dropped()]).toEqual([before.defaultMaxBytes, 0]);
  });
});
