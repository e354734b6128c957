import { describe, expect, test } from "bun:test";
import { openSqliteOnlineStore } from "../../../../src/server/stores/online/sqlite.ts";
import type { OnlineStore, ValueWrite } from "../../../../src/server/stores/online/store.ts";
import { featureClass, graph, python } from "../graphs.ts";
import { fieldOf, later, World, type WorldOptions } from "../worlds.ts";

const HOUR = 3_600_000;

/** `score` is cached for an hour and made of `base`; every call of a resolver counts up. */
function counting(options: WorldOptions = {}, stale = "1h"): World & { calls: Record<string, number> } {
  const calls: Record<string, number> = {};
  const count = (name: string) => () => {
    calls[name] = (calls[name] ?? 0) + 1;
    return calls[name];
  };
  const made = graph(
    [
      featureClass("user", {
        id: "int",
        base: "int",
        score: { type: "int", stale },
        never: "int",
        request: "int",
        derived: { type: "int", stale: "1h" },
        plan: { type: "int", stale: "1h", default: 7 },
        none: { type: "int?", stale: "1h" },
      }),
    ],
    [
      python("m.base", ["user.id"], ["user.base"]),
      python("m.score", ["user.base"], ["user.score"]),
      python("m.never", ["user.id"], ["user.never"]),
      python("m.derived", ["user.request"], ["user.derived"]),
      python("m.plan", ["user.id"], ["user.plan"]),
      python("m.none", ["user.id"], ["user.none"]),
    ],
  );
  const functions = {
    "m.base": count("base"),
    "m.score": count("score"),
    "m.never": count("never"),
    "m.derived": count("derived"),
    "m.plan": () => null,
    "m.none": () => {
      count("none")();
      return null;
    },
  };
  return Object.assign(new World(made, { python: functions, ...options }), { calls });
}

describe("reading", () => {
  test("a value is served while it is at most as old as its staleness, and nothing it is made of is computed", async () => {
    const world = counting();
    expect(fieldOf(await world.ask({ "user.id": 1 }, ["user.score"]), "user.score")).toMatchObject({ value: 1, hit: false });
    const first = world.now;
    world.now += HOUR;
    const hit = fieldOf(await world.ask({ "user.id": 1 }, ["user.score"]), "user.score");
    expect(hit).toMatchObject({ value: 1, hit: true, resolver: "m.score", observedAt: first, key: { value: 1 } });
    expect(world.calls).toEqual({ base: 1, score: 1 });
    world.now += 1;
    expect(fieldOf(await world.ask({ "user.id": 1 }, ["user.score"]), "user.score")).toMatchObject({ value: 2, hit: false });
    expect(world.calls).toEqual({ base: 2, score: 2 });
  });

  test("keys and types of keys stay apart", async () => {
    const world = counting();
    await world.ask({ "user.id": 1 }, ["user.score"]);
    expect(await world.values({ "user.id": 2 }, ["user.score"])).toEqual({ "user.score": 2 });
    expect(await world.values({ "user.id": 1 }, ["user.score"])).toEqual({ "user.score": 1 });
  });

  test("a feature without staleness is computed every time", async () => {
    const world = counting();
    await world.ask({ "user.id": 1 }, ["user.never"]);
    expect(await world.values({ "user.id": 1 }, ["user.never"])).toEqual({ "user.never": 2 });
  });

  test("infinity never expires", async () => {
    const world = counting({}, "infinity");
    await world.ask({ "user.id": 1 }, ["user.score"]);
    world.now += 1e12;
    expect(fieldOf(await world.ask({ "user.id": 1 }, ["user.score"]), "user.score").hit).toBe(true);
  });

  test("the request's staleness wins: zero busts, longer serves, shorter computes", async () => {
    const world = counting();
    const ask = async (ms: number) =>
      fieldOf(await world.ask({ "user.id": 1 }, ["user.score"], { staleness: { "user.score": ms } }), "user.score");
    await ask(HOUR);
    expect(await ask(0)).toMatchObject({ value: 2, hit: false });
    expect(fieldOf(await world.ask({ "user.id": 1 }, ["user.score"]), "user.score")).toMatchObject({ value: 2, hit: true });
    world.now += 2 * HOUR;
    expect(await ask(3 * HOUR)).toMatchObject({ value: 2, hit: true });
    expect(await ask(Number.POSITIVE_INFINITY)).toMatchObject({ value: 2, hit: true });
    expect(await ask(1_000)).toMatchObject({ value: 3, hit: false });
  });

  test("an override makes a feature that is not cached by definition cached for those who ask so", async () => {
    const world = counting();
    const ask = async () => fieldOf(await world.ask({ "user.id": 1 }, ["user.never"], { staleness: { never: HOUR } }), "user.never");
    expect(await ask()).toMatchObject({ value: 1, hit: false });
    expect(await ask()).toMatchObject({ value: 1, hit: true });
    expect(await world.values({ "user.id": 1 }, ["user.never"])).toEqual({ "user.never": 2 });
  });

  test("overrides hold for what lies between inputs and outputs", async () => {
    const world = counting();
    const staleness = { "user.base": HOUR };
    await world.ask({ "user.id": 1 }, ["user.score"], { staleness });
    await world.ask({ "user.id": 1 }, ["user.score"], { staleness: { ...staleness, "user.score": 0 } });
    expect(world.calls).toEqual({ base: 1, score: 2 });
  });

  test("given values win over stored ones and are not stored", async () => {
    const world = counting();
    await world.ask({ "user.id": 1 }, ["user.score"]);
    expect(fieldOf(await world.ask({ "user.id": 1, "user.score": 99 }, ["user.score"]), "user.score")).toMatchObject({
      value: 99,
      hit: false,
    });
    expect(await world.values({ "user.id": 1 }, ["user.score"])).toEqual({ "user.score": 1 });
  });

  test("some hits, some misses: only what the misses need is computed", async () => {
    const world = counting();
    await world.ask({ "user.id": 1 }, ["user.score"]);
    const answer = await world.ask({ "user.id": 1 }, ["user.score", "user.never"]);
    expect(answer.fields.map((field) => field.hit)).toEqual([true, false]);
    expect(world.calls).toEqual({ base: 1, score: 1, never: 1 });
  });

  test("a stored value is enough where nothing could compute it now", async () => {
    const world = counting();
    expect(await world.values({ "user.id": 1, "user.request": 3 }, ["user.derived"])).toEqual({ "user.derived": 1 });
    const hit = fieldOf(await world.ask({ "user.id": 1 }, ["user.derived"]), "user.derived");
    expect(hit).toMatchObject({ value: 1, hit: true });
    const miss = await world.ask({ "user.id": 2 }, ["user.derived"]);
    expect(fieldOf(miss, "user.derived").failure?.message).toContain("user.derived is not in the online store");
  });

  test("scopes do not see each other", async () => {
    const world = counting();
    await world.ask({ "user.id": 1 }, ["user.score"]);
    const branch = counting({ online: world.online });
    Object.assign(branch.deployment, { scope: "feature-x" });
    expect(fieldOf(await branch.ask({ "user.id": 1 }, ["user.score"]), "user.score").hit).toBe(false);
  });

  test("all that a step needs is one read, whatever the classes; what turns up later is another", async () => {
    const made = graph(
      [
        featureClass("account", { id: "int", tier: { type: "int", stale: "1h" } }),
        featureClass("user", {
          id: "int",
          account_id: "int",
          account: { to: "account", on: [["account_id", "id"]] },
          score: { type: "int", stale: "1h" },
        }),
      ],
      [
        python("m.score", ["user.id"], ["user.score"]),
        python("m.tier", ["account.id"], ["account.tier"]),
        python("m.account", ["user.id"], ["user.account_id"]),
      ],
    );
    const reads: string[][] = [];
    const inner = openSqliteOnlineStore(":memory:");
    const online: OnlineStore = {
      ...later(inner),
      read: (scope, asked) => {
        reads.push(asked.values.map(({ namespace }) => namespace));
        return inner.read(scope, asked);
      },
    };
    const world = new World(made, { online, python: { "m.score": () => 1, "m.tier": () => 2, "m.account": () => 7 } });
    const outputs = ["user.score", "user.account.tier"];
    const expected = { "user.score": 1, "user.account.tier": 2 };
    expect(await world.values({ "user.id": 1, "user.account_id": 7 }, outputs)).toEqual(expected);
    expect(reads.map((namespaces) => [...namespaces].sort())).toEqual([["account", "user"]]);
    reads.length = 0;
    expect(await world.values({ "user.id": 1 }, outputs)).toEqual(expected);
    expect(reads).toEqual([["user"], ["account"]]);
  });

  test("a store that answers later serves the same", async () => {
    const inner = openSqliteOnlineStore(":memory:");
    const world = counting({ online: later(inner) });
    await world.ask({ "user.id": 1 }, ["user.score"]);
    expect(fieldOf(await world.ask({ "user.id": 1 }, ["user.score"]), "user.score")).toMatchObject({ value: 1, hit: true });
  });
});

describe("writing", () => {
  test("fresh values are stored with the resolver and the query's time, nulls too, also those that a default stands in for; joins and inputs are not", async () => {
    const writes: ValueWrite[] = [];
    const inner = openSqliteOnlineStore(":memory:");
    const world = counting({ online: watched(inner, writes) });
    await world.ask({ "user.id": 1, "user.request": 1 }, ["user.score", "user.never", "user.plan", "user.none"]);
    const ids = world.deployment.featureIds;
    expect(writes).toHaveLength(3);
    expect(writes).toContainEqual(expect.objectContaining({ featureId: ids.get("user.plan") as number, value: null }));
    expect(writes).toContainEqual({
      namespace: "user",
      key: "i:1",
      featureId: ids.get("user.score") as number,
      value: 1,
      observedAt: world.now,
      resolver: "m.score",
      expiresAt: world.now + 7 * 24 * HOUR,
    });
    expect(writes).toContainEqual(expect.objectContaining({ featureId: ids.get("user.none") as number, value: null }));
    const hit = fieldOf(await world.ask({ "user.id": 1 }, ["user.none"]), "user.none");
    expect(hit).toMatchObject({ value: null, hit: true });
  });

  test("store_online=False keeps a feature out of the store, also when a query asks for stored values", async () => {
    const writes: ValueWrite[] = [];
    const made = graph(
      [featureClass("user", { id: "int", shown: { type: "int", stale: "1h" }, kept: { type: "int", stale: "1h", online: false } })],
      [python("m.both", ["user.id"], ["user.shown", "user.kept"])],
    );
    let calls = 0;
    const online = watched(openSqliteOnlineStore(":memory:"), writes);
    const world = new World(made, { online, python: { "m.both": () => ({ "user.shown": ++calls, "user.kept": calls }) } });
    const asked: readonly Record<string, number>[] = [{}, { "user.kept": HOUR }];
    for (const staleness of asked) {
      const answer = await world.ask({ "user.id": 1 }, ["user.shown", "user.kept"], { staleness, explain: true });
      expect(answer.fields.map((field) => field.value)).toEqual([1, calls]);
      expect(answer.explanation).toContain("CacheRead skipped: its values are not stored online (store_online)");
    }
    expect([calls, [...new Set(writes.map((write) => write.featureId))]]).toEqual([2, [2]]);
  });

  test("cache_nulls=False leaves what is stored as it is when the fresh value is null", async () => {
    const made = graph(
      [featureClass("user", { id: "int", mood: { type: "str?", stale: "1h", nulls: false }, any: { type: "str?", stale: "1h" } })],
      [python("m.both", ["user.id"], ["user.mood", "user.any"])],
    );
    let value: string | null = "fine";
    const world = new World(made, { python: { "m.both": () => ({ "user.mood": value, "user.any": value }) } });
    const outputs = ["user.mood", "user.any"];
    await world.ask({ "user.id": 1 }, outputs);
    value = null;
    world.now += 1;
    const zero = { "user.mood": 0, "user.any": 0 };
    expect(await world.values({ "user.id": 1 }, outputs, { staleness: zero })).toEqual({ "user.mood": null, "user.any": null });
    const answer = await world.ask({ "user.id": 1 }, outputs);
    expect(answer.fields.map(({ value, hit }) => [value, hit])).toEqual([
      ["fine", true],
      [null, true],
    ]);
  });

  test("a value may be forgotten when no staleness serves it any more: the definition's, the query's or the deployment's", async () => {
    const writes: ValueWrite[] = [];
    const expiries = async (staleness: Record<string, number>, longest?: readonly (readonly [string, number])[]) => {
      const world = counting({ online: watched(openSqliteOnlineStore(":memory:"), writes) });
      const ids = world.deployment.featureIds;
      if (longest) Object.assign(world.deployment, { longestStaleness: new Map(longest.map(([fqn, ms]) => [ids.get(fqn), ms])) });
      await world.ask({ "user.id": 1 }, ["user.score"], { staleness });
      const expiresAt = writes.at(-1)?.expiresAt;
      return expiresAt === undefined ? undefined : expiresAt - world.now;
    };
    const WEEK = 7 * 24 * HOUR;
    expect(await expiries({})).toBe(WEEK);
    expect(await expiries({ "user.score": 2 * WEEK })).toBe(2 * WEEK);
    expect(await expiries({ "user.score": Number.POSITIVE_INFINITY })).toBeUndefined();
    expect(await expiries({}, [["user.score", 3 * WEEK]])).toBe(3 * WEEK);
  });

  test("what was served is not stored again", async () => {
    const writes: ValueWrite[] = [];
    const world = counting({ online: watched(openSqliteOnlineStore(":memory:"), writes) });
    await world.ask({ "user.id": 1 }, ["user.score"]);
    await world.ask({ "user.id": 1 }, ["user.score"]);
    expect(writes).toHaveLength(1);
  });

  test("a store that fails is logged and never fails the query", async () => {
    const broken = (rejecting: boolean): OnlineStore => {
      const fail = (): never => {
        throw new Error("the disk is on fire");
      };
      return { ...later(openSqliteOnlineStore(":memory:")), put: fail, read: rejecting ? async () => fail() : fail };
    };
    for (const rejecting of [false, true]) {
      const world = counting({ online: broken(rejecting) });
      expect(await world.values({ "user.id": 1 }, ["user.score"])).toEqual({ "user.score": 1 });
      const warnings = world.logged.map((line) => JSON.parse(line)).filter((line) => line.level === "warning");
      expect(warnings.map((line) => [line.message, line.error])).toEqual([
        ["the online store could not be read", "the disk is on fire"],
        ["values could not be stored online", "the disk is on fire"],
      ]);
    }
  });

  test("the class's feature time is the value's time if the resolver gave it", async () => {
    const made = graph(
      [
        featureClass("txn", {
          id: "int",
          at: { type: "datetime", time: true },
          amount: { type: "int", stale: "1h" },
          other: { type: "int", stale: "1h" },
        }),
      ],
      [python("m.txn", ["txn.id"], ["txn.amount", "txn.at"]), python("m.other", ["txn.id"], ["txn.other"])],
    );
    const world = new World(made, {
      python: { "m.txn": () => ({ "txn.amount": 5, "txn.at": "2024-05-01T11:30:00Z" }), "m.other": () => 1 },
    });
    const answer = await world.ask({ "txn.id": 1 }, ["txn.amount", "txn.other"]);
    expect(fieldOf(answer, "txn.amount").observedAt).toBe(Date.parse("2024-05-01T11:30:00Z"));
    expect(fieldOf(answer, "txn.other").observedAt).toBe(world.now);
    world.now += HOUR / 2;
    expect(fieldOf(await world.ask({ "txn.id": 1 }, ["txn.amount"]), "txn.amount").hit).toBe(true);
    world.now += 1;
    const later = await world.ask({ "txn.id": 1 }, ["txn.amount", "txn.other"]);
    expect(later.fields.map((field) => field.hit)).toEqual([false, true]);
  });
});

describe("another time than the present", () => {
  const micros = (ms: number) => BigInt(ms) * 1000n;

  test("values observed later are hidden", async () => {
    const world = counting({}, "infinity");
    await world.ask({ "user.id": 1 }, ["user.score"]);
    const before = await world.ask({ "user.id": 1 }, ["user.score"], { now: micros(world.now - 1) });
    expect(fieldOf(before, "user.score")).toMatchObject({ value: 2, hit: false });
    const exact = await world.ask({ "user.id": 1 }, ["user.score"], { now: micros(world.now) });
    expect(fieldOf(exact, "user.score")).toMatchObject({ value: 1, hit: true });
  });

  test("ages are counted from it", async () => {
    const world = counting();
    await world.ask({ "user.id": 1 }, ["user.score"]);
    const edge = await world.ask({ "user.id": 1 }, ["user.score"], { now: micros(world.now + HOUR) });
    expect(fieldOf(edge, "user.score").hit).toBe(true);
    const past = await world.ask({ "user.id": 1 }, ["user.score"], { now: micros(world.now + HOUR) + 1n });
    expect(fieldOf(past, "user.score").hit).toBe(false);
  });

  test("what is computed for the future is not stored, what is computed for the past never replaces the newer", async () => {
    const world = counting({}, "infinity");
    await world.ask({ "user.id": 1 }, ["user.score"], { now: micros(world.now + HOUR) });
    expect(fieldOf(await world.ask({ "user.id": 1 }, ["user.score"]), "user.score")).toMatchObject({ value: 2, hit: false });
    await world.ask({ "user.id": 1 }, ["user.score"], { now: micros(world.now - HOUR) });
    expect(fieldOf(await world.ask({ "user.id": 1 }, ["user.score"]), "user.score")).toMatchObject({ value: 2, hit: true });
  });
});

/** A store that also lists what it is given. */
function watched(inner: OnlineStore, writes: ValueWrite[]): OnlineStore {
  return {
    ...later(inner),
    put: (scope, given) => {
      writes.push(...given.values);
      inner.put(scope, given);
    },
  };
}
