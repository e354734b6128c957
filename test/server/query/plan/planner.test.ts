import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ErrorCategory, ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { type FeatureSet, type Resolver, SourceKind, StreamResolverSchema } from "../../../../gen/svc/v1/graph_pb.ts";
import { buildGraphIndex } from "../../../../src/server/query/graph/graph-index.ts";
import type { Plan, PlanOp } from "../../../../src/server/query/plan/plan.ts";
import { QueryRefused } from "../../../../src/server/query/refusal.ts";
import { Preparer } from "../../../../src/server/query/request/prepare.ts";
import type { QueryRequest } from "../../../../src/server/query/request/request.ts";
import { featureClass, featureIdsOf, graph, python, sql } from "../graphs.ts";
import { ask, World } from "../worlds.ts";

interface Setting {
  readonly classes: readonly FeatureSet[];
  readonly resolvers: readonly Resolver[];
  readonly environment?: string;
  readonly sources?: readonly string[];
  /** Outputs of the stream `m.on`. */
  readonly streamed?: readonly string[];
}

function preparer({ classes, resolvers, environment = "default", sources = ["db"], streamed = [] }: Setting): Preparer {
  const made = graph(classes, resolvers);
  if (streamed.length > 0) made.streamResolvers = [create(StreamResolverSchema, { fqn: "m.on", outputs: [...streamed] })];
  const index = buildGraphIndex(made, {
    environmentName: environment,
    featureIds: featureIdsOf(made),
    sources: sources.map((name) => ({ name, kind: SourceKind.SQLITE })),
  });
  return new Preparer(index);
}

function plan(setting: Setting, inputs: readonly string[], outputs: readonly string[], more: Partial<QueryRequest> = {}): Plan {
  return preparer(setting).prepare(ask(Object.fromEntries(inputs.map((name) => [name, 1])), outputs, more)).plan;
}

/** The resolver (or `join`, `given`, `none`) that provides each slot, by path. */
function providers(of: Plan): Record<string, string> {
  const name = (op: PlanOp | undefined) => (op ? (op.resolver?.fqn ?? "join") : "none");
  return Object.fromEntries(of.slots.map((slot) => [slot.path, slot.given >= 0 ? "given" : name(of.providersOf(slot).at(-1))]));
}

function refused(run: () => unknown): QueryRefused {
  try {
    run();
  } catch (error) {
    if (error instanceof QueryRefused) return error;
    throw error;
  }
  throw new Error("the query was planned");
}

const user = featureClass("user", { id: "int", email: "str", name: "str", domain: "str", score: "float", extra: "float" });

describe("choosing providers", () => {
  test("derives outputs from inputs through other features, and plans nothing else", () => {
    const setting = {
      classes: [user],
      resolvers: [
        python("m.email", ["user.id"], ["user.email"]),
        python("m.domain", ["user.email"], ["user.domain"]),
        python("m.score", ["user.domain"], ["user.score"]),
      ],
    };
    expect(providers(plan(setting, ["user.id"], ["user.domain"]))).toEqual({
      "user.id": "given",
      "user.email": "m.email",
      "user.domain": "m.domain",
    });
  });

  test("a given feature is never computed", () => {
    const setting = {
      classes: [user],
      resolvers: [python("m.email", ["user.id"], ["user.email"]), python("m.domain", ["user.email"], ["user.domain"])],
    };
    const made = preparer(setting).prepare(ask({ "user.id": 1, "user.email": "a" }, ["user.domain"])).plan;
    expect(providers(made)).toEqual({ "user.id": "given", "user.email": "given", "user.domain": "m.domain" });
    expect(made.ops.map((op) => op.resolver?.fqn)).toEqual(["m.domain"]);
  });

  test("one call of a resolver serves all its outputs", () => {
    const setting = { classes: [user], resolvers: [python("m.both", ["user.id"], ["user.email", "user.name", "user.domain"])] };
    const made = plan(setting, ["user.id"], ["user.email", "user.name"]);
    expect(made.ops).toHaveLength(1);
    expect(made.ops[0]?.outputs.map((slot) => made.slots[slot]?.path)).toEqual(["user.email", "user.name"]);
  });

  test("offline resolvers, other environments, missing tags and missing sources are out, with the reason", () => {
    const setting = {
      classes: [user],
      resolvers: [
        python("m.nightly", ["user.id"], ["user.score"], { offline: true, line: 3 }),
        python("m.dev", ["user.id"], ["user.score"], { environments: ["dev", "test"], line: 9 }),
        python("m.tagged", ["user.id"], ["user.score"], { tags: ["vendor:live"], line: 12 }),
        python("m.deep", ["user.email"], ["user.score"], { line: 20 }),
        sql("get_score", "select id, score from scores", { "user.id": "id", "user.score": "score" }, { source: "wh" }),
      ],
    };
    const { errors, message } = refused(() => plan(setting, ["user.id"], ["user.score"]));
    expect(errors).toMatchObject([{ code: ErrorCode.RESOLVER_NOT_FOUND, category: ErrorCategory.REQUEST, feature: "user.score" }]);
    expect(message).toStartWith("no resolver can produce user.score from user.id:");
    expect(message).toContain("m.nightly (m.py:3): it is offline only");
    expect(message).toContain("m.dev (m.py:9): it exists in the environments dev, test, not in default");
    expect(message).toContain("m.tagged (m.py:12): it needs the tag 'vendor:live', which the query does not carry");
    expect(message).toContain("m.deep (m.py:20): it needs user.email, which was not given and which no resolver produces");
    expect(message).toContain("get_score (get_score.svc.sql:1): its source 'wh' is not configured in this environment (there is db)");
  });

  test("the environment and the tags let them in", () => {
    const setting = {
      classes: [user],
      environment: "dev",
      resolvers: [
        python("m.dev", ["user.id"], ["user.score"], { environments: ["dev"] }),
        python("m.api", ["user.id"], ["user.name"], { tags: ["api"] }),
      ],
    };
    expect(providers(plan(setting, ["user.id"], ["user.score"]))).toMatchObject({ "user.score": "m.dev" });
    expect(providers(plan(setting, ["user.id"], ["user.name"], { tags: ["api"] }))).toMatchObject({ "user.name": "m.api" });
    expect(providers(plan(setting, ["user.id"], ["user.name"], { tags: ["api:live"] }))).toMatchObject({ "user.name": "m.api" });
    expect(refused(() => plan(setting, ["user.id"], ["user.name"], { tags: ["apis"] })).message).toContain("'api'");
  });

  test("a tag with a value matches only itself", () => {
    const setting = { classes: [user], resolvers: [python("m.live", ["user.id"], ["user.name"], { tags: ["api:live"] })] };
    expect(providers(plan(setting, ["user.id"], ["user.name"], { tags: ["api:live"] }))).toMatchObject({ "user.name": "m.live" });
    expect(refused(() => plan(setting, ["user.id"], ["user.name"], { tags: ["api"] })).message).toContain("'api:live'");
  });

  test("the most matched tags win", () => {
    const setting = {
      classes: [user],
      resolvers: [
        python("m.plain", ["user.id"], ["user.score"]),
        python("m.one", ["user.id"], ["user.score"], { tags: ["a"] }),
        python("m.two", ["user.id"], ["user.score"], { tags: ["a", "b"] }),
      ],
    };
    expect(providers(plan(setting, ["user.id"], ["user.score"]))).toMatchObject({ "user.score": "m.plain" });
    expect(providers(plan(setting, ["user.id"], ["user.score"], { tags: ["a"] }))).toMatchObject({ "user.score": "m.one" });
    const both = plan(setting, ["user.id"], ["user.score"], { tags: ["b", "a"] });
    expect(providers(both)).toMatchObject({ "user.score": "m.two" });
    expect(both.slots.find((slot) => slot.path === "user.score")?.notes).toEqual([
      "not m.plain (m.py:1): m.two matches more tags",
      "not m.one (m.py:1): m.two matches more tags",
    ]);
  });

  test("a candidate whose inputs cannot be derived is dropped, however many tags it matches", () => {
    const setting = {
      classes: [user],
      resolvers: [python("m.plain", ["user.id"], ["user.score"]), python("m.deep", ["user.email"], ["user.score"], { tags: ["a"] })],
    };
    const made = plan(setting, ["user.id"], ["user.score"], { tags: ["a"] });
    expect(providers(made)).toMatchObject({ "user.score": "m.plain" });
    expect(made.slots.find((slot) => slot.path === "user.score")?.notes[0]).toContain("not m.deep (m.py:1): it needs user.email");
  });

  test("equals are ambiguous: every candidate with its place, and the cures", () => {
    const setting = {
      classes: [user],
      resolvers: [python("a.one", ["user.id"], ["user.score"], { line: 4 }), python("b.two", ["user.id"], ["user.score"], { line: 8 })],
    };
    const { errors, message } = refused(() => plan(setting, ["user.id"], ["user.score"]));
    expect(errors).toMatchObject([{ code: ErrorCode.RESOLVER_NOT_FOUND, category: ErrorCategory.REQUEST }]);
    for (const part of ["ambiguous", "a.one (a.py:4)", "b.two (b.py:8)", "`tags`", "`environment`", "`total: true`"])
      expect(message).toContain(part);
  });

  test("a resolver that is called anyway is used again, whichever output is asked first", () => {
    const setting = {
      classes: [user],
      resolvers: [python("m.wide", ["user.id"], ["user.name", "user.score"]), python("m.score", ["user.id"], ["user.score"])],
    };
    for (const outputs of [
      ["user.name", "user.score"],
      ["user.score", "user.name"],
    ]) {
      const made = plan(setting, ["user.id"], outputs);
      expect(providers(made)).toMatchObject({ "user.score": "m.wide", "user.name": "m.wide" });
      expect(made.ops).toHaveLength(1);
    }
    expect(refused(() => plan(setting, ["user.id"], ["user.score"])).message).toContain("ambiguous");
  });

  test("of SQL resolvers the one that is total wins, two totals are ambiguous", () => {
    const columns = { "user.id": "id", "user.score": "score" };
    const part = sql("part", "select id, score from part", columns);
    const whole = sql("whole", "select id, score from whole", columns, { total: true });
    const other = sql("other", "select id, score from other", columns, { total: true });
    expect(providers(plan({ classes: [user], resolvers: [part, whole] }, ["user.id"], ["user.score"]))).toMatchObject({
      "user.score": "whole",
    });
    expect(refused(() => plan({ classes: [user], resolvers: [part, whole, other] }, ["user.id"], ["user.score"])).message).toContain(
      "ambiguous",
    );
  });

  test("optional inputs that cannot be derived do not stop a resolver", () => {
    const setting = { classes: [user], resolvers: [python("m.score", ["user.id", "user.email?", ["user.extra", -1]], ["user.score"])] };
    const made = plan(setting, ["user.id"], ["user.score"]);
    expect(made.ops[0]?.inputs.map((input) => input.slot)).toEqual([made.givenSlots[0], undefined, undefined]);
  });

  test("a default stands in for a provider", () => {
    const classes = [featureClass("user", { id: "int", plan: { type: "str", default: "free" }, price: "float" })];
    const resolvers = [python("m.price", ["user.plan"], ["user.price"])];
    expect(providers(plan({ classes, resolvers }, ["user.id"], ["user.price"]))).toEqual({
      "user.id": "given",
      "user.plan": "none",
      "user.price": "m.price",
    });
  });

  test("a named output without a provider refuses the query, one that its class brought does not", () => {
    const setting = { classes: [user], resolvers: [python("m.name", ["user.id"], ["user.name"])] };
    expect(refused(() => plan(setting, ["user.id"], ["user.score"])).message).toBe(
      'no resolver produces user.score: give user.score as an input, or write a resolver for it (if its values are uploaded: give it max_staleness="infinity", apply, and upload them again)',
    );
    expect(refused(() => plan({ ...setting, streamed: ["user.id", "user.score"] }, ["user.id"], ["user.score"])).message).toEndWith(
      'or write a resolver for it (the stream m.on gives it: with max_staleness="infinity" queries read what it stores from then on)',
    );
    const made = plan(setting, ["user.id"], ["user"]);
    expect(made.outputs.filter((output) => output.slot === undefined).map((output) => output.path)).toEqual([
      "user.email",
      "user.domain",
      "user.score",
      "user.extra",
    ]);
    expect(refused(() => plan(setting, ["user.id"], ["user", "user.score"])).errors).toHaveLength(1);
  });

  test("resolvers whose inputs and outputs belong to different classes are out", () => {
    const classes = [user, featureClass("bank", { id: "int", name: "str" })];
    const setting = { classes, resolvers: [python("m.odd", ["bank.id"], ["user.name"])] };
    expect(refused(() => plan(setting, ["user.id"], ["user.name"])).message).toContain(
      "it reads bank.id, but what it produces belongs to user",
    );
  });
});

describe("circles", () => {
  const pair = [python("m.feet", ["user.score"], ["user.extra"]), python("m.metres", ["user.extra"], ["user.score"])];

  test("either direction works when one end is known", () => {
    const setting = { classes: [user], resolvers: pair };
    expect(providers(plan(setting, ["user.extra"], ["user.score"]))).toEqual({ "user.extra": "given", "user.score": "m.metres" });
    expect(providers(plan(setting, ["user.score"], ["user.extra"]))).toEqual({ "user.score": "given", "user.extra": "m.feet" });
  });

  test("a way out of the circle is found", () => {
    const setting = { classes: [user], resolvers: [...pair, python("m.measure", ["user.id"], ["user.extra"])] };
    expect(providers(plan(setting, ["user.id"], ["user.score"]))).toMatchObject({ "user.score": "m.metres", "user.extra": "m.measure" });
  });

  test("a circle without a way out is shown", () => {
    const { message } = refused(() => plan({ classes: [user], resolvers: pair }, ["user.id"], ["user.score"]));
    expect(message).toContain("cycle (user.score -> user.extra -> user.score)");
  });

  test("a preferred candidate that would close a circle is not taken", () => {
    const resolvers = [
      python("m.a_from_b", ["user.extra"], ["user.score"], { tags: ["t"] }),
      python("m.a", ["user.id"], ["user.score"]),
      python("m.b_from_a", ["user.score"], ["user.extra"], { tags: ["t"] }),
      python("m.b", ["user.id"], ["user.extra"]),
    ];
    for (const outputs of [
      ["user.score", "user.extra"],
      ["user.extra", "user.score"],
    ]) {
      const found = providers(plan({ classes: [user], resolvers }, ["user.id"], outputs, { tags: ["t"] }));
      expect([found["user.score"], found["user.extra"]]).toEqual(
        outputs[0] === "user.score" ? ["m.a_from_b", "m.b"] : ["m.a", "m.b_from_a"],
      );
    }
  });

  test("a resolver that takes its own output is out", () => {
    const setting = { classes: [user], resolvers: [python("m.self", ["user.score"], ["user.score"])] };
    expect(refused(() => plan(setting, ["user.id"], ["user.score"])).message).toContain("it takes user.score itself");
  });

  test("a relation to the class itself ends", () => {
    const classes = [
      featureClass("user", {
        id: "int",
        manager_id: "int?",
        score: "float",
        manager: { to: "user", on: [["manager_id", "id"]], optional: true },
      }),
    ];
    const resolvers = [python("m.score", ["user.manager.score"], ["user.score"]), python("m.manager", ["user.id"], ["user.manager_id"])];
    expect(refused(() => plan({ classes, resolvers }, ["user.id"], ["user.score"])).message).toContain(
      "no resolver can produce user.score",
    );
    expect(providers(plan({ classes, resolvers }, ["user.id", "user.manager.score"], ["user.score"]))).toMatchObject({
      "user.score": "m.score",
    });
    const deep = plan({ classes, resolvers }, ["user.id", "user.manager.manager.score"], ["user.score"]);
    expect(providers(deep)).toMatchObject({
      "user.score": "m.score",
      "user.manager.score": "m.score",
      "user.manager.manager.score": "given",
    });
    const chain = plan({ classes, resolvers }, ["user.id"], ["user.manager.manager.manager.id"]);
    expect(chain.frames.map((frame) => frame.path)).toContain("user.manager.manager.manager");
  });
});

describe("relations", () => {
  const airport = featureClass("airport", { code: { type: "str", primary: true }, latitude: "float" });
  const flight = featureClass("flight", {
    id: "int",
    origin_code: "str",
    far: "float",
    origin: { to: "airport", on: [["origin_code", "code"]] },
  });
  const airports = sql("airports", "select code, latitude from airports", { "airport.code": "code", "airport.latitude": "latitude" });
  const flights = sql("flights", "select id, origin_code from flights", { "flight.id": "id", "flight.origin_code": "origin_code" });

  test("the row is looked up by the near side", () => {
    const made = plan({ classes: [airport, flight], resolvers: [airports, flights] }, ["flight.id"], ["flight.origin.latitude"]);
    expect(providers(made)).toEqual({
      "flight.id": "given",
      "flight.origin_code": "flights",
      "flight.origin.latitude": "airports",
    });
    expect(made.frames.map((frame) => [frame.path, frame.mode])).toEqual([
      ["flight", "root"],
      ["flight.origin", "join"],
    ]);
  });

  test("features given by path need no key", () => {
    const resolvers = [airports, flights, python("geo.far", ["flight.origin.latitude"], ["flight.far"])];
    const made = plan({ classes: [airport, flight], resolvers }, ["flight.origin.latitude"], ["flight.far"]);
    expect(providers(made)).toEqual({ "flight.origin.latitude": "given", "flight.far": "geo.far" });
  });

  test("an underivable near side is named", () => {
    const { message } = refused(() =>
      plan({ classes: [airport, flight], resolvers: [airports] }, ["flight.id"], ["flight.origin.latitude"]),
    );
    expect(message).toBe(
      'flight.origin.latitude cannot be read from flight.id: its row needs flight.origin_code, which was not given and which no resolver produces (if its values are uploaded: give it max_staleness="infinity", apply, and upload them again)',
    );
  });

  const account = featureClass("account", { id: "int", owner: "int", balance: "float" });
  const owner = featureClass("person", { id: "int", account: { to: "account", on: [["id", "owner"]], optional: true } });

  test("a join that is not on the primary key is looked up by the far column", () => {
    const accounts = sql("accounts", "select id, owner, balance from accounts", {
      "account.id": "id",
      "account.owner": "owner",
      "account.balance": "balance",
    });
    const made = plan({ classes: [account, owner], resolvers: [accounts] }, ["person.id"], ["person.account.balance", "person.account.id"]);
    expect(providers(made)).toEqual({
      "person.id": "given",
      "person.account.balance": "accounts",
      "person.account.id": "accounts",
    });
    expect(made.ops.find((op) => op.kind === "sql")?.keys.map((feature) => feature.fqn)).toEqual(["account.owner"]);
  });

  test("any resolver from the far column to the primary key will do", () => {
    const resolvers = [
      python("m.account", ["account.owner"], ["account.id"]),
      sql("balances", "select id, balance from balances", { "account.id": "id", "account.balance": "balance" }),
    ];
    expect(providers(plan({ classes: [account, owner], resolvers }, ["person.id"], ["person.account.balance"]))).toEqual({
      "person.id": "given",
      "person.account.owner": "join",
      "person.account.id": "m.account",
      "person.account.balance": "balances",
    });
  });

  test("without one the refusal says what to add", () => {
    const resolvers = [sql("balances", "select id, balance from balances", { "account.id": "id", "account.balance": "balance" })];
    const { message } = refused(() => plan({ classes: [account, owner], resolvers }, ["person.id"], ["person.account.balance"]));
    expect(message).toContain(
      "person.account joins on account.owner and no resolver gives account.id for it: add one that takes account.owner, or a SQL resolver that selects both",
    );
  });

  test("a SQL query that can be looked up by nothing is out", () => {
    const resolvers = [sql("latitudes", "select latitude from airports", { "airport.latitude": "latitude" })];
    const { message } = refused(() => plan({ classes: [airport], resolvers }, ["airport.code"], ["airport.latitude"]));
    expect(message).toContain("no placeholder for a feature and no column for the primary key airport.code");
  });
});

describe("shapes", () => {
  const setting = { classes: [user], resolvers: [python("m.name", ["user.id"], ["user.name"])] };

  test("plans are remembered by the shape, whatever the values", () => {
    const one = preparer(setting);
    const first = one.prepare(ask({ "user.id": 1 }, ["user.name"]));
    const second = one.prepare(ask({ "user.id": 2 }, ["user.name"]));
    expect(second.plan).toBe(first.plan);
    expect([first.planned, second.planned]).toEqual([true, false]);
    expect(one.prepare(ask({ "user.id": 1 }, ["user.name"], { tags: ["t"] })).plan).not.toBe(first.plan);
    expect(one.prepare(ask({ "user.id": 1 }, ["user.name"], { staleness: { "user.name": 0 } })).plan).not.toBe(first.plan);
  });

  test("the hash is the shape's: spelling and order do not matter, everything else does", () => {
    const hash = (inputs: Record<string, unknown>, outputs: string[], more: Partial<QueryRequest> = {}) =>
      preparer(setting).prepare(ask(inputs, outputs, more)).plan.hash;
    const base = hash({ "user.id": 1 }, ["user.name", "user.id"]);
    expect(base).toMatch(/^[0-9a-f]{16}$/);
    expect(hash({ ".user.id": 5 }, ["id", "name"])).toBe(base);
    for (const other of [
      hash({ "user.id": 1 }, ["user.name"]),
      hash({ "user.id": 1, "user.email": "a" }, ["user.name", "user.id"]),
      hash({ "user.id": 1 }, ["user.name", "user.id"], { tags: ["a"] }),
      hash({ "user.id": 1 }, ["user.name", "user.id"], { staleness: { "user.name": 5 } }),
      hash({ "user.id": 1 }, ["user.name", "user.id"], { plannerOptions: { disable_translation: "true" } }),
    ])
      expect(other).not.toBe(base);
  });

  test("a thousand other shapes push the oldest out, not the one in use", () => {
    const one = preparer(setting);
    const kept = one.prepare(ask({ "user.id": 1 }, ["user.name"])).plan;
    const dropped = one.prepare(ask({ "user.id": 1 }, ["user.id"])).plan;
    for (let i = 0; i < 1_000; i++) {
      one.prepare(ask({ "user.id": 1 }, ["user.name"], { tags: [`t${i}`] }));
      one.prepare(ask({ "user.id": 1 }, ["user.name"]));
    }
    expect(one.prepare(ask({ "user.id": 1 }, ["user.name"])).plan).toBe(kept);
    expect(one.prepare(ask({ "user.id": 1 }, ["user.id"])).plan).not.toBe(dropped);
  });

  test("a chain of 5,000 features is planned", () => {
    const names = Array.from({ length: 5_000 }, (_, i) => `f${i}`);
    const classes = [featureClass("deep", { id: "int", ...Object.fromEntries(names.map((name) => [name, "int" as const])) })];
    const resolvers = names.map((name, i) => python(`m.${name}`, [i === 0 ? "deep.id" : `deep.f${i - 1}`], [`deep.${name}`]));
    const made = plan({ classes, resolvers }, ["deep.id"], ["deep.f4999"]);
    expect(made.ops).toHaveLength(5_000);
  });

  test("a query with more possible goals than are planned is refused", () => {
    const names = Array.from({ length: 10_001 }, (_, i) => `f${i}`);
    const classes = [featureClass("wide", { id: "int", ...Object.fromEntries(names.map((name) => [name, "int" as const])) })];
    expect(refused(() => plan({ classes, resolvers: [] }, ["wide.id"], ["wide"])).message).toContain("more than 10000 features");
  });
});

test("required tags leave only resolvers that carry them, by the planner option", async () => {
  const made = graph(
    [featureClass("a", { id: "int", x: "int" })],
    [python("m.plain", ["a.id"], ["a.x"]), python("m.live", ["a.id"], ["a.x"], { tags: ["api:live"] })],
  );
  const one = new World(made, { python: { "m.plain": () => 1, "m.live": () => 2 } });
  const required = (tags: string) => ({ plannerOptions: { required_resolver_tags: tags } });
  expect(await one.values({ "a.id": 1 }, ["a.x"])).toEqual({ "a.x": 1 });
  expect(await one.values({ "a.id": 1 }, ["a.x"], { tags: ["api:live"], ...required("api") })).toEqual({ "a.x": 2 });
  const refused = await one.refusal({ "a.id": 1 }, ["a.x"], required("api, b"));
  expect(refused.message).toContain("m.plain (m.py:1): the query requires resolvers with the tags 'api' and 'b', which it does not have");
});
