import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { SpanSchema } from "../../gen/svc/v1/error_pb.ts";
import { ExpressionSchema, OutputShape, ResolverKind } from "../../gen/svc/v1/graph_pb.ts";
import { DataTypeSchema, PrimitiveType } from "../../gen/svc/v1/value_pb.ts";
import { featuresOf } from "../../src/domain/graph-diff.ts";
import { checkGraph } from "../../src/domain/graph-rules.ts";
import { shown } from "../harness/marked.ts";
import { graphOf, resolver } from "./build-graph.ts";

/** The findings without 163, which small fixtures are full of. */
const found = (...args: Parameters<typeof graphOf>) => shown(checkGraph(graphOf(...args))).filter((finding) => finding.rule !== "W163");
const spans = (file: string) => create(SpanSchema, { file, line: 1, column: 1, endLine: 1, endColumn: 2 });

describe("160", () => {
  const classes = { User: "id email domain score account_id account->Account", Account: "id balance rating" };
  const domain = resolver("r.domain: user.email -> user.domain", { span: spans("r.py") });
  const score = resolver("r.score: user.domain -> user.score", { span: spans("r.py") });

  test("a named query that cannot be computed from its inputs, with the chain", () => {
    const namedQueries = [{ name: "card", version: "1.0.0", inputs: ["user.id"], outputs: ["user.score"], span: spans("q.py") }];
    const diagnostics = checkGraph(graphOf(classes, { resolvers: [domain, score], namedQueries })).filter(
      (finding) => finding.code === 160,
    );
    expect(shown(diagnostics)).toEqual([
      {
        rule: "E160",
        at: "q.py:1:1-1:2",
        message:
          "named query 'card 1.0.0' cannot compute user.score from its inputs: user.score needs user.domain needs user.email; no resolver or default computes user.email",
        label: "user.email has no provider",
      },
    ]);
    expect(diagnostics[0]?.related.map(({ message }) => message)).toEqual(["user.email is defined here"]);
    expect(diagnostics[0]?.hint).toBe("Add a resolver or a default for user.email, or take it into the query's inputs.");
  });

  test("none when the query gives it, has a default, or names no inputs", () => {
    const query = (inputs: string[]) => [{ name: "card", inputs, outputs: ["user.score"] }];
    const resolvers = [domain, score];
    expect(found(classes, { resolvers, namedQueries: query(["user.id", "user.email"]) })).toEqual([]);
    expect(found(classes, { resolvers, namedQueries: query([]) })).toEqual([]);
    expect(found({ ...classes, User: classes.User.replace("email", "email=") }, { resolvers, namedQueries: query(["user.id"]) })).toEqual(
      [],
    );
    expect(
      found(classes, { resolvers: [resolver("r.domain: user.email? -> user.domain"), score], namedQueries: query(["user.id"]) }),
    ).toEqual([]);
  });

  test("the chain goes through relations and their keys", () => {
    const resolvers = [resolver("r.balance: account.rating -> account.balance")];
    const namedQueries = [{ name: "q", inputs: ["user.id", "user.account_id"], outputs: ["user.account.balance"] }];
    expect(found(classes, { resolvers, namedQueries })[0]?.message).toBe(
      "named query 'q' cannot compute user.account.balance from its inputs: account.balance needs account.rating; no resolver or default computes account.rating",
    );
    const byKey = [{ name: "q", inputs: ["user.id"], outputs: ["user.account.id"] }];
    expect(found(classes, { resolvers, namedQueries: byKey })[0]?.message).toContain("no resolver or default computes user.account_id");
  });

  test("a feature that only a query can give is fine at the root, and a warning through a relation", () => {
    expect(found(classes, { resolvers: [domain] })).toEqual([]);
    const through = resolver("r.rich: user.account.balance -> user.score", { span: spans("r.py") });
    expect(found(classes, { resolvers: [through] })).toEqual([
      {
        rule: "W160",
        at: "r.py:1:1-1:2",
        message:
          "no resolver or default computes account.balance, which r.rich reads as user.account.balance: only queries that give it as an input can run it",
        label: "needs account.balance",
      },
    ]);
    expect(found(classes, { resolvers: [resolver("r.rich: user.account.balance? -> user.score")] })).toEqual([]);
    const asked = [{ name: "q", inputs: ["user.id", "user.account.balance"], outputs: ["user.score"] }];
    expect(found(classes, { resolvers: [through], namedQueries: asked })).toEqual([]);
  });

  test("a `select *` may give any value of its class", () => {
    const star = resolver("accounts: account.id -> ", {
      body: { case: "sql", value: { source: "s", body: "select * from a", star: true } },
    });
    expect(found(classes, { resolvers: [resolver("r.rich: user.account.balance -> user.score"), star] })).toEqual([]);
  });
});

describe("161", () => {
  const classes = { User: "id a b c d" };
  const cycle = [
    resolver("r.a: user.b -> user.a", { span: spans("a.py") }),
    resolver("r.b: user.c -> user.b", { span: spans("b.py") }),
    resolver("r.c: user.a -> user.c", { span: spans("c.py") }),
  ];

  test("features that are computed only from each other", () => {
    const diagnostics = checkGraph(graphOf(classes, { resolvers: cycle })).filter((finding) => finding.code === 161);
    expect(shown(diagnostics)).toEqual([
      {
        rule: "E161",
        at: "a.py:1:1-1:2",
        message: "cycle: user.a -> user.b -> user.c -> user.a; each of these features is computed only from the next",
        label: "begins here",
      },
    ]);
    expect(diagnostics[0]?.related.map(({ message }) => message)).toEqual(["r.b is part of it", "r.c is part of it"]);
  });

  test("said once, also for what depends on it", () => {
    expect(found(classes, { resolvers: [resolver("r.d: user.a -> user.d"), ...cycle] }).map((finding) => finding.rule)).toEqual(["E161"]);
  });

  test("none when there is another way, a default, or a named query that gives one", () => {
    expect(found(classes, { resolvers: [...cycle, resolver("r.other: user.d -> user.b")] })).toEqual([]);
    expect(found({ User: "id a= b c d" }, { resolvers: cycle })).toEqual([]);
    expect(found(classes, { resolvers: cycle, namedQueries: [{ name: "q", inputs: ["user.a"], outputs: ["user.b"] }] })).toEqual([]);
    expect(found(classes, { resolvers: [...cycle.slice(1), resolver("r.a: user.b? -> user.a")] })).toEqual([]);
  });

  test("through a relation back to the same class", () => {
    const person = { Person: "id name boss_id boss->Person" };
    expect(found(person, { resolvers: [resolver("r.name: person.boss.name -> person.name")] })[0]?.message).toBe(
      "cycle: person.name -> person.name; each of these features is computed only from the next",
    );
  });
});

describe("161 from row to row", () => {
  const person = (name: string) => ({ Person: `id ${name} boss_id boss->Person other` });
  const boss = resolver("r.boss: person.id -> person.boss_id");
  const said = (classes: Parameters<typeof graphOf>[0], ...resolvers: Parameters<typeof resolver>[0][]) =>
    checkGraph(graphOf(classes, { resolvers: [boss, ...resolvers.map((text) => resolver(text))] })).filter(
      (finding) => finding.code === 161,
    );

  test("neither a default nor an optional input ends it", () => {
    const message = "cycle: person.name -> person.name; each of these features is computed only from the next";
    expect(said(person("name"), "r.name: person.boss.name? -> person.name").map((finding) => finding.message)).toEqual([message]);
    const [withDefault] = said(person("name="), "r.name: person.boss.name -> person.name");
    expect(withDefault?.message).toBe(message);
    expect(withDefault?.hint).toContain("write each level as a feature of its own");
    expect(said(person("name"), "r.name: person.other -> person.name", "r.other: person.boss.name? -> person.other")).toHaveLength(1);
  });

  test("following a relation several times is no circle, nor is what has another source", () => {
    expect(said(person("name"), "r.name: person.boss.boss.boss.other -> person.name", "r.other: person.id -> person.other")).toEqual([]);
    const both = ["r.name: person.boss.name? -> person.name", "r.all: person.id -> person.name"];
    expect(said(person("name"), ...both)).toEqual([]);
    expect(said(person("name="), "r.name: person.other? -> person.name", "r.other: person.name? -> person.other")).toEqual([]);
  });
});

describe("162", () => {
  const classes = { User: "id email name" };
  const first = resolver("r.first: user.id -> user.name, user.email", { span: spans("a.py") });
  const second = (more: Parameters<typeof resolver>[1] = {}) =>
    resolver("r.second: user.id -> user.name", { span: spans("b.py"), ...more });

  test("two resolvers that nothing tells apart", () => {
    const diagnostics = checkGraph(graphOf(classes, { resolvers: [first, second()] }));
    expect(shown(diagnostics)).toEqual([
      {
        rule: "E162",
        at: "b.py:1:1-1:2",
        message: "r.first and r.second both compute user.name, and nothing says which of them a query should use",
        label: "ambiguous",
      },
    ]);
    expect(diagnostics[0]?.related.map(({ span, message }) => [span?.file, message])).toEqual([["a.py", "the other resolver"]]);
  });

  test("none when a tag, an environment, the kind, `total` or the inputs tell them apart", () => {
    const sql = { source: "s", body: "select 1", total: true };
    const apart = [
      [first, second({ tags: ["fast"] })],
      [{ ...first, environments: ["dev"] }, second({ environments: ["prod"] })],
      [first, second({ kind: ResolverKind.OFFLINE })],
      [first, second({ body: { case: "sql", value: sql } })],
      [resolver("r.a: user.email -> user.name"), resolver("r.b: user.id -> user.name")],
    ];
    for (const resolvers of apart) expect(found(classes, { resolvers })).toEqual([]);
    expect(found(classes, { resolvers: [{ ...first, environments: ["dev"] }, second({ environments: ["dev", "prod"] })] })).toHaveLength(1);
  });

  test("scans of one class share its keys, not its values; two that are total are one too many", () => {
    const scan = (text: string, more: Parameters<typeof resolver>[1] = {}) => resolver(text, { outputShape: OutputShape.ROWS, ...more });
    const names = scan("r.names: -> user.id, user.name");
    expect(found(classes, { resolvers: [names, scan("r.emails: -> user.id, user.email")] })).toEqual([]);
    expect(found(classes, { resolvers: [names, scan("r.others: -> user.id, user.name")] })[0]?.message).toBe(
      "r.names and r.others both compute user.id, user.name, and nothing says which of them a query should use",
    );
    expect(found(classes, { resolvers: [names, scan("r.all: -> user.id, user.name", { total: true })] })).toEqual([]);
    const totals = [scan("r.one: -> user.id, user.name", { total: true }), scan("r.two: -> user.id, user.email", { total: true })];
    expect(found(classes, { resolvers: totals })[0]?.message).toContain("r.one and r.two both compute user.id");
  });

  test("the rows of a relation are apart from the rows of its class", () => {
    const rows = resolver("r.rows: account.id -> user.id, user.name", { outputShape: OutputShape.RELATION, relation: "account.users" });
    const related = { User: "id name", Account: "id" };
    expect(found(related, { resolvers: [resolver("r.name: user.id -> user.name"), rows] })).toEqual([]);
  });

  test("none when one of them needs what the other gives", () => {
    const resolvers = [
      resolver("r.domain: user.id -> user.name"),
      resolver("r.email: user.name -> user.email"),
      resolver("r.again: user.email -> user.name"),
    ];
    expect(found(classes, { resolvers })).toEqual([]);
  });
});

describe("163", () => {
  test("neither provider nor consumer", () => {
    expect(
      shown(
        checkGraph(
          graphOf(
            { User: "id email domain lonely at@ fixed= account_id account->Account", Account: "id" },
            { resolvers: [resolver("r.d: user.email -> user.domain")] },
          ),
        ),
      ),
    ).toEqual([
      {
        rule: "W163",
        at: expect.stringMatching(/^features\.py:/),
        message: "nothing computes user.lonely and nothing uses it: a query can only give it back as it was given",
        label: "no provider, no consumer",
      },
    ]);
  });
});

describe("164", () => {
  const classes = { User: "id email domain score" };
  const offline = resolver("r.score: user.id -> user.score", { kind: ResolverKind.OFFLINE, span: spans("off.py") });

  test("an online resolver behind an offline one", () => {
    const diagnostics = checkGraph(
      graphOf(classes, { resolvers: [offline, resolver("r.domain: user.score, user.email -> user.domain", { span: spans("on.py") })] }),
    );
    expect(shown(diagnostics)).toEqual([
      {
        rule: "W164",
        at: "on.py:1:1-1:2",
        message: "r.domain needs user.score, which only the offline resolver r.score computes",
        label: "never computed online",
      },
    ]);
    expect(diagnostics[0]?.related[0]?.span?.file).toBe("off.py");
  });

  test("a named query behind an offline one", () => {
    const namedQueries = [{ name: "q", inputs: ["user.id"], outputs: ["user.score"], span: spans("q.py") }];
    expect(found(classes, { resolvers: [offline], namedQueries }).map(({ rule, message }) => [rule, message])).toEqual([
      ["W164", "named query 'q' needs user.score, which only the offline resolver r.score computes"],
    ]);
  });

  test("none when an online resolver gives it too, or it has a default", () => {
    const consumer = resolver("r.domain: user.score -> user.domain");
    expect(found(classes, { resolvers: [offline, consumer, resolver("r.live: user.email -> user.score")] })).toEqual([]);
    expect(found({ User: "id email domain score=" }, { resolvers: [offline, consumer] })).toEqual([]);
  });
});

test("170: a planner option that there is not, or a value that it cannot have", () => {
  const query = (plannerOptions: Record<string, string>) => [
    { name: "q", version: "2", inputs: ["user.id"], outputs: ["user.id"], plannerOptions, span: spans("q.py") },
  ];
  const classes = { User: "id email" };
  expect(found(classes, { namedQueries: query({ disable_cache: "true", max_batch_rows: "0" }) })).toEqual([
    {
      rule: "E170",
      at: "q.py:1:1-1:2",
      message: expect.stringContaining("named query 'q 2': unknown planner option 'disable_cache'; did you mean 'disable_cache_reads'"),
      label: "cannot be planned",
    },
    {
      rule: "E170",
      at: "q.py:1:1-1:2",
      message: "named query 'q 2': planner option 'max_batch_rows': expected 1 to 1000, got '0'",
      label: "cannot be planned",
    },
  ]);
  expect(found(classes, { namedQueries: query({ disable_cache_reads: "true", required_resolver_tags: "a,b" }) })).toEqual([]);
});

test("silent while parts of the project could not be read", () => {
  expect(checkGraph(graphOf({ User: "id lonely" }, { diagnostics: [{ code: 102 }] }))).toEqual([]);
});

describe("windows", () => {
  test("are named as they are written", () => {
    const classes = { User: "id score late__3600__ late__86400__ account_id account->Account", Account: "id late__86400__" };
    const resolvers = [
      resolver("r.score: user.account.late__86400__ -> user.score"),
      resolver("r.hour: user.late__86400__ -> user.late__3600__"),
      resolver("r.day: user.late__3600__ -> user.late__86400__"),
    ];
    const namedQueries = [{ name: "q", inputs: ["user.id"], outputs: ["user.account.late__86400__"] }];
    const offline = resolver("r.past: account.id -> account.late__86400__", { kind: ResolverKind.OFFLINE });
    const findings = [
      ...checkGraph(graphOf(classes, { resolvers, namedQueries })),
      ...checkGraph(graphOf(classes, { resolvers: [...resolvers, offline] })),
    ];
    expect([...new Set(findings.map(({ code }) => code))].sort()).toEqual([160, 161, 164]);
    const texts = findings.flatMap(({ message, label, hint, related }) => [message, label, hint, ...related.map((one) => one.message)]);
    expect(texts.filter((text) => text?.includes("__"))).toEqual([]);
    expect(texts).toContain(
      "cycle: user.late[1h] -> user.late[1d] -> user.late[1h]; each of these features is computed only from the next",
    );
  });

  test("of one feature have what they need said once", () => {
    const graph = graphOf({ User: "id late__3600__ late__86400__ account_id account->Account", Account: "id balance" });
    const expression = create(ExpressionSchema, { node: { case: "feature", value: { path: ["account", "balance"] } } });
    const dtype = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.INT64 } });
    for (const feature of featuresOf(graph)) {
      if (feature.kind.case !== "scalar") continue;
      feature.kind.value.dtype = dtype;
      if (!feature.name.startsWith("late")) continue;
      Object.assign(feature.kind.value, { expression, windowedBase: "user.late" });
      feature.span = spans("features.py");
    }
    expect(shown(checkGraph(graph)).filter(({ rule }) => rule === "W160")).toEqual([
      {
        rule: "W160",
        at: "features.py:1:1-1:2",
        message:
          "no resolver or default computes account.balance, which user.late reads as user.account.balance: only queries that give it as an input can run it",
        label: "needs account.balance",
      },
    ]);
  });
});

describe("193", () => {
  const classes = { User: "id old__3600__ old__86400__ score twice account_id account->Account", Account: "id balance" };
  const deprecatedGraph = (...more: Parameters<typeof graphOf>[1][]) => {
    const graph = graphOf(classes, ...more);
    for (const feature of featuresOf(graph)) {
      if (feature.name.startsWith("old") && feature.kind.case === "scalar") feature.kind.value.windowedBase = "user.old";
      feature.deprecated = feature.name.startsWith("old") || feature.name === "balance";
      if (feature.name === "balance") feature.description = `Use ${"x".repeat(300)}\nsecond line`;
    }
    return graph;
  };
  const said = (graph: ReturnType<typeof graphOf>) => checkGraph(graph).flatMap(({ code, message }) => (code === 193 ? [message] : []));

  test("inputs, outputs and queries that use one are told, once for all its windows", () => {
    const resolvers = [
      resolver("r.reads: user.old__3600__, user.old__86400__, user.account.balance -> user.score"),
      resolver("r.gives: user.id -> user.old__3600__"),
    ];
    const namedQueries = [{ name: "q", version: "1.0.0", inputs: ["user.id"], outputs: ["user.account.balance"] }];
    const long = `which is deprecated: Use ${"x".repeat(193)}...`;
    expect(said(deprecatedGraph({ resolvers, namedQueries }))).toEqual([
      `named query 'q 1.0.0' uses account.balance, ${long}`,
      "r.reads uses user.old, which is deprecated",
      `r.reads uses account.balance, ${long}`,
      "r.gives uses user.old, which is deprecated",
    ]);
  });

  test("an expression is told, but for that of a feature that is deprecated itself", () => {
    const graph = deprecatedGraph();
    const expression = create(ExpressionSchema, { node: { case: "feature", value: { path: ["old__3600__"] } } });
    for (const feature of featuresOf(graph))
      if (feature.kind.case === "scalar") {
        feature.kind.value.dtype = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.INT64 } });
        if (["twice", "old__86400__"].includes(feature.name)) feature.kind.value.expression = expression;
      }
    expect(said(graph)).toEqual(["user.twice uses user.old, which is deprecated"]);
  });

  test("nothing is said where nothing is deprecated", () => {
    expect(said(graphOf(classes, { resolvers: [resolver("r.gives: user.id -> user.old__3600__")] }))).toEqual([]);
  });
});
