import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ExpressionSchema, type Feature, OutputShape, ResolverKind } from "../../gen/svc/v1/graph_pb.ts";
import { msToDuration } from "../../src/domain/proto-time.ts";
import { providersOf } from "../../src/domain/providers.ts";
import { graphOf, resolver } from "./build-graph.ts";

const graph = graphOf(
  { User: "id name= team->Team txns", Team: "id" },
  {
    resolvers: [
      resolver("plain: user.id -> user.name"),
      resolver("all -> user.name", { total: true }),
      resolver("tagged: user.id -> user.name", { tags: ["fast"] }),
      resolver("late: user.id -> user.name", { kind: ResolverKind.OFFLINE }),
      resolver("elsewhere: user.id -> user.name", { environments: ["staging"] }),
      resolver("fill: user.id -> team.id", { outputShape: OutputShape.RELATION, relation: "user.txns" }),
      resolver("star ->", { body: { case: "sql", value: { source: "pg", namespace: "team", star: true } } }),
    ],
  },
);
const featureOf = (fqn: string): Feature => {
  const found = graph.featureSets.flatMap(({ features }) => features).find((one) => one.fqn === fqn);
  if (!found) throw new Error(`no feature ${fqn}`);
  return found;
};
const names = (feature: Feature) =>
  providersOf(graph, feature, "default").map(({ kind, resolver: name, usable }) => `${usable ? "" : "not "}${name || kind}`);

describe("the providers of a feature", () => {
  test("are by tags, then those of all rows, the default, and at the end what no query takes", () => {
    expect(names(featureOf("user.name"))).toEqual(["tagged", "all", "plain", "default", "not late", "not elsewhere"]);
    const reasons = Object.fromEntries(
      providersOf(graph, featureOf("user.name"), "default").map((one) => [one.resolver || one.kind, one.reason]),
    );
    expect(reasons.late).toBe("it is offline only");
    expect(reasons.elsewhere).toBe("it exists in the environments staging, not in default");
    expect(providersOf(graph, featureOf("user.name"), "staging").some((one) => one.resolver === "elsewhere" && one.usable)).toBe(true);
  });

  test("begin with the online store where it may answer", () => {
    const stored = { ...featureOf("user.name"), maxStaleness: msToDuration(60_000) } as Feature;
    expect(names(stored)[0]).toBe("onlineStore");
    const { kind } = stored;
    if (kind.case !== "scalar") throw new Error("it is a value");
    expect(names({ ...stored, kind: { ...kind, value: { ...kind.value, storeOnline: false } } } as Feature)[0]).toBe("tagged");
  });

  test("of an expression are no resolvers, of relations joins and what fills them, of a select * what it may give", () => {
    const { kind, ...name } = featureOf("user.name");
    if (kind.case !== "scalar") throw new Error("it is a value");
    const computed = { ...name, kind: { ...kind, value: { ...kind.value, expression: create(ExpressionSchema) } } } as Feature;
    expect(names(computed).slice(0, 2)).toEqual(["expression", "default"]);
    expect(names(computed)).toContain("not plain");
    expect(names(featureOf("user.team"))).toEqual(["join"]);
    expect(names(featureOf("team.id"))).toEqual(["star"]);
  });

  test("are streams too, which queries read through the online store only", () => {
    const streamed = graphOf({ User: "id name" }, { streamResolvers: [{ fqn: "m.on_user", outputs: ["user.id", "user.name"] }] });
    const name = streamed.featureSets[0]?.features.find(({ fqn }) => fqn === "user.name") as Feature;
    const [only, ...others] = providersOf(streamed, name, "default");
    expect(others).toEqual([]);
    expect(only).toMatchObject({ kind: "resolver", resolver: "m.on_user", usable: false });
    expect(only?.reason).toContain("without max_staleness");
    const stored = { ...name, maxStaleness: msToDuration(60_000) } as Feature;
    expect(providersOf(streamed, stored, "default").map(({ kind, reason }) => [kind, reason])).toEqual([
      ["onlineStore", "while the stored value is at most 1m old"],
      ["resolver", "messages run it, and the online store has what it gives"],
    ]);
  });
});
