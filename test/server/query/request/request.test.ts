import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ErrorCategory, ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { QueryRequestSchema } from "../../../../gen/svc/v1/query_pb.ts";
import { DataTypeSchema, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { msToDuration } from "../../../../src/domain/proto-time.ts";
import { toProtoValue } from "../../../../src/domain/proto-value.ts";
import { requestFromProto } from "../../../../src/server/query/request/request.ts";
import { featureClass, graph, primitive, python, type TypeSpec } from "../graphs.ts";
import { valuesOf, World } from "../worlds.ts";

const kindOf = create(DataTypeSchema, {
  kind: {
    case: "enum",
    value: { name: "Kind", base: PrimitiveType.STRING, members: [{ name: "A", value: toProtoValue("a") }] },
  },
});
const listOf = create(DataTypeSchema, { kind: { case: "list", value: { element: primitive("int") } } });

const TYPES: Readonly<Record<string, TypeSpec>> = {
  id: "int",
  name: "str",
  nick: "str?",
  score: "float",
  age: "int?",
  ok: "bool",
  born: "date",
  at: "datetime",
  span: "timedelta",
  price: "decimal",
  raw: "bytes",
  any: "json",
  kind: kindOf,
  list: listOf,
};
const users = graph([
  featureClass("user", {
    ...TYPES,
    bank: { to: "bank", on: [["id", "user_id"]], optional: true },
    home: { to: "bank", on: [["id", "id"]] },
  }),
  featureClass("bank", { id: "int", user_id: "int", name: "str", city: { to: "city", on: [["name", "id"]] } }),
  featureClass("city", { id: { type: "str", primary: true }, size: "int?" }),
]);

async function given(form: "text" | "raw" | "typed", name: string, value: unknown): Promise<unknown> {
  const world = new World(users);
  const answer = await world.ask({}, [`user.${name}`], { inputs: [{ name: `user.${name}`, form, value }] });
  return answer.fields[0]?.value;
}

async function refused(form: "text" | "raw" | "typed", name: string, value: unknown): Promise<string> {
  const world = new World(users);
  const refusal = await world.refusal({}, [`user.${name}`], { inputs: [{ name: `user.${name}`, form, value }] });
  expect(refusal.errors[0]).toMatchObject({ code: ErrorCode.PARSE_FAILED, category: ErrorCategory.REQUEST, feature: `user.${name}` });
  return refusal.message;
}

describe("values from a command line", () => {
  test("JSON is decoded and brought to the type", async () => {
    expect(await given("text", "id", "5")).toBe(5);
    expect(await given("text", "score", "5")).toBe(5);
    expect(await given("text", "ok", "true")).toBe(true);
    expect(await given("text", "list", "[1, 2]")).toEqual([1, 2]);
    expect(await given("text", "any", '{"a": [1]}')).toEqual({ a: [1] });
    expect(await given("text", "name", '"quoted"')).toBe("quoted");
    expect(await given("text", "nick", "null")).toBeNull();
    expect(await given("text", "kind", "a")).toBe("a");
  });

  test("what is no JSON is taken as it is where the type can be spelled so", async () => {
    expect(await given("text", "name", "Los Angeles")).toBe("Los Angeles");
    expect(await given("text", "born", "2001-02-03")).toBe("2001-02-03");
    expect(await given("text", "at", "2001-02-03T04:05:06+01:00")).toBe("2001-02-03T03:05:06.000000Z");
    expect(await given("text", "span", "1h30m")).toBe(5_400_000_000);
    expect(await given("text", "score", "NaN")).toBeNaN();
  });

  test("a string keeps digits, booleans and JSON as they were typed", async () => {
    expect(await given("text", "name", "007")).toBe("007");
    expect(await given("text", "name", "1.50")).toBe("1.50");
    expect(await given("text", "name", "true")).toBe("true");
    expect(await given("text", "name", '{"a":1}')).toBe('{"a":1}');
  });

  test("integers beyond 2^53 and decimals lose nothing", async () => {
    expect(await given("text", "id", "9007199254740993")).toBe(9007199254740993n);
    expect(await given("text", "list", "[9007199254740993]")).toEqual([9007199254740993n]);
    expect(await given("text", "price", "12.340")).toBe("12.340");
  });

  test("raw text is never decoded", async () => {
    expect(await given("raw", "name", '"quoted"')).toBe('"quoted"');
    expect(await given("raw", "name", "null")).toBe("null");
    expect(await given("raw", "id", "5")).toBe(5);
  });

  test("a value of the wrong type is refused with the feature, the type and the value", async () => {
    expect(await refused("text", "id", "abc")).toBe('user.id: expected int, got str "abc"');
    expect(await refused("text", "id", "1.5")).toBe("user.id: expected int, got float 1.5");
    expect(await refused("text", "id", "9223372036854775808")).toContain("out of range");
    expect(await refused("text", "kind", "b")).toContain("Kind (one of a)");
    expect(await refused("text", "list", '[1, "x"]')).toBe('user.list: expected int, got str "x" at [1]');
    expect(await refused("text", "any", "{nope")).toContain("no JSON");
    expect(await refused("typed", "name", { a: 1 })).toBe('user.name: expected str, got struct {"a": 1}');
    expect(await refused("typed", "id", 1e20)).toContain("write it as a string");
  });

  test("null is refused where the feature is not optional", async () => {
    expect(await refused("text", "id", "null")).toContain("user.id: expected int, got null");
    expect(await refused("text", "name", "null")).toContain(`write '"null"'`);
    expect(await refused("typed", "id", undefined)).toContain("no value");
  });

  test("everything that is wrong is said at once", async () => {
    const refusal = await new World(users).refusal({ "user.id": "x", "user.nmae": "y", "user.score": [] }, ["user.nope"]);
    expect(refusal.errors.map((error) => error.feature)).toEqual(["user.nmae", "user.nope"]);
    const values = await new World(users).refusal({ "user.id": "x", "user.score": [] }, ["user.id"]);
    expect(values.errors.map((error) => error.feature)).toEqual(["user.id", "user.score"]);
  });

  test("typed values of a message keep their meaning", async () => {
    const request = create(QueryRequestSchema, {
      inputs: [
        { feature: "user.span", value: { case: "typed", value: toProtoValue(1_500_000, primitive("timedelta")) } },
        { feature: "user.at", value: { case: "typed", value: toProtoValue("2001-02-03T04:05:06.000007Z", primitive("datetime")) } },
        { feature: "user.id", value: { case: "typed", value: toProtoValue(2n ** 60n) } },
      ],
      outputs: ["user.span", "user.at", "user.id"],
      staleness: { "user.id": msToDuration(Number.POSITIVE_INFINITY) },
    });
    const world = new World(users);
    const asked = requestFromProto(request);
    expect(asked.staleness).toEqual({ "user.id": Number.POSITIVE_INFINITY });
    const answer = await world.engine.answer(world.deployment, asked, world.now);
    expect(valuesOf(answer)).toEqual({ "user.span": 1_500_000, "user.at": "2001-02-03T04:05:06.000007Z", "user.id": 2n ** 60n });
  });
});

describe("roots and outputs", () => {
  test("no outputs means the root's scalars, and the answer says so", async () => {
    const answer = await new World(users).ask({ "user.id": 1, "user.name": "a" });
    expect(answer.inferred).toEqual(["user"]);
    expect(answer.fields.map((field) => field.path)).toEqual(Object.keys(TYPES).map((name) => `user.${name}`));
    expect(valuesOf(answer)).toMatchObject({ "user.id": 1, "user.name": "a" });
  });

  test("a class leaves out its relations, a relation gives its row's scalars", async () => {
    const world = new World(users);
    const answer = await world.ask(
      { "user.id": 1, "user.bank": { id: 2, user_id: 1, name: "b" } },
      ["bank"].map((name) => `user.${name}`),
    );
    expect(valuesOf(answer)).toEqual({ "user.bank.id": 2, "user.bank.user_id": 1, "user.bank.name": "b" });
  });

  test("an output asked for twice comes once", async () => {
    const answer = await new World(users).ask({ "user.id": 1, "user.name": "a" }, ["user.name", "name", ".user.name"]);
    expect(answer.fields.map((field) => field.path)).toEqual(["user.name"]);
  });

  test("relative inputs take the root of the first absolute one, or of the outputs", async () => {
    expect(await new World(users).values({ name: "a", "user.id": 1 }, ["name"])).toEqual({ "user.name": "a" });
    expect(await new World(users).values({ name: "a" }, ["user.name"])).toEqual({ "user.name": "a" });
  });

  test("two roots are refused, with the way through the relation", async () => {
    const refusal = await new World(users).refusal({ "user.id": 1 }, ["bank.name"]);
    expect(refusal.errors).toMatchObject([{ code: ErrorCode.INVALID_QUERY }]);
    expect(refusal.message).toContain("rooted in bank, but the query in user");
    expect(refusal.message).toContain("write user.bank.name");
  });

  test("a feature given twice, a class as an input and an empty query are refused", async () => {
    const world = new World(users);
    const twice = await world.refusal({ "user.id": 1, id: 2 }, ["user.id"]);
    expect(twice.message).toContain("user.id is given twice");
    expect((await world.refusal({ user: { id: 1 } }, ["user.id"])).message).toContain("is a class");
    expect((await world.refusal({}, [])).errors).toMatchObject([{ code: ErrorCode.INVALID_QUERY }]);
  });
});

describe("rows given whole", () => {
  test("an object gives features by path, nested ones too", async () => {
    const world = new World(users);
    const row = { id: 2, name: "x", city: { id: "x", size: null } };
    expect(await world.values({ "user.id": 1, "user.home": row }, ["user.home.name", "user.home.city.size"])).toEqual({
      "user.home.name": "x",
      "user.home.city.size": null,
    });
  });

  test("text is read as JSON", async () => {
    const answer = await new World(users).ask({}, ["user.bank.id"], {
      inputs: [{ name: "user.bank", form: "text", value: '{"id": 9007199254740993}' }],
    });
    expect(answer.fields[0]?.value).toBe(9007199254740993n);
  });

  test("null gives no row where the relation is optional, and is refused elsewhere", async () => {
    const world = new World(users);
    const answer = await world.ask({ "user.id": 1, "user.bank": null }, ["user.bank"]);
    expect(valuesOf(answer)).toEqual({ "user.bank.id": null, "user.bank.user_id": null, "user.bank.name": null });
    expect(answer.failures).toEqual([]);
    expect((await world.refusal({ "user.id": 1, "user.home": null }, ["user.id"])).message).toContain("the relation is not optional");
  });

  test("unknown fields, wrong values and contradictions are refused", async () => {
    const world = new World(users);
    expect((await world.refusal({ "user.bank": { nmae: "x" } }, ["user.bank"])).message).toContain("did you mean 'user.bank.name'?");
    expect((await world.refusal({ "user.bank": { id: "x" } }, ["user.bank"])).message).toBe('user.bank.id: expected int, got str "x"');
    expect((await world.refusal({ "user.bank": 5 }, ["user.bank"])).message).toBe(
      "user.bank: expected a row of Bank as an object, got int 5",
    );
    expect((await world.refusal({ "user.bank": { id: 1 }, "user.bank.id": 2 }, ["user.bank.id"])).message).toContain("given twice");
    expect((await world.refusal({ "user.bank": null, "user.bank.id": 2 }, ["user.bank.id"])).message).toContain("there is no user.bank");
  });

  test("the same request with another set of fields is planned anew", async () => {
    const world = new World(users);
    expect(await world.values({ "user.bank": { id: 1 } }, ["user.bank.id"])).toEqual({ "user.bank.id": 1 });
    expect(await world.values({ "user.bank": { id: 1, name: "n" } }, ["user.bank.id", "user.bank.name"])).toEqual({
      "user.bank.id": 1,
      "user.bank.name": "n",
    });
    expect(await world.values({ "user.bank": null }, ["user.bank.id"])).toEqual({ "user.bank.id": null });
    expect(await world.values({ "user.bank": { id: 3 } }, ["user.bank.id"])).toEqual({ "user.bank.id": 3 });
  });
});

describe("named queries", () => {
  const named = graph(
    [featureClass("user", { id: "int", name: "str", score: { type: "float", stale: "1d" } })],
    [
      python("m.name", ["user.id"], ["user.name"]),
      python("m.plain", ["user.id"], ["user.score"]),
      python("m.risky", ["user.id"], ["user.score"], { tags: ["risk"] }),
    ],
    [
      { name: "plain", inputs: ["user.id"], outputs: ["user.name"] },
      { name: "both", inputs: ["user.id"], outputs: ["user.name"] },
      { name: "both", version: "3", inputs: ["user.id"], outputs: ["user.score"] },
      { name: "many", version: "1.10.0", inputs: ["user.id"], outputs: ["user.score"] },
      { name: "many", version: "1.9.0", inputs: ["user.id"], outputs: ["user.name"] },
      { name: "many", version: "next", inputs: ["user.id"], outputs: ["user.name"] },
      { name: "signup", version: "1.0.0", inputs: ["user.id"], outputs: ["user.name"] },
      {
        name: "signup",
        version: "2.0.0",
        inputs: ["user.id"],
        outputs: ["user.score"],
        tags: ["risk"],
        staleness: { "user.score": msToDuration(0) },
      },
    ],
  );
  const world = () => new World(named, { python: { "m.name": () => "n", "m.plain": () => 1, "m.risky": () => 2 } });
  const ask = (queryName: string, queryNameVersion = "", outputs: string[] = [], one = world()) =>
    one.ask({ "user.id": 1 }, outputs, { queryName, queryNameVersion });

  test("a version that is given must match exactly", async () => {
    expect(valuesOf(await ask("plain"))).toEqual({ "user.name": "n" });
    expect(valuesOf(await ask("signup", "1.0.0"))).toEqual({ "user.name": "n" });
    expect((await ask("plain")).inferred).toEqual([]);
  });

  test("tags and staleness come with it", async () => {
    const one = world();
    for (let i = 0; i < 2; i++) {
      const answer = await ask("signup", "2.0.0", [], one);
      expect(answer.fields).toMatchObject([{ path: "user.score", value: 2, resolver: "m.risky", hit: false }]);
    }
  });

  test("the request's own staleness wins", async () => {
    const one = world();
    await ask("signup", "2.0.0", [], one);
    const answer = await one.ask({ "user.id": 1 }, [], {
      queryName: "signup",
      queryNameVersion: "2.0.0",
      staleness: { "user.score": 1000 },
    });
    expect(answer.fields[0]?.hit).toBe(true);
  });

  test("relative inputs take the named query's root", async () => {
    expect(await world().values({ id: 1 }, [], { queryName: "plain" })).toEqual({ "user.name": "n" });
  });

  test("a name that matches nothing is a label when outputs are given, and refused otherwise", async () => {
    expect(valuesOf(await ask("label", "", ["user.name"]))).toEqual({ "user.name": "n" });
    const missing = await world().refusal({ "user.id": 1 }, [], { queryName: "sigup" });
    expect(missing.message).toContain("no named query 'sigup'");
    expect(missing.message).toContain("'signup'");
    const version = await world().refusal({ "user.id": 1 }, [], { queryName: "many", queryNameVersion: "1" });
    expect(version.message).toBe("no named query 'many' in version 1; its versions are next, 1.9.0, 1.10.0");
  });

  test("without a version it is the one without, or else the latest, with its tags and staleness", async () => {
    expect(valuesOf(await ask("both"))).toEqual({ "user.name": "n" });
    expect(Object.keys(valuesOf(await ask("many")))).toEqual(["user.score"]);
    const one = world();
    for (const outputs of [[], ["user.score"], ["user.score"]]) {
      const answer = await ask("signup", "", outputs, one);
      expect(answer.fields).toMatchObject([{ path: "user.score", value: 2, resolver: "m.risky", hit: false }]);
    }
  });

  test("outputs of the request replace the named query's", async () => {
    expect(valuesOf(await ask("signup", "1.0.0", ["user.id"]))).toEqual({ "user.id": 1 });
  });
});

test("a query is prepared as it is alone, whichever was asked before it", async () => {
  const named = { name: "n", inputs: ["a.id"], outputs: ["a.y"] };
  const made = graph(
    [featureClass("a", { id: "int", x: "int", y: "str" })],
    [python("m.x", ["a.id"], ["a.x"]), python("m.y", ["a.id"], ["a.y"])],
    [named],
  );
  const fresh = () => new World(made, { python: { "m.x": () => 7, "m.y": (_, call) => JSON.stringify(call.context.tags) } });
  type Query = Parameters<World["ask"]>;
  const asked = async (world: World, query: Query) => {
    const { queryHash, fields } = await world.ask(...query);
    return { queryHash, values: fields.map(({ path, hit, value }) => ({ path, hit, value })) };
  };
  const queries: Query[] = [
    [{ "a.id": 1 }, ["a.y"]],
    [{ "a.id": 1 }, ["a.id"]],
    [{ "a.id": 1 }, ["a.y", "a.id"]],
    [{ "a.id": 1 }, ["a.id", "a.y"]],
    [{ "a.id": 1, "a.x": 2 }, ["a.y"]],
    [{ "a.id": 1 }, ["a.x"], { plannerOptions: { disable_cache_reads: "true" } }],
    [{ "a.id": 1 }, ["a.x"], { staleness: { "a.x": 3_600_000 } }],
    [{ "a.id": 1 }, ["a.x"]],
    [{ "a.id": 1 }, ["a.y"], { tags: ["t"] }],
    [{ "a.id": 1 }, ["a.y"], { tags: ["u"] }],
    [{ "a.id": 1 }, [], { queryName: "n" }],
    [{ "a.id": 1 }, []],
  ];
  for (const before of queries)
    for (const query of queries) {
      const world = fresh();
      await asked(world, before);
      const { queryHash, values } = await asked(world, query);
      const alone = await asked(fresh(), query);
      const stored = before === query && query[2]?.staleness !== undefined;
      expect(queryHash).toBe(alone.queryHash);
      expect(values).toEqual(stored ? alone.values.map((one) => ({ ...one, hit: true })) : alone.values);
    }
});
