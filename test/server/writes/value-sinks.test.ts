import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { clone, create } from "@bufbuild/protobuf";
import { type Graph, GraphSchema, NamedQuerySchema } from "../../../gen/svc/v1/graph_pb.ts";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { NEVER_EXPIRES_SECONDS } from "../../../src/domain/proto-time.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { createLog } from "../../../src/server/log.ts";
import { createSqliteOfflineStore } from "../../../src/server/stores/offline/sqlite.ts";
import type { AppendRefusal, Observations, OfflineStore } from "../../../src/server/stores/offline/store.ts";
import { expiryOf, longestStaleness, offlineVersions } from "../../../src/server/writes/policy.ts";
import type { FreshColumn } from "../../../src/server/writes/sink.ts";
import { createValueSinks, type ValueSinks } from "../../../src/server/writes/value-sinks.ts";
import { turn } from "../../harness/eventually.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";
import { featureClass, graph, python } from "../query/graphs.ts";
import { ask, World } from "../query/worlds.ts";

const GRAPH = graph(
  [
    featureClass("user", {
      id: "int",
      name: "str",
      score: { type: "float", stale: "1h" },
      at: "datetime",
      plan: { type: "int", default: 7 },
    }),
  ],
  [
    python("m.name", ["user.id"], ["user.name"]),
    python("m.score", ["user.name"], ["user.score"]),
    python("m.plan", ["user.id"], ["user.plan"]),
  ],
);
const IDS = ["id", "name", "score", "at", "plan"].map((name, index) => [`user.${name}`, index + 1] as const);
const IDENTITIES = new Map(IDS.map(([fqn, id]) => [fqn, { id, internalVersion: 1 }]));
const deployment = (branch = "", of = GRAPH) => ({ id: "dpl_1", environmentId: "env_1", branch, graph: of, identities: IDENTITIES });
/** The graph with a feature that is not stored offline. */
function without(fqn: string | undefined): Graph {
  const copy = clone(GraphSchema, GRAPH);
  for (const { fqn: name, kind } of copy.featureSets.flatMap((set) => set.features))
    if (kind.case === "scalar" && name === fqn) kind.value.storeOffline = false;
  return copy;
}
const column = (keys: readonly string[], values: readonly FeatureValue[], featureId = 2): FreshColumn => ({
  featureId,
  resolver: "m.name",
  keys,
  values,
  observedAt: keys.map(() => 1),
});
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** A store that commits when it is told to. */
class HeldStore implements Pick<OfflineStore, "append"> {
  readonly calls: { readonly appends: readonly Observations[]; end(outcome?: readonly AppendRefusal[] | Error): void }[] = [];
  append(appends: readonly Observations[]): Promise<readonly AppendRefusal[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly AppendRefusal[]>();
    const end = (outcome: readonly AppendRefusal[] | Error = []) => (outcome instanceof Error ? reject(outcome) : resolve(outcome));
    this.calls.push({ appends, end });
    this.awaited.get(this.calls.length - 1)?.resolve();
    return promise;
  }
  private readonly awaited = new Map<number, PromiseWithResolvers<void>>();
  /** Resolves when the store is called for the time of that index. */
  async call(index: number): Promise<HeldStore["calls"][number]> {
    const awaited = this.awaited.get(index) ?? Promise.withResolvers<void>();
    this.awaited.set(index, awaited);
    if (!this.calls[index]) await awaited.promise;
    return this.calls[index] ?? expect.unreachable();
  }
}

const logged: string[] = [];
const log = createLog({ write: (line) => logged.push(line), clock: new TestClock() });
let sinks: ValueSinks | undefined;
afterEach(() => {
  logged.length = 0;
});

describe("queries", () => {
  async function world(
    use: (made: {
      world: World;
      store: OfflineStore;
      query(inputs: Record<string, unknown>, outputs: string[], more?: Parameters<typeof ask>[2]): Promise<void>;
      stored(fqn: string): Promise<unknown[]>;
    }) => Promise<void>,
    options: { readonly branch?: string; readonly without?: string } = {},
  ): Promise<void> {
    using folder = new TempFolder();
    const store = createSqliteOfflineStore({ path: join(folder.path, "offline.db"), programVersion: "1", now: () => 77 });
    const made = createValueSinks({ store, log });
    const play = new World(GRAPH, {
      python: { "m.name": ([id]) => `user ${id}`, "m.score": ([name]) => String(name).length / 4, "m.plan": () => null },
    });
    const sink = made.of(deployment(options.branch, without(options.without)));
    const live = { ...play.deployment, featureIds: new Map(IDS), sink };
    await use({
      world: play,
      store,
      query: async (inputs, outputs, more) => void (await play.engine.answer(live, ask(inputs, outputs, more), play.now)),
      async stored(fqn) {
        await made.flush();
        const rows = await store.scan(new Map<string, number>(IDS).get(fqn) ?? 0, { limit: 99 });
        return rows.map(({ key, value, observedAt, resolver, deploymentId, op, insertedAt }) => [
          key,
          value,
          observedAt,
          resolver,
          deploymentId,
          op,
          insertedAt,
        ]);
      },
    });
    await made.close();
    await store.close();
    expect(logged).toEqual([]);
  }

  test("what was computed is stored, also what no output names and what the online store does not keep; given values and defaults are not", () =>
    world(async ({ world, query, stored }) => {
      await query({ "user.id": 1 }, ["user.score", "user.plan"]);
      const common = ["dpl_1", "query", 77];
      expect(await stored("user.score")).toEqual([["i:1", 1.5, world.now, "m.score", ...common]]);
      expect(await stored("user.name")).toEqual([["i:1", "user 1", world.now, "m.name", ...common]]);
      expect(await stored("user.id")).toEqual([]);
      expect(await stored("user.plan")).toEqual([]);
      await query({ "user.id": 2, "user.name": "given" }, ["user.score"]);
      expect(await stored("user.name")).toHaveLength(1);
      expect(await stored("user.score")).toHaveLength(2);
    }));

  test("what the online store served is not stored again", () =>
    world(async ({ world, query, stored }) => {
      await query({ "user.id": 1 }, ["user.score"]);
      world.now += 1_000;
      await query({ "user.id": 1 }, ["user.score"]);
      expect(await stored("user.score")).toHaveLength(1);
      world.now += 3_600_000;
      await query({ "user.id": 1 }, ["user.score"]);
      expect((await stored("user.score")).map((row) => (row as unknown[])[2])).toEqual([world.now - 3_601_000, world.now]);
    }));

  test("nothing is stored without a key, nor for the future", () =>
    world(async ({ world, query, stored }) => {
      await query({ "user.name": "abc" }, ["user.score"]);
      await query({ "user.id": 1 }, ["user.name"], { now: BigInt(world.now + 60_000) * 1000n });
      expect([await stored("user.score"), await stored("user.name")]).toEqual([[], []]);
    }));

  test("store_offline keeps a feature out", () =>
    world(
      async ({ query, stored }) => {
        await query({ "user.id": 1 }, ["user.score"]);
        expect([(await stored("user.score")).length, (await stored("user.name")).length]).toEqual([1, 0]);
      },
      { without: "user.name" },
    ));

  test("a branch stores nothing", () =>
    world(
      async ({ query, stored }) => {
        await query({ "user.id": 1 }, ["user.score"]);
        expect(await stored("user.score")).toEqual([]);
      },
      { branch: "dev" },
    ));
});

describe("the queue", () => {
  const sinkOf = (store: Pick<OfflineStore, "append">, maxPending?: number) => {
    sinks = createValueSinks({ store, log, ...(maxPending === undefined ? {} : { maxPending }) });
    const sink = sinks.of(deployment());
    if (!sink) throw new Error("no sink");
    return { sink, sinks };
  };

  test("what comes within 10 ms is one commit, in columns by feature and resolver", async () => {
    const store = new HeldStore();
    const { sink } = sinkOf(store);
    for (let n = 0; n < 100; n++) expect(sink.take([column([`i:${n}`], ["a"]), column([`i:${n}`], [1.5], 3)])).toBe(true);
    sink.take([{ ...column(["i:1"], ["b"]), resolver: "m.other" }]);
    sink.take([column(["i:1"], ["b"], 99)]);
    const { appends } = await store.call(0);
    expect(appends.map(({ version, resolver, keys }) => [version.name, resolver, keys.length])).toEqual([
      ["name", "m.name", 100],
      ["score", "m.name", 100],
      ["name", "m.other", 1],
    ]);
    expect(store.calls).toHaveLength(1);
  });

  test("flush resolves after the commit of all that was taken before, and not before", async () => {
    const store = new HeldStore();
    const { sink, sinks } = sinkOf(store);
    await sinks.flush();
    let flushed = 0;
    sink.take([column(["i:1"], ["a"])]);
    const first = sinks.flush().then(() => flushed++);
    const one = await store.call(0);
    sink.take([column(["i:2"], ["b"])]);
    const second = sinks.flush().then(() => flushed++);
    await turn();
    expect(flushed).toBe(0);
    one.end();
    await first;
    const two = await store.call(1);
    await turn();
    expect([flushed, two.appends[0]?.keys]).toEqual([1, ["i:2"]]);
    two.end();
    await second;
    expect(flushed).toBe(2);
  });

  test("takers wait while too much waits, and go on when the commit ends", async () => {
    const store = new HeldStore();
    const { sink, sinks } = sinkOf(store, 10);
    expect(
      sink.take([
        column(
          Array.from({ length: 10 }, (_, n) => `i:${n}`),
          Array(10).fill("a"),
        ),
      ]),
    ).toBe(true);
    let taken: boolean | undefined;
    const taking = Promise.resolve(sink.take([column(["i:11"], ["b"])])).then((result) => {
      taken = result;
    });
    const one = await store.call(0);
    await turn();
    expect(taken).toBeUndefined();
    one.end();
    await taking;
    expect(taken).toBe(true);
    const flushed = sinks.flush();
    const two = await store.call(1);
    expect(two.appends[0]?.keys).toEqual(["i:11"]);
    two.end();
    await flushed;
    expect(sinks.dropped()).toBe(0);
  });

  test("room is kept for small takers when a big one fills the rest", async () => {
    const store = new HeldStore();
    const { sink, sinks } = sinkOf(store, 1_000);
    const many = Array.from({ length: 950 }, (_, n) => `i:${n}`);
    expect(sink.take([column(many, many)])).toBe(true);
    const first = await store.call(0);
    const big = sink.take([column(many, many)]);
    expect(big).toBeInstanceOf(Promise);
    for (let n = 0; n < 50; n++) expect(sink.take([column([`s:${n}`], [n])])).toBe(true);
    const small = sink.take([column(["s:50"], [50])]);
    expect(small).toBeInstanceOf(Promise);
    first.end();
    const ending = setInterval(() => {
      for (const call of store.calls) call.end();
    }, 1);
    expect(await Promise.all([big, small])).toEqual([true, true]);
    await sinks.flush();
    clearInterval(ending);
    expect(sinks.dropped()).toBe(0);
    expect(store.calls.flatMap(({ appends }) => appends.flatMap(({ keys }) => keys)).length).toBe(1_951);
  });

  test("a commit that fails fails the flush, is tried again, and nobody waits for it", async () => {
    const store = new HeldStore();
    const { sink, sinks } = sinkOf(store, 2);
    sink.take([column(["i:1", "i:2"], ["a", "b"])]);
    const flushed = failureOf(sinks.flush());
    (await store.call(0)).end(new Error("disk is full"));
    expect(await flushed).toMatchObject({ message: "disk is full" });
    expect(await sink.take([column(["i:3"], ["c"])])).toBe(false);
    expect(sinks.dropped()).toBe(1);
    const again = sinks.flush();
    const retry = await store.call(1);
    expect(retry.appends[0]?.keys).toEqual(["i:1", "i:2"]);
    retry.end();
    await again;
    expect(sink.take([column(["i:4"], ["d"])])).toBe(true);
    expect(logged.map((line) => JSON.parse(line).message ?? line)).toHaveLength(2);
  });

  test("a failed commit is tried again by itself", async () => {
    const store = new HeldStore();
    const { sink } = sinkOf(store);
    sink.take([column(["i:1"], ["a"])]);
    (await store.call(0)).end(new Error("disk is full"));
    expect((await store.call(1)).appends[0]?.keys).toEqual(["i:1"]);
  });

  test("values that the store refuses fail the flush and are counted", async () => {
    const store = new HeldStore();
    const { sink, sinks } = sinkOf(store);
    sink.take([column(["i:1", "i:2"], ["a", "b"]), column(["i:1"], [1], 3)]);
    const flushed = failureOf(sinks.flush());
    (await store.call(0)).end([{ index: 0, reason: "does not fit" }]);
    expect(await flushed).toMatchObject({ message: "does not fit" });
    expect(sinks.dropped()).toBe(2);
    await sinks.flush();
  });

  test("close writes what waits, and says what it cannot write", async () => {
    const store = new HeldStore();
    const { sink, sinks } = sinkOf(store);
    sink.take([column(["i:1"], ["a"])]);
    const closed = sinks.close();
    (await store.call(0)).end();
    await closed;
    sink.take([column(["i:1"], ["a"])]);
    const failing = sinks.close();
    (await store.call(1)).end(new Error("gone"));
    await failing;
    expect([sinks.dropped(), logged.some((line) => line.includes("the server stopped"))]).toEqual([1, true]);
  });

  test("while writing is suspended values wait up to the bound, the rest is dropped and counted, and nobody waits", async () => {
    const store = new HeldStore();
    const { sink, sinks } = sinkOf(store, 2);
    sinks.suspend();
    expect(sink.take([column(["i:1", "i:2"], ["a", "b"])])).toBe(true);
    for (const key of ["i:3", "i:4"]) expect(await sink.take([column([key], ["c"])])).toBe(false);
    expect([sinks.pending(), sinks.dropped()]).toEqual([2, 2]);
    expect(await failureOf(sinks.flush())).toMatchObject({ message: "persistence is suspended" });
    sinks.resume();
    const call = await store.call(0);
    expect(call.appends[0]?.keys).toEqual(["i:1", "i:2"]);
    call.end();
    await sinks.flush();
    expect(sinks.pending()).toBe(0);
    const said = logged.filter((line) => line.includes("persistence is suspended")).map((line) => JSON.parse(line).values);
    expect(said).toEqual([1, 1]);
  });

  test("a queue that is closed while writing is suspended says what it did not keep", async () => {
    const store = new HeldStore();
    const { sink, sinks } = sinkOf(store);
    sinks.suspend();
    sink.take([column(["i:1"], ["a"])]);
    await sinks.close();
    expect([sinks.dropped(), logged.some((line) => line.includes("persistence is suspended"))]).toEqual([1, true]);
  });

  test("values by the hundred thousand arrive once each, in order", async () => {
    using folder = new TempFolder();
    const store = createSqliteOfflineStore({ path: join(folder.path, "offline.db"), programVersion: "1", now: () => 77 });
    const { sink, sinks } = sinkOf(store, 20_000);
    let waited = 0;
    let refused = 0;
    for (let n = 0; n < 100_000; n++) {
      const values = [column(["i:1"], [`v${n}`])];
      for (let taken = sink.take(values); taken !== true; taken = sink.take(values)) {
        waited++;
        if (await taken) break;
        refused++;
      }
      if (n > 30_000 && n % 1000 === 0) await Bun.sleep(0);
    }
    await sinks.flush();
    expect(waited).toBeGreaterThan(0);
    expect(sinks.dropped()).toBe(refused);
    const { rows } = await store.query('select count(*), count(distinct value), min(seq), max(seq) from "obs_2_user__name__v1"');
    expect(rows).toEqual([[100_000n, 100_000n, 1n, 100_000n]]);
    const { rows: order } = await store.query('select value from "obs_2_user__name__v1" order by seq limit 3');
    expect(order).toEqual([["v0"], ["v1"], ["v2"]]);
    await sinks.close();
    await store.close();
  });
});

test("the versions of a deployment are its scalars, with their types", () => {
  const versions = [...offlineVersions(deployment()).values()];
  expect(versions.map(({ name, dtype, internalVersion }) => [name, dtype.kind.value, internalVersion])).toEqual([
    ["id", PrimitiveType.INT64, 1],
    ["name", PrimitiveType.STRING, 1],
    ["score", PrimitiveType.FLOAT64, 1],
    ["at", PrimitiveType.DATETIME, 1],
    ["plan", PrimitiveType.INT64, 1],
  ]);
});

describe("expiry of online values", () => {
  const HOUR = 3_600_000;
  const WEEK = 7 * 24 * HOUR;

  test("is a week after the observation, later where staleness is longer, and never where it is endless", () => {
    expect(expiryOf(1_000, 0)).toEqual({ expiresAt: 1_000 + WEEK });
    expect(expiryOf(1_000, HOUR)).toEqual({ expiresAt: 1_000 + WEEK });
    expect(expiryOf(1_000, 10 * WEEK)).toEqual({ expiresAt: 1_000 + 10 * WEEK });
    expect(expiryOf(1_000, Number.POSITIVE_INFINITY)).toEqual({});
  });

  test("the longest staleness of a feature is that of its definition or of a named query", () => {
    const copy = clone(GraphSchema, GRAPH);
    copy.namedQueries.push(
      create(NamedQuerySchema, { name: "long", staleness: { "user.score": { seconds: 9n * 3_600n }, "user.gone": { seconds: 1n } } }),
      create(NamedQuerySchema, {
        name: "short",
        staleness: { "user.score": { seconds: 1n }, "user.name": { seconds: NEVER_EXPIRES_SECONDS } },
      }),
    );
    const longest = longestStaleness(copy, IDENTITIES);
    expect(["user.score", "user.name", "user.plan"].map((fqn) => longest.get(new Map<string, number>(IDS).get(fqn) ?? 0))).toEqual([
      9 * HOUR,
      Infinity,
      0,
    ]);
    expect(longestStaleness(GRAPH, IDENTITIES).get(3)).toBe(HOUR);
  });
});
