/**
 * The analyzer on has-many relations, expressions and windows: what they become in the graph, and
 * what is said of unsound ones.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import type { Span } from "../../gen/svc/v1/error_pb.ts";
import { type Expression, type Feature, type Graph, GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import type { Value } from "../../gen/svc/v1/value_pb.ts";
import { AGGREGATIONS } from "../../src/domain/expressions/aggregations.ts";
import { FUNCTIONS } from "../../src/domain/expressions/functions.ts";
import { analyzeFixture, FIXTURES, placed } from "./analyze.ts";
import { EXPECTED_RELATION_FINDINGS } from "./expected-relations.ts";
import { INTERPRETERS, SDK_ROOT } from "./interpreters.ts";

setDefaultTimeout(300_000);

const { graph } = await analyzeFixture("market", { python: INTERPRETERS[0]?.path });

function featureOf(fqn: string): Feature {
  const found = graph.featureSets.flatMap((set) => set.features).find((feature) => feature.fqn === fqn);
  if (!found) throw new Error(`no feature ${fqn}`);
  return found;
}

function scalarOf(fqn: string) {
  const { kind } = featureOf(fqn);
  if (kind.case !== "scalar") throw new Error(`${fqn} is no scalar`);
  return kind.value;
}

function shownValue({ kind }: Value): string {
  if (kind.case === "listValue") return `[${kind.value.values.map(shownValue).join(", ")}]`;
  return kind.case === "stringValue" ? JSON.stringify(kind.value) : String(kind.value);
}

/** An expression as text. */
function shown({ node }: Expression): string {
  switch (node.case) {
    case "literal":
      return shownValue(node.value);
    case "feature":
      return `${"^".repeat(node.value.scope)}${node.value.path.join(".")}`;
    case "call":
      return `${node.value.function}(${node.value.arguments.map(shown).join(", ")})`;
    case "aggregation": {
      const { path, filters, column, function: name, arguments: constants, key } = node.value;
      const items = [...(column ? [`column ${shown(column)}`] : []), ...filters.map(shown)];
      return `${path.join(".")}[${items.join("; ")}].${name}(${[...(key ? [`by ${shown(key)}`] : []), ...constants.map(shownValue)].join(", ")})`;
    }
    case "windowStart":
      return "<window start>";
    case "queryNow":
      return "<now>";
    default:
      throw new Error("an expression without a node");
  }
}

function expressionOf(fqn: string): Expression {
  const { expression } = scalarOf(fqn);
  if (!expression) throw new Error(`${fqn} has no expression`);
  return expression;
}

function covered(span: Span | undefined): string {
  if (!span) throw new Error("no span");
  const lines = readFileSync(join(FIXTURES, "market", span.file), "utf8")
    .split("\n")
    .slice(span.line - 1, span.endLine);
  const last = lines.length - 1;
  return lines
    .map((line, index) => line.slice(index === 0 ? span.column - 1 : 0, index === last ? span.endColumn - 1 : undefined))
    .join("\n");
}

/** The text that every part of an expression covers, outside in. */
function places(expression: Expression): string[] {
  const { node, span } = expression;
  const inner =
    node.case === "call"
      ? node.value.arguments
      : node.case === "aggregation"
        ? [node.value.column, ...node.value.filters, node.value.key]
        : [];
  return [covered(span), ...inner.flatMap((item) => (item ? places(item) : []))];
}

describe("has-many relations", () => {
  test("a sound project has no findings", () => {
    expect(graph.diagnostics.map((diagnostic) => diagnostic.message)).toEqual([]);
  });

  test("joins: inferred from the other class's key, spelt out, over several columns, mirrored", () => {
    const relation = (fqn: string) => {
      const { kind } = featureOf(fqn);
      if (kind.case !== "hasMany" && kind.case !== "hasOne") throw new Error(`${fqn} is no relation`);
      return [kind.case, kind.value.foreignNamespace, ...kind.value.join.map((key) => `${key.local} = ${key.foreign}`)];
    };
    expect(relation("user.txns")).toEqual(["hasMany", "txn", "user.id = txn.user_id"]);
    expect(relation("txn.user")).toEqual(["hasOne", "user", "txn.user_id = user.id"]);
    expect(relation("user.logins")).toEqual(["hasMany", "login", "user.id = login.user_id"]);
    expect(relation("user.visits")).toEqual(["hasMany", "visit", "user.org = visit.org", "user.mail = visit.mail"]);
    expect(relation("visit.user")).toEqual(["hasOne", "user", "visit.org = user.org", "visit.mail = user.mail"]);
  });

  test("metadata, and staleness that is their own", () => {
    expect(featureOf("user.txns")).toMatchObject({ description: "What was bought", tags: ["people"] });
    expect(featureOf("user.txns").maxStaleness).toBeUndefined();
    expect(featureOf("user.logins")).toMatchObject({ owner: "a@example.com", maxStaleness: { seconds: 300n } });
    expect(featureOf("user.visits").maxStaleness?.seconds).toBe(172800n);
  });
});

describe("expressions", () => {
  const cases: [fqn: string, text: string][] = [
    ["user.subtotal", "sub(total, mul(tax_paid, 2))"],
    ["user.similarity", "jaccard_similarity(lower(org), lower(mail))"],
    ["user.city", "upper(address.city)"],
    ["user.n_big", "txns[gt(amount, 1000)].count()"],
    ["user.spent", "txns[column amount; and(not(cancelled), gt(amount, 0))].sum()"],
    ["user.mean", "txns[column amount].mean()"],
    ["user.cities", 'txns[column seller; is_in(kind, ["card", "cash"])].n_unique()'],
    ["user.sellers", "txns[column seller].approx_count_distinct()"],
    ["user.high", "txns[column amount].approx_percentile(0.95)"],
    ["user.top", "txns[column seller].approx_top_k(3)"],
    ["user.dearest", "txns[column seller; gt(amount, 9)].max_by(by mul(amount, 2))"],
    ["user.cheapest", "txns[column seller].min_by_n(by amount, 2)"],
    ["user.recent", "gt(fails__5400__, 3)"],
    ["user.risky", "txns[column gt(amount, 9); eq(cancelled, true)].any()"],
    ["user.small", "txns[column lt(amount, 9)].all()"],
    ["user.code", "to_string(round(total, 1))"],
    ["txn.share", "div(amount, user.spent)"],
  ];
  for (const [fqn, text] of cases) test(fqn, () => expect(shown(expressionOf(fqn))).toBe(text));

  test("every part knows its place", () => {
    expect(places(expressionOf("user.subtotal"))).toEqual(["_.total - _.tax * 2", "_.total", "_.tax * 2", "_.tax", "2"]);
    expect(places(expressionOf("user.similarity")).slice(1, 4)).toEqual(["F.lower(_.org)", "_.org", "F.lower(_.mail)"]);
    expect(places(expressionOf("user.spent"))).toEqual([
      "_.txns[_.amount, ~_.cancelled & (0 < _.amount)].sum()",
      "_.amount",
      "~_.cancelled & (0 < _.amount)",
      "~_.cancelled",
      "_.cancelled",
      "0 < _.amount",
      "_.amount",
      "0",
    ]);
    expect(places(expressionOf("user.cities")).slice(2)).toEqual(['_.kind.isin(["card", "cash"])', "_.kind", '["card", "cash"]']);
    expect(places(expressionOf("user.dearest")).slice(-3)).toEqual(["_.amount * 2", "_.amount", "2"]);
    expect(places(expressionOf("user.cheapest")).at(-1)).toBe("_.amount");
    expect(places(expressionOf("user.fails__600__")).at(-1)).toBe("_.svc_now");
    expect(places(expressionOf("user.code"))).toEqual(["round(_.total, 1).cast(str)", "round(_.total, 1)", "_.total", "1"]);
  });

  test("staleness and the other options stand beside", () => {
    expect(featureOf("user.similarity").maxStaleness?.seconds).toBe(86400n);
    expect(featureOf("user.subtotal").maxStaleness?.seconds).toBe(3600n);
  });
});

describe("windows", () => {
  test("one feature per window, in the order of definition", () => {
    const windowed = graph.featureSets.flatMap((set) =>
      set.features.flatMap(({ fqn, name, kind }) =>
        kind.case === "scalar" && kind.value.window ? [[fqn, name, kind.value.windowedBase, kind.value.window.seconds]] : [],
      ),
    );
    expect(windowed).toEqual([
      ["user.fails__600__", "fails__600__", "user.fails", 600n],
      ["user.fails__5400__", "fails__5400__", "user.fails", 5400n],
      ["user.fails__604800__", "fails__604800__", "user.fails", 604800n],
      ["user.fails__3153600000__", "fails__3153600000__", "user.fails", 3153600000n],
      ["user.rates__600__", "rates__600__", "user.rates", 600n],
      ["user.rates__604800__", "rates__604800__", "user.rates", 604800n],
      ["user.score__86400__", "score__86400__", "user.score", 86400n],
      ["user.score__172800__", "score__172800__", "user.score", 172800n],
    ]);
  });

  test("type, default and staleness are those of the whole; there is no feature of the bare name", () => {
    for (const window of [600, 5400, 604800, 3153600000]) {
      expect(scalarOf(`user.fails__${window}__`).defaultValue?.kind).toEqual({ case: "int64Value", value: 0n });
      expect(featureOf(`user.fails__${window}__`).maxStaleness?.seconds).toBe(600n);
    }
    expect(scalarOf("user.rates__600__").nullable).toBe(true);
    expect(featureOf("user.rates__600__").tags).toEqual(["rates", "people"]);
    expect(() => featureOf("user.fails")).toThrow();
  });

  test("expressions have the window's start, and windows of other features", () => {
    expect(shown(expressionOf("user.fails__600__"))).toBe("logins[eq(ok, false); gt(at, <window start>); le(at, <now>)].count()");
    expect(shown(expressionOf("user.rates__600__"))).toBe("div(fails__600__, add(1, fails__3153600000__))");
    expect(shown(expressionOf("user.rates__604800__"))).toBe("div(fails__604800__, add(1, fails__3153600000__))");
    expect(scalarOf("user.score__86400__").expression).toBeUndefined();
  });

  test("in resolvers: one window in any spelling, and the bare name for all", () => {
    const resolver = (name: string) => graph.resolvers.find(({ fqn }) => fqn === `resolvers.${name}`);
    const inputs = (name: string) =>
      resolver(name)?.inputs.map((input) => `${input.name}: ${input.kind.case === "feature" ? input.kind.value.path : input.kind.case}`);
    expect(inputs("some")).toEqual([
      "total: user.total",
      "fails__600__: user.fails__600__",
      "fails__5400__: user.fails__5400__",
      "fails__604800__: user.fails__604800__",
      "fails__3153600000__: user.fails__3153600000__",
      "one: user.fails__600__",
    ]);
    expect(inputs("seller")).toEqual(["id: txn.id", "fails: txn.user.fails__3153600000__"]);
    expect(resolver("every")?.outputs).toEqual(["user.score__86400__", "user.score__172800__"]);
    expect(resolver("some")?.outputs).toEqual(["user.org", "user.rates__604800__"]);
  });

  test("in named queries", () => {
    const query = graph.namedQueries[0];
    expect(query?.outputs).toEqual([
      "user.fails__600__",
      "user.fails__5400__",
      "user.fails__604800__",
      "user.fails__3153600000__",
      "user.rates__600__",
      "user.rates__604800__",
      "user.txns.amount",
    ]);
    expect(Object.keys(query?.staleness ?? {}).sort()).toEqual(["user.score__172800__", "user.score__86400__"]);
  });
});

describe("rules", () => {
  test.each(Object.entries(EXPECTED_RELATION_FINDINGS))("%s", async (fixture, expected) => {
    const { diagnostics } = (await analyzeFixture(fixture)).graph;
    expect(diagnostics.map((item) => [placed(fixture, item), item.message, item.label])).toEqual(expected.map((item) => [...item]));
  });

  test("120 and 121 spell the join out", async () => {
    const hints = await Promise.all(
      ["120-has-many", "121-has-many"].map(async (name) => (await analyzeFixture(name)).graph.diagnostics[0]?.hint),
    );
    expect(hints).toEqual([
      'txns: "DataFrame[Txn]" = has_many(lambda: Txn.user_id == User.id)',
      'flights: "DataFrame[Flight]" = has_many(lambda: Flight.origin == Airport.code)',
    ]);
  });

  test("what an expression makes no sense of is left out of the graph", async () => {
    const { featureSets } = (await analyzeFixture("132-columns")).graph;
    const computed = featureSets.flatMap((set) => set.features.filter(({ kind }) => kind.case === "scalar" && kind.value.expression));
    expect(computed.map((feature) => feature.fqn)).toEqual(["user.fine"]);
  });
});

describe("what is stored where", () => {
  test("a feature's own word comes before its class's; a relation has its own alone", async () => {
    const { graph } = await analyzeFixture("storing");
    expect(graph.diagnostics.map((diagnostic) => diagnostic.message)).toEqual([]);
    const said = graph.featureSets.flatMap((set) =>
      set.features.map(({ fqn, kind, maxStaleness }) => {
        const { storeOnline, storeOffline, cacheNulls } = kind.case === "scalar" ? kind.value : {};
        return [fqn, Number(maxStaleness?.seconds ?? 0), storeOnline ?? true, storeOffline ?? true, cacheNulls ?? true];
      }),
    );
    expect(said.filter(([fqn]) => String(fqn).startsWith("user."))).toEqual([
      ["user.id", 0, true, false, true],
      ["user.plain", 3600, true, false, true],
      ["user.kept", 3600, false, true, true],
      ["user.some", 3600, true, false, false],
      ["user.txns", 0, true, true, true],
      ["user.young", 600, true, true, true],
      ["user.spent__86400__", 3600, false, false, true],
      ["user.spent__604800__", 3600, false, false, true],
    ]);
    const staleness = Object.entries(graph.namedQueries[0]?.staleness ?? {}).map(([path, duration]) => [path, Number(duration.seconds)]);
    expect(staleness.sort()).toEqual([
      ["user.plain", 0],
      ["user.txns", 300],
      ["user.young", 3600],
    ]);
  });
});

test("names of functions are those of the table", () => {
  const source =
    "import json, svc._analysis.function_names as n; print(json.dumps([list(n.AGGREGATIONS), sorted(n.ONE_COLUMN), sorted(n.CONDITIONS)]))";
  const child = Bun.spawnSync([INTERPRETERS.at(-1)?.path ?? "", "-B", "-c", source], { env: { PYTHONPATH: SDK_ROOT } });
  const [aggregations, oneColumn, conditions] = JSON.parse(child.stdout.toString()) as string[][];
  expect(aggregations).toEqual([...AGGREGATIONS.keys()]);
  expect(oneColumn).toEqual(
    [...AGGREGATIONS.values()]
      .filter((item) => item.needsColumn)
      .map((item) => item.name)
      .sort(),
  );
  const isCondition = (name: string) => FUNCTIONS.get(name)?.overloads.every((overload) => /-> bool\??$/.test(overload.signature.text));
  expect(conditions).toEqual([...FUNCTIONS.keys()].filter(isCondition).sort());
});

test.each(INTERPRETERS.slice(0, -1).map((item) => [item.version, item.path] as const))(
  "Python %s says the same as the newest",
  async (_, python) => {
    const plain = (one: Graph) => Buffer.from(toBinary(GraphSchema, { ...one, pythonVersion: "" })).toString("hex");
    for (const project of ["market", "storing", ...Object.keys(EXPECTED_RELATION_FINDINGS)]) {
      const [old, newest] = await Promise.all([analyzeFixture(project, { python }), analyzeFixture(project)]);
      expect([project, plain(old.graph)]).toEqual([project, plain(newest.graph)]);
    }
  },
  600_000,
);
