import { describe, expect, test } from "bun:test";
import type { ExpressionJson, FeatureJson, GraphJson } from "../../gen/svc/v1/graph_pb.ts";
import { foldClasses, lineageOf } from "../../src/domain/lineage.ts";
import { LineageNeighbours, partOfLineage } from "../../src/domain/lineage-choice.ts";

const feature = (fqn: string, kind: Partial<FeatureJson> = { scalar: {} }): FeatureJson => ({
  ...{ fqn, namespace: fqn.split(".")[0] ?? "", name: fqn.split(".")[1] ?? "" },
  ...kind,
});
const of = (...path: string[]): ExpressionJson => ({ feature: { path } });
const GRAPH: GraphJson = {
  featureSets: [
    {
      namespace: "user",
      features: [
        feature("user.id"),
        feature("user.bank_id"),
        feature("user.bank", { hasOne: { foreignNamespace: "bank", join: [{ local: "user.bank_id", foreign: "bank.id" }] } }),
        feature("user.txns", { hasMany: { foreignNamespace: "txn", join: [{ local: "user.id", foreign: "txn.user_id" }] } }),
        feature("user.limit"),
        feature("user.spent__600__", {
          scalar: {
            expression: {
              call: {
                function: "add",
                arguments: [
                  of("limit"),
                  {
                    aggregation: {
                      path: ["txns"],
                      column: of("amount"),
                      // `_.at` is of the child row, and a bracket further out of the user.
                      filters: [{ call: { arguments: [of("at"), { feature: { path: ["limit"], scope: 1 } }] } }],
                    },
                  },
                ],
              },
            },
          },
        }),
        feature("user.risk"),
      ],
    },
    { namespace: "txn", features: ["txn.id", "txn.user_id", "txn.amount", "txn.at"].map((fqn) => feature(fqn)) },
    { namespace: "bank", features: ["bank.id", "bank.title"].map((fqn) => feature(fqn)) },
  ],
  resolvers: [
    {
      fqn: "r.risk",
      inputs: [
        { feature: { path: "user.bank.title" } },
        { rows: { path: "user.txns", columns: ["txn.amount"], filters: [of("at")] } },
        { now: {} },
      ],
      outputs: ["user.risk"],
    },
    { fqn: "banks", sql: { source: "pg", parameters: [{ path: "bank.id" }, { path: "" }] }, outputs: ["bank.title"] },
  ],
  namedQueries: [{ name: "risk", version: "2", outputs: ["user.risk", "user.bank.title", "gone.x"] }],
};
const LINEAGE = lineageOf(GRAPH);

describe("lineage", () => {
  test("goes through relations, expressions, windows, resolvers, sources and named queries", () => {
    const needs = (id: string) => new LineageNeighbours(LINEAGE).before(id).toSorted();
    expect(needs("feature:user.spent__600__")).toEqual(["feature:txn.amount", "feature:txn.at", "feature:user.limit", "feature:user.txns"]);
    expect(needs("resolver:r.risk")).toEqual([
      "feature:bank.title",
      "feature:txn.amount",
      "feature:txn.at",
      "feature:user.bank",
      "feature:user.txns",
    ]);
    expect(needs("feature:user.bank")).toEqual(["feature:bank.id", "feature:user.bank_id"]);
    expect(needs("resolver:banks")).toEqual(["feature:bank.id", "source:pg"]);
    expect(needs("query:risk 2")).toEqual(["feature:bank.title", "feature:user.bank", "feature:user.risk"]);
    expect(new LineageNeighbours(LINEAGE).after("feature:bank.title")).toEqual(["resolver:r.risk", "query:risk 2"]);
  });

  test("has the part around a node, over so many edges", () => {
    const around = (depth: number) =>
      partOfLineage(LINEAGE, { on: ["feature:user.risk"], direction: "both", depth }, { nodes: 99, edges: 99 })
        .nodes.map(({ id }) => id)
        .toSorted();
    expect(around(0)).toEqual(["feature:user.risk"]);
    expect(around(1)).toEqual(["feature:user.risk", "query:risk 2", "resolver:r.risk"]);
    expect(around(99)).toContain("source:pg");
    // What has nothing to do with it is left out.
    expect(around(99)).not.toContain("feature:user.limit");
  });

  test("folds classes, but for those that are open", () => {
    const folded = foldClasses(LINEAGE);
    expect([...folded.nodes.keys()].toSorted()).toEqual([
      ...["class:bank", "class:txn", "class:user", "query:risk 2", "resolver:banks", "resolver:r.risk", "source:pg"],
    ]);
    expect(new LineageNeighbours(folded).before("class:user").toSorted()).toEqual(["class:bank", "class:txn", "resolver:r.risk"]);
    const open = foldClasses(LINEAGE, new Set(["bank"]));
    expect(open.nodes.has("feature:bank.title") && !open.nodes.has("class:bank")).toBe(true);
  });

  test("of an empty graph is empty", () => {
    expect(lineageOf({})).toEqual({ nodes: new Map(), edges: [] });
  });
});
