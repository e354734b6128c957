import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { SpanSchema } from "../../../gen/svc/v1/error_pb.ts";
import { type Expression, type Graph, NamedQuerySchema, ResolverSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { AGGREGATIONS } from "../../../src/domain/expressions/aggregations.ts";
import { checkExpression, checkGraphExpressions } from "../../../src/domain/expressions/check.ts";
import { FUNCTIONS } from "../../../src/domain/expressions/functions.ts";
import { PRIMITIVES } from "../../../src/domain/expressions/types.ts";
import { checkGraph } from "../../../src/domain/graph-rules.ts";
import { toProtoValue } from "../../../src/domain/proto-value.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { typeName } from "../../../src/domain/value.ts";
import { shown } from "../../harness/marked.ts";
import {
  aggregate,
  call,
  constant,
  graphOfTypes,
  now,
  ref,
  scopeOf,
  typeOf,
  windowStart,
  withArguments,
} from "../../server/expressions/build-expression.ts";

const classes = {
  User: "id:int total:float tax:float? name:str n:int ok:bool born:date txns=>txn account->account?",
  Txn: "id:int amount:float? kind:str at@:datetime user->user",
  Account: "id:int rating:int bank->bank txns=>txn",
  Bank: "id:int country:str",
};

/** Puts an expression at a place of its own. */
function placed(expression: Expression, column: number): Expression {
  expression.span = create(SpanSchema, { file: "features.py", line: 7, column, endLine: 7, endColumn: column + 3 });
  return expression;
}

/** The graph with features that are expressions: `name: type` or `name: type?` in class User. */
function withExpressions(features: Readonly<Record<string, Expression>>, change?: (graph: Graph) => void): Graph {
  const words = Object.keys(features).map((declared) => declared.replace(": ", ":"));
  const graph = graphOfTypes({ ...classes, User: [classes.User, ...words].join(" ") });
  for (const [declared, expression] of Object.entries(features)) {
    const feature = graph.featureSets[0]?.features.find(({ name }) => name === declared.split(":")[0]);
    if (feature?.kind.case === "scalar") feature.kind.value.expression = expression;
  }
  change?.(graph);
  return graph;
}

const found = (features: Readonly<Record<string, Expression>>) => shown(checkGraphExpressions(withExpressions(features)));
const message = (declared: string, expression: Expression) =>
  found({ [declared]: expression }).map(({ rule, message: text }) => `${rule} ${text}`);
const mean = aggregate("txns", "mean", ref("amount"));

describe("130", () => {
  test("an unknown feature, with its place, the class and the closest names", () => {
    expect(found({ "x: float": call("sub", ref("total"), placed(ref("taxx"), 24)) })).toEqual([
      { rule: "E130", at: "features.py:7:24-7:27", message: "User has no feature 'taxx'; did you mean 'tax'?", label: "no such feature" },
    ]);
  });

  test("the class is that of the innermost brackets, and of the relation", () => {
    expect(message("x: int", aggregate("txns", "count", undefined, call("gt", ref("total"), constant(1))))).toEqual([
      "E130 Txn has no feature 'total'",
    ]);
    expect(message("x: int", ref("account.ratin"))).toEqual(["E130 Account has no feature 'ratin'; did you mean 'rating'?"]);
    expect(message("x: int", ref("account.bank.contry"))[0]).toContain("Bank has no feature 'contry'; did you mean 'country'?");
    expect(message("x: int", aggregate("txs", "count"))).toEqual(["E130 User has no feature 'txs'; did you mean 'txns'?"]);
  });

  test("what is no value, and what is no rows", () => {
    expect(message("x: int", ref("txns"))[0]).toContain("_.txns is any number of rows, not a value");
    expect(message("x: int", ref("account"))[0]).toContain("_.account is a row, not a value");
    expect(message("x: int", ref("n.y"))).toEqual(["E130 user.n is a value, not a relation: it has no feature 'y'"]);
    expect(message("x: int", aggregate("account", "count"))[0]).toContain("_.account is no has-many relation");
    expect(message("x: int", ref("n", 1))[0]).toContain("lies outside of all brackets");
  });

  test("a windowed feature without a window, and the start of a window outside of one", () => {
    const graph = withExpressions({ "x: int": ref("fails") }, ({ featureSets }) => {
      const feature = featureSets[0]?.features.find(({ name }) => name === "n");
      if (feature?.kind.case !== "scalar") return;
      feature.name = "fails__600__";
      feature.kind.value.windowedBase = "user.fails";
    });
    expect(shown(checkGraphExpressions(graph)).map(({ message: text }) => text)).toEqual([
      "User.fails has one value per window: fails[10m]",
    ]);
    expect(message("x: int", aggregate("txns", "count", undefined, call("gt", ref("at"), windowStart)))).toEqual([
      "E130 _.svc_window is known in windowed features only",
    ]);
  });
});

describe("131", () => {
  test("the expression against the annotation", () => {
    expect(found({ "x: int": placed(call("add", ref("total"), ref("n")), 12) })).toEqual([
      {
        rule: "E131",
        at: "features.py:7:12-7:15",
        message: "the expression of user.x is float, and its annotation is int",
        label: "float",
      },
    ]);
    expect(checkGraphExpressions(withExpressions({ "x: int": ref("total") }))[0]?.hint).toBe(
      "Wrap it in F.round, F.floor or F.ceil, or annotate float.",
    );
    expect(message("x: float", ref("n"))).toEqual([]);
    expect(message("x: str?", constant(null))).toEqual([]);
    expect(message("x: list[str]", ref("name"))).toEqual(["E131 the expression of user.x is str, and its annotation is list[str]"]);
  });

  test("arguments against the function", () => {
    expect(message("x: float", placed(call("sqrt", ref("name")), 3))).toEqual(["E131 sqrt cannot take (str); it takes (float)"]);
    expect(message("x: bool", call("eq", ref("name"), ref("n")))[0]).toContain("eq cannot take (str, int)");
    expect(message("x: float", call("add", ref("total")))[0]).toContain("add cannot take (float)");
    expect(message("x: bool", call("lt", ref("born"), now))[0]).toContain("lt cannot take (date, datetime)");
    expect(message("x: bool", call("and", ref("ok"), ref("n")))[0]).toContain("and cannot take (bool, int); it takes (bool, bool)");
  });

  test("constants that can never be right", () => {
    expect(message("x: bool", placed(call("regexp_like", ref("name"), constant("(")), 5))).toEqual([
      `E131 the pattern "(" is not understood: a '(' without its ')'`,
    ]);
    expect(message("x: date", call("date_trunc", constant("fortnight"), ref("born")))[0]).toContain('unknown unit "fortnight"');
    expect(message("x: list[str]", call("split", ref("name"), constant("")))).toEqual(["E131 split with an empty separator"]);
    expect(message("x: bool", call("regexp_like", ref("name"), constant("[a-c]+$")))).toEqual([]);
  });

  test("a filter that is no condition, and a column that cannot be aggregated", () => {
    expect(message("x: int", aggregate("txns", "count", undefined, ref("kind")))).toEqual(["E131 a filter must be bool, and this is str"]);
    expect(message("x: float", aggregate("txns", "sum", ref("kind")))[0]).toContain("sum() cannot aggregate str; it takes int, float");
  });

  test("arguments of aggregations: their number, their values, and what has no order", () => {
    const of = (name: string, column: string, key?: string, ...constants: FeatureValue[]) =>
      withArguments(aggregate("txns", name, ref(column)), key === undefined ? undefined : ref(key), ...constants);
    expect(message("x: float?", of("approx_percentile", "amount", undefined, 0.5))).toEqual([]);
    expect(message("x: list[str]", of("max_by_n", "kind", "at", 3))).toEqual([]);
    expect(message("x: float?", of("approx_percentile", "amount"))).toEqual([
      "E131 approx_percentile(quantile) takes one argument, and 0 are given",
    ]);
    expect(message("x: float?", of("mean", "amount", undefined, 1))).toEqual(["E131 mean() takes no arguments, and 1 is given"]);
    expect(message("x: list[str]", of("max_by_n", "kind", "at"))).toEqual(["E131 max_by_n(key, n) takes 2 arguments, and 1 is given"]);
    expect(message("x: float?", of("approx_percentile", "amount", undefined, 95))).toEqual([
      "E131 approx_percentile(): quantile must be a number from 0 to 1, such as 0.95",
    ]);
    expect(message("x: list[str]", of("approx_top_k", "kind", undefined, 0))).toEqual([
      "E131 approx_top_k(): k must be a whole number from 1 to 100",
    ]);
    expect(message("x: str?", of("approx_percentile", "kind", undefined, 0.5))).toEqual([
      "E131 approx_percentile() cannot aggregate str; it takes int, float, timedelta",
    ]);
    const byTruth = withArguments(aggregate("txns", "max_by", ref("kind")), call("gt", ref("amount"), constant(1)));
    expect(message("x: str?", byTruth)).toEqual([
      "E131 max_by() cannot order rows by bool; it takes int, float, str, date, datetime, timedelta, decimal",
    ]);
    expect(message("x: int?", of("max_by", "kind", "at"))).toEqual(["E131 the expression of user.x is str, and its annotation is int"]);
    expect(message("x: str", of("max_by", "kind", "at"))[0]).toContain("W136");
  });
});

describe("132", () => {
  test("an aggregation without a column", () => {
    expect(found({ "x: float": placed(aggregate("txns", "sum"), 15) })).toEqual([
      {
        rule: "E132",
        at: "features.py:7:15-7:18",
        message: "sum() needs exactly one column, and none is named; write _.txns[_.column].sum()",
        label: "exactly one column",
      },
    ]);
    expect(message("x: int", aggregate("txns", "count"))).toEqual([]);
    expect(message("x: str?", aggregate("txns", "max_by", ref("kind")))).toEqual([
      "E132 max_by() needs what rows are ordered by as its first argument; write _.txns[_.column].max_by(_.amount)",
    ]);
  });
});

describe("133", () => {
  test("an unknown function and an unknown aggregation", () => {
    expect(found({ "x: str": placed(call("lowr", ref("name")), 10) })).toEqual([
      {
        rule: "E133",
        at: "features.py:7:10-7:13",
        message: "there is no function 'lowr'; did you mean 'lower', 'floor' or 'hour'?",
        label: "no such function",
      },
    ]);
    expect(message("x: float", aggregate("txns", "average", ref("amount")))).toEqual(["E133 there is no aggregation 'average'"]);
    expect(message("x: float", aggregate("txns", "meen", ref("amount")))).toEqual([
      "E133 there is no aggregation 'meen'; did you mean 'mean' or 'min'?",
    ]);
  });
});

describe("136", () => {
  test("an aggregation that may be null", () => {
    expect(found({ "x: float": placed(mean, 9) })).toEqual([
      {
        rule: "W136",
        at: "features.py:7:9-7:12",
        message: "the expression of user.x may be null (mean() of no rows is), and the feature is not optional",
        label: "may be null",
      },
    ]);
    expect(message("x: float?", mean)).toEqual([]);
    expect(message("x: float", call("coalesce", mean, constant(0.5)))).toEqual([]);
    expect(message("x: float", aggregate("txns", "sum", ref("amount")))).toEqual([]);
  });

  test("an aggregation of rows whose own row may be missing", () => {
    const rows = aggregate("account.txns", "sum", ref("amount"));
    expect(message("x: float", rows)[0]).toContain("(the row that has _.account.txns may be missing)");
    expect(message("x: float?", rows)).toEqual([]);
  });

  test("a feature and a relation that may be null, and what makes null", () => {
    expect(message("x: float", call("add", ref("total"), ref("tax")))[0]).toContain("(user.tax may be)");
    expect(message("x: int", ref("account.rating"))[0]).toContain("(account.rating may be)");
    expect(message("x: int", call("null_if", ref("n"), constant(0)))[0]).toContain("(null_if may be)");
    expect(message("x: float", call("add", aggregate("txns", "std", ref("amount")), ref("total")))[0]).toContain(
      "std() of fewer than two rows is",
    );
  });

  test("a default takes the null", () => {
    const graph = withExpressions({ "x: float": mean }, ({ featureSets }) => {
      const feature = featureSets[0]?.features.find(({ name }) => name === "x");
      if (feature?.kind.case === "scalar") feature.kind.value.defaultValue = toProtoValue(0, PRIMITIVES.float);
    });
    expect(checkGraphExpressions(graph)).toEqual([]);
  });
});

test("several findings of one expression are all said", () => {
  expect(message("x: float", call("add", placed(ref("totl"), 1), placed(ref("taxx"), 9)))).toEqual([
    "E130 User has no feature 'totl'; did you mean 'total'?",
    "E130 User has no feature 'taxx'; did you mean 'tax'?",
  ]);
});

test("the filters of a resolver's rows", () => {
  const filters = [call("gt", ref("amont"), constant(1)), ref("kind")];
  const graph = withExpressions({});
  const span = { file: "r.py", line: 1, column: 1, endLine: 1, endColumn: 2 };
  const rows = { name: "rows", kind: { case: "rows" as const, value: { path: "user.txns", filters } } };
  graph.resolvers = [create(ResolverSchema, { fqn: "r.big", span, inputs: [rows] })];
  expect(shown(checkGraphExpressions(graph)).map(({ rule, at, message: text }) => `${rule} ${at} ${text}`)).toEqual([
    "E130 r.py:1:1-1:2 Txn has no feature 'amont'; did you mean 'amount'?",
    "E131 r.py:1:1-1:2 a filter must be bool, and this is str",
  ]);
});

test("163: what a filter of a resolver's rows reads is used", () => {
  const graph = withExpressions({});
  const filters = [call("eq", ref("kind"), constant("card"))];
  const rows = { path: "user.txns", columns: ["txn.amount"], filters };
  graph.resolvers = [
    create(ResolverSchema, { fqn: "r.big", inputs: [{ name: "rows", kind: { case: "rows", value: rows } }], outputs: ["user.total"] }),
  ];
  const orphans = shown(checkGraph(graph)).filter(({ rule }) => rule === "W163");
  expect(orphans.filter(({ message: text }) => text.includes("txn."))).toEqual([]);
  expect(shown(checkGraph(graph)).filter(({ rule }) => rule === "W160").length).toBe(2);
});

test("types of constants and lists", () => {
  const scope = { ...scopeOf(graphOfTypes(classes), "user"), isWindowed: true };
  const type = (expression: Expression) => typeName(checkExpression(expression, scope).type);
  expect(type(constant([1, 2.5], typeOf("list[float]")))).toBe("list[float]");
  expect(type(constant(["a", null]))).toBe("list[str]");
  expect(type(call("if_then_else", ref("ok"), constant(null), constant(1)))).toBe("int");
  expect(type(call("sub", now, windowStart))).toBe("timedelta");
  expect(type(aggregate("txns", "array_agg", ref("kind")))).toBe("list[str]");
  const holdsNull = (expression: Expression) => {
    const kind = checkExpression(expression, scope).type?.kind;
    return kind?.case === "list" && kind.value.elementNullable;
  };
  expect(holdsNull(call("array_reverse", constant(["a", null])))).toBe(true);
  expect(holdsNull(call("array_reverse", constant(["a", "b"])))).toBe(false);
});

describe("the graph's rules know expressions", () => {
  const rules = (features: Readonly<Record<string, Expression>>) =>
    shown(checkGraph(withExpressions(features)))
      .filter(({ message: text }) => /user\.[xyz]|txn\.amount/.test(text) && !text.startsWith("nothing computes"))
      .map(({ rule, message: text }) => `${rule} ${text}`);

  test("161: expressions in a circle", () => {
    expect(rules({ "x: int": ref("y"), "y: int": call("add", ref("x"), constant(1)) })).toEqual([
      "E161 cycle: user.x -> user.y -> user.x; each of these features is computed only from the next",
    ]);
    expect(rules({ "x: int": ref("n"), "y: int": ref("x") })).toEqual([]);
  });

  test("160: what is read of rows and computed by nothing", () => {
    expect(rules({ "x: float": aggregate("txns", "sum", ref("amount")) })).toEqual([
      "W160 no resolver or default computes txn.amount, which user.x reads as user.txns.amount: only queries that give it as an input can run it",
    ]);
  });

  test("160: a named query that needs what an expression cannot be computed from", () => {
    const graph = withExpressions({ "x: int": call("add", ref("n"), constant(1)) });
    const query = { name: "q", inputs: ["user.id"], outputs: ["user.x"] };
    graph.namedQueries = [create(NamedQuerySchema, query)];
    expect(shown(checkGraph(graph)).filter(({ rule }) => rule === "E160")[0]?.message).toBe(
      "named query 'q' cannot compute user.x from its inputs: user.x needs user.n; no resolver or default computes user.n",
    );
    graph.namedQueries = [create(NamedQuerySchema, { ...query, inputs: ["user.id", "user.n"] })];
    expect(shown(checkGraph(graph)).filter(({ rule }) => rule === "E160")).toEqual([]);
  });

  test("163: an expression is a provider, and uses what it reads", () => {
    const orphans = shown(checkGraph(withExpressions({ "x: int": ref("n") }))).filter(({ rule }) => rule === "W163");
    expect(orphans.some(({ message: text }) => / user\.[xn] /.test(text))).toBe(false);
    expect(orphans.some(({ message: text }) => text.includes("user.total"))).toBe(true);
  });
});

test("the table is documented: one sentence, an example that names the function or operator, no two families for a name", () => {
  for (const { name, doc, example, parameters, overloads } of FUNCTIONS.values()) {
    expect(doc).toMatch(/^[A-Z0-9e-].*\.$/s);
    expect(example).toMatch(/_\./);
    expect(parameters.length).toBeGreaterThan(0);
    expect(overloads.length).toBeGreaterThan(0);
    expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
  }
  for (const { doc } of AGGREGATIONS.values()) expect(doc).toMatch(/^[A-Z].*\.$/s);
});
