/**
 * DataFrames in signatures as the graph has them, on every supported Python: the operators in their
 * brackets are read from rewritten code.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Expression, type Graph, OutputShape } from "../../gen/svc/v1/graph_pb.ts";
import { analyzeFixture } from "./analyze.ts";
import { INTERPRETERS } from "./interpreters.ts";

setDefaultTimeout(300_000);

/** An expression in one line: `gt(amount, 100)`. */
function shown(expression: Expression): string {
  const { node } = expression;
  switch (node.case) {
    case "call":
      return `${node.value.function}(${node.value.arguments.map(shown).join(", ")})`;
    case "feature":
      return `${node.value.path.join(".")}${"^".repeat(node.value.scope)}`;
    case "literal": {
      const kind = node.value.kind;
      if (kind.case === "listValue") return `[${kind.value.values.map((value) => String(value.kind.value)).join(", ")}]`;
      return kind.case === "durationValue" ? `${kind.value.seconds}s` : String(kind.value);
    }
    default:
      return String(node.case);
  }
}

function resolverOf(graph: Graph, name: string) {
  const found = graph.resolvers.find((resolver) => resolver.fqn === `resolvers.${name}`);
  if (!found) throw new Error(`no resolver ${name}`);
  return found;
}

describe.each(INTERPRETERS.map((item) => [item.version, item.path] as const))("Python %s", async (_, python) => {
  const { graph } = await analyzeFixture("frames", { python });

  test("has nothing to say against it", () => {
    expect(graph.diagnostics.map((diagnostic) => diagnostic.message)).toEqual([]);
  });

  test("rows of a relation: columns, filters, how many", () => {
    const [big, rest] = resolverOf(graph, "count").inputs;
    if (big?.kind.case !== "rows" || rest?.kind.case !== "rows") throw new Error("no rows");
    expect(big.kind.value).toMatchObject({ path: "user.txns", columns: ["txn.amount", "txn.user.name"], limit: 50, optional: false });
    expect(big.kind.value.filters.map(shown)).toEqual([
      "and(and(and(not(is_null(ok)), eq(ok, true)), is_in(kind, [a, b])), not(le(amount, 100)))",
      "gt(at, sub(queryNow, 604800s))",
    ]);
    expect(rest.kind.value).toMatchObject({ path: "user.txns", columns: [], filters: [], limit: 0, optional: true });
    expect(resolverOf(graph, "count").outputShape).toBe(OutputShape.UNSPECIFIED);
  });

  test("tables", () => {
    const scores = resolverOf(graph, "scores");
    expect(scores.inputs.map((input) => [input.name, input.kind.case])).toEqual([
      ["users", "table"],
      ["now", "now"],
    ]);
    expect(scores.inputs[0]?.kind.value).toMatchObject({ columns: ["user.id", "user.count"] });
    expect(scores).toMatchObject({ outputs: ["user.id", "user.score"], outputShape: OutputShape.ROWS, total: false });
  });

  test("rows returned", () => {
    expect(resolverOf(graph, "everyone")).toMatchObject({ outputs: ["user.id", "user.name"], outputShape: OutputShape.ROWS, total: true });
    expect(resolverOf(graph, "bought")).toMatchObject({
      outputs: ["txn.id", "txn.amount", "txn.at"],
      outputShape: OutputShape.RELATION,
      relation: "user.txns",
    });
    expect(resolverOf(graph, "whole").outputs).toEqual(["txn.id", "txn.amount", "txn.ok", "txn.kind", "txn.at", "txn.user_id"]);
  });
});
