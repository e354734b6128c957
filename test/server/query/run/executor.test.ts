import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { QueryRequestSchema } from "../../../../gen/svc/v1/query_pb.ts";
import { fromProtoValue } from "../../../../src/domain/proto-value.ts";
import { answerToProto } from "../../../../src/server/query/answer/answer.ts";
import { requestFromProto } from "../../../../src/server/query/request/request.ts";
import { featureClass, graph, type ParameterSpec, python, type TypeSpec } from "../graphs.ts";
import { ask, failureOf, fieldOf, type Played, PlayedError, valuesOf, World } from "../worlds.ts";

/** A world of one class `user` with features of given types, and resolvers `m.<output>`. */
function world(
  features: Readonly<Record<string, TypeSpec | { type: TypeSpec; default?: null | number | string; stale?: string }>>,
  resolvers: Readonly<
    Record<string, readonly [inputs: readonly ParameterSpec[], play: Played, options?: { timeout?: string; outputs?: string[] }]>
  >,
): World {
  const made = Object.entries(resolvers).map(([name, [inputs, , options]]) =>
    python(
      `m.${name}`,
      inputs,
      (options?.outputs ?? [name]).map((output) => `user.${output}`),
      options?.timeout ? { timeout: options.timeout } : {},
    ),
  );
  const functions = Object.fromEntries(Object.entries(resolvers).map(([name, [, play]]) => [`m.${name}`, play]));
  return new World(graph([featureClass("user", { id: "int", ...features })], made), { python: functions });
}

function raise(message: string, code = ErrorCode.RESOLVER_FAILED): never {
  throw new PlayedError(message, code);
}

describe("running", () => {
  test("values flow from inputs to outputs", async () => {
    const one = world(
      { email: "str", domain: "str", size: "int" },
      {
        email: [["user.id"], ([id]) => `u${id}@example.com`],
        domain: [["user.email"], ([email]) => (email as string).split("@")[1]],
        size: [["user.domain", "user.id"], ([domain, id]) => (domain as string).length + (id as number)],
      },
    );
    const answer = await one.ask({ "user.id": 7 }, ["user.size", "user.domain"]);
    expect(valuesOf(answer)).toEqual({ "user.size": 18, "user.domain": "example.com" });
    expect(answer.failures).toEqual([]);
    expect(fieldOf(answer, "user.size")).toMatchObject({ resolver: "m.size", hit: false, observedAt: one.now, key: { value: 7 } });
  });

  test("resolvers that no output needs are not called, and a shared one is called once", async () => {
    const one = world(
      { a: "int", b: "int", c: "int", unused: "int" },
      {
        a: [["user.id"], () => 1],
        b: [["user.a"], () => 2],
        c: [["user.a", "user.b"], () => 3],
        unused: [["user.a"], () => 4],
      },
    );
    await one.ask({ "user.id": 1 }, ["user.c", "user.b"]);
    expect(one.pool.called().sort()).toEqual(["m.a", "m.b", "m.c"]);
  });

  test("independent resolvers run at the same time", async () => {
    const gate = Promise.withResolvers<void>();
    let waiting = 0;
    const meet = async () => {
      if (++waiting === 3) gate.resolve();
      await gate.promise;
      return 1;
    };
    const one = world(
      { a: "int", b: "int", c: "int", sum: "int" },
      {
        a: [["user.id"], meet],
        b: [["user.id"], meet],
        c: [["user.id"], meet],
        sum: [["user.a", "user.b", "user.c"], (args) => (args as number[]).reduce((x, y) => x + y, 0)],
      },
    );
    expect(await one.values({ "user.id": 1 }, ["user.sum"])).toEqual({ "user.sum": 3 });
    expect(one.pool.overlap).toBe(3);
  });

  test("a resolver starts when its own inputs are there, not when everybody's are", async () => {
    const slow = Promise.withResolvers<void>();
    const one = world(
      { slow: "int", quick: "int", next: "int" },
      {
        slow: [["user.id"], () => slow.promise.then(() => 1)],
        quick: [["user.id"], () => 2],
        next: [
          ["user.quick"],
          () => {
            slow.resolve();
            return 3;
          },
        ],
      },
    );
    expect(await one.values({ "user.id": 1 }, ["user.slow", "user.next"])).toEqual({ "user.slow": 1, "user.next": 3 });
  });

  test("without a primary key everything else still works", async () => {
    const one = world(
      { email: "str", domain: { type: "str", stale: "1h" } },
      { domain: [["user.email"], ([email]) => (email as string).split("@")[1]] },
    );
    for (let i = 0; i < 2; i++) {
      const answer = await one.ask({ "user.email": "a@b.c" }, ["user.domain"]);
      expect(fieldOf(answer, "user.domain")).toMatchObject({ value: "b.c", hit: false, key: undefined });
    }
    expect(one.pool.calls).toHaveLength(2);
  });

  test("resolvers see the query's id, tags, context and their own time limit", async () => {
    const one = world({ a: "int" }, { a: [["user.id"], () => 1, { timeout: "250ms" }] });
    const answer = await one.ask({ "user.id": 1 }, ["user.a"], { tags: ["x"], queryContext: { from: "test", n: [1] } });
    expect(one.pool.calls[0]).toMatchObject({
      resolver: "m.a",
      rows: 1,
      columns: { p0: [1] },
      deadlineMs: 250,
      context: {
        queryId: answer.queryId,
        traceId: answer.queryId.replaceAll("-", ""),
        tags: ["x"],
        queryContext: { from: "test", n: [1] },
      },
    });
    const plain = world({ a: "int" }, { a: [["user.id"], () => 1] });
    await plain.ask({ "user.id": 1 }, ["user.a"]);
    expect(plain.pool.calls[0]?.deadlineMs).toBe(30_000);
  });

  test("query ids are version 7 and new each time", async () => {
    const one = world({}, {});
    const ids = await Promise.all([1, 2].map(async () => (await one.ask({ "user.id": 1 }, ["user.id"])).queryId));
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});

describe("time", () => {
  test("`Now` is the arrival's time, or the one asked for", async () => {
    const one = world({ at: "datetime" }, { at: [["now"], ([now]) => now] });
    expect(await one.values({ "user.id": 1 }, ["user.at"])).toEqual({ "user.at": "2024-05-01T12:00:00.000000Z" });
    expect(await one.values({ "user.id": 1 }, ["user.at"], { now: 981_173_106_000_007n })).toEqual({
      "user.at": "2001-02-03T04:05:06.000007Z",
    });
    const answer = await one.ask({ "user.id": 1 }, ["user.at"], { now: 981_173_106_000_007n });
    expect(answer.nowMicros).toBe(981_173_106_000_007n);
  });

  test("a time that no datetime can write is refused", async () => {
    const refusal = await world({}, {}).refusal({ "user.id": 1 }, ["user.id"], { now: 10n ** 18n });
    expect(refusal.message).toContain("years 1 and 9999");
  });
});

describe("failures", () => {
  test("a resolver that raises fails its features, the others are answered", async () => {
    const one = world({ bad: "int", good: "int" }, { bad: [["user.id"], () => raise("no luck")], good: [["user.id"], () => 1] });
    const answer = await one.ask({ "user.id": 1 }, ["user.bad", "user.good"]);
    expect(valuesOf(answer)).toEqual({ "user.bad": null, "user.good": 1 });
    expect(failureOf(answer, "user.bad")).toEqual({ code: "RESOLVER_FAILED", message: "no luck" });
    expect(answer.failures).toMatchObject([{ path: "user.bad", resolver: "m.bad" }]);
    expect(fieldOf(answer, "user.bad").observedAt).toBeUndefined();
  });

  test("what depends on it fails as UPSTREAM_FAILED, and the root is reported once", async () => {
    const one = world(
      { bad: "int", next: "int", last: "int", other: "int" },
      {
        bad: [["user.id"], () => raise("no luck")],
        next: [["user.bad"], () => 1],
        last: [["user.next"], () => 2],
        other: [["user.bad"], () => 3],
      },
    );
    const answer = await one.ask({ "user.id": 1 }, ["user.last", "user.other"]);
    expect(failureOf(answer, "user.last")).toEqual({
      code: "UPSTREAM_FAILED",
      message: "user.last needs user.next, which failed: no luck",
    });
    expect(answer.failures.map((failure) => [failure.path, ErrorCode[failure.code]])).toEqual([
      ["user.last", "UPSTREAM_FAILED"],
      ["user.other", "UPSTREAM_FAILED"],
      ["user.bad", "RESOLVER_FAILED"],
    ]);
    expect(one.pool.called()).toEqual(["m.bad"]);
  });

  test("optional inputs survive: null, or the parameter's default", async () => {
    const one = world(
      { bad: "int", worse: "int", fine: "str" },
      {
        bad: [["user.id"], () => raise("no luck")],
        worse: [["user.id"], () => raise("none either")],
        fine: [["user.bad?", ["user.worse", -1], "user.id"], (args) => JSON.stringify(args)],
      },
    );
    const answer = await one.ask({ "user.id": 1 }, ["user.fine"]);
    expect(valuesOf(answer)).toEqual({ "user.fine": "[null,-1,1]" });
    expect(answer.failures).toEqual([]);
  });

  test("null of a nullable feature is passed on, or replaced by the parameter's default", async () => {
    const one = world(
      { none: "int?", seen: "str" },
      { none: [["user.id"], () => null], seen: [["user.none", ["user.none", 5]], (args) => JSON.stringify(args)] },
    );
    expect(await one.values({ "user.id": 1 }, ["user.seen", "user.none"])).toEqual({ "user.seen": "[null,5]", "user.none": null });
  });

  test("a default covers a missing provider, null and a failure", async () => {
    const one = world(
      {
        missing: { type: "int", default: 1 },
        nulled: { type: "int", default: 2 },
        failed: { type: "int", default: 3 },
        behind: { type: "int", default: 4 },
        bad: "int",
        nullable: { type: "int?", default: 5 },
      },
      {
        nulled: [["user.id"], () => null],
        failed: [["user.id"], () => raise("no luck")],
        bad: [["user.id"], () => raise("no luck")],
        behind: [["user.bad"], () => 9],
        nullable: [["user.id"], () => null],
      },
    );
    const outputs = ["missing", "nulled", "failed", "behind", "nullable"].map((name) => `user.${name}`);
    const answer = await one.ask({ "user.id": 1 }, outputs);
    expect(Object.values(valuesOf(answer))).toEqual([1, 2, 3, 4, null]);
    expect(answer.failures).toEqual([]);
    expect(fieldOf(answer, "user.failed")).toMatchObject({ resolver: "", hit: false });
    expect(one.logged.filter((line) => line.includes("a default stands in")).length).toBe(3);
  });

  test("results are checked strictly: the feature, the type wanted and the value given are named", async () => {
    const one = world(
      { text: "str", whole: "int", wide: "float", none: "int", defaulted: { type: "int", default: 1 } },
      {
        text: [["user.id"], () => 5],
        whole: [["user.id"], () => "5"],
        wide: [["user.id"], () => 5],
        none: [["user.id"], () => null],
        defaulted: [["user.id"], () => "x"],
      },
    );
    const answer = await one.ask({ "user.id": 1 }, ["user.text", "user.whole", "user.wide", "user.none", "user.defaulted"]);
    expect(failureOf(answer, "user.text")).toEqual({
      code: "VALIDATION_FAILED",
      message: "user.text: expected str, got int 5 from m.text (m.py:1)",
    });
    expect(failureOf(answer, "user.whole")).toEqual({
      code: "VALIDATION_FAILED",
      message: 'user.whole: expected int, got str "5" from m.whole (m.py:1)',
    });
    expect(fieldOf(answer, "user.wide").value).toBe(5);
    expect(failureOf(answer, "user.none").message).toBe(
      "user.none: expected int, got null from m.none (m.py:1), and the feature is not optional",
    );
    expect(failureOf(answer, "user.defaulted").code).toBe("VALIDATION_FAILED");
  });

  test("one wrong output does not spoil the resolver's others", async () => {
    const one = world({ a: "int", b: "int" }, { both: [["user.id"], () => ({ "user.a": "x", "user.b": 2 }), { outputs: ["a", "b"] }] });
    const answer = await one.ask({ "user.id": 1 }, ["user.a", "user.b"]);
    expect(failureOf(answer, "user.a").code).toBe("VALIDATION_FAILED");
    expect(fieldOf(answer, "user.b").value).toBe(2);
  });

  test("a resolver that overruns is given up, and the pool's own word is kept", async () => {
    const never = new Promise<never>(() => {});
    const one = world(
      { slow: "int", told: "int", good: "int" },
      {
        slow: [["user.id"], () => never, { timeout: "20ms" }],
        told: [["user.id"], () => raise("m.told overran", ErrorCode.RESOLVER_TIMED_OUT)],
        good: [["user.id"], () => 1],
      },
    );
    const answer = await one.ask({ "user.id": 1 }, ["user.slow", "user.told", "user.good"]);
    expect(failureOf(answer, "user.slow")).toEqual({ code: "RESOLVER_TIMED_OUT", message: "m.slow (m.py:1) did not finish within 20ms" });
    expect(failureOf(answer, "user.told").code).toBe("RESOLVER_TIMED_OUT");
    expect(fieldOf(answer, "user.good").value).toBe(1);
  });

  test("a pool that breaks fails the features and not the query", async () => {
    const one = world(
      { a: "int", b: "int" },
      { a: [["user.id"], () => Promise.reject(new Error("the pool is gone"))], b: [["user.id"], () => 1] },
    );
    const answer = await one.ask({ "user.id": 1 }, ["user.a", "user.b"]);
    expect(failureOf(answer, "user.a")).toEqual({ code: "RESOLVER_FAILED", message: "m.a (m.py:1) could not be run: the pool is gone" });
    expect(fieldOf(answer, "user.b").value).toBe(1);
  });

  test("features of a class without a provider fail by themselves", async () => {
    const one = world({ a: "int", lost: "int" }, { a: [["user.id"], () => 1] });
    const answer = await one.ask({ "user.id": 1 }, ["user"]);
    expect(valuesOf(answer)).toEqual({ "user.id": 1, "user.a": 1, "user.lost": null });
    expect(failureOf(answer, "user.lost").code).toBe("RESOLVER_NOT_FOUND");
  });

  test("a caller that goes away ends the query", async () => {
    const entered = Promise.withResolvers<void>();
    const one = world(
      { slow: "int", quick: "int" },
      {
        slow: [
          ["user.id"],
          () => {
            entered.resolve();
            return new Promise<never>(() => {});
          },
        ],
        quick: [["user.id"], () => 1],
      },
    );
    const controller = new AbortController();
    const running = one.engine.answer(one.deployment, ask({ "user.id": 1 }, ["user.slow"]), one.now, controller.signal);
    await entered.promise;
    controller.abort();
    expect(failureOf(await running, "user.slow").code).toBe("CANCELLED");
  });
});

test("the message door answers with messages", async () => {
  const one = world({ a: "float", bad: "int" }, { a: [["user.id"], () => 2.5], bad: [["user.id"], () => raise("no luck")] });
  const request = create(QueryRequestSchema, {
    inputs: [{ feature: "user.id", value: { case: "text", value: "3" } }],
    outputs: ["user.a", "user.bad"],
    includeMeta: true,
  });
  const response = answerToProto(await one.engine.answer(one.deployment, requestFromProto(request), one.now), request.includeMeta);
  const [a, bad] = response.data;
  expect(a?.value && fromProtoValue(a.value)).toBe(2.5);
  expect(a?.pkey && fromProtoValue(a.pkey)).toBe(3);
  expect(a?.meta).toMatchObject({ chosenResolverFqn: "m.a", cacheHit: false, primitiveType: "float", version: 1 });
  expect(a?.ts?.seconds).toBe(BigInt(one.now / 1000));
  expect(bad?.value?.kind.case).toBe("nullValue");
  expect(bad?.error).toMatchObject({ code: ErrorCode.RESOLVER_FAILED, feature: "user.bad", resolver: "m.bad" });
  expect(response.errors).toHaveLength(1);
  expect(response.meta).toMatchObject({ deploymentId: "dpl_1", environmentId: "env_1", environmentName: "default" });
  expect(response.meta?.queryHash).toMatch(/^[0-9a-f]{16}$/);
});
