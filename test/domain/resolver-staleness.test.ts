import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { SpanSchema } from "../../gen/svc/v1/error_pb.ts";
import { type Feature, type FeatureSet, OutputShape, type Resolver, ResolverSchema } from "../../gen/svc/v1/graph_pb.ts";
import { durationToMs, msToDuration } from "../../src/domain/proto-time.ts";
import { settleStaleness } from "../../src/domain/resolver-staleness.ts";
import { featureClass } from "../server/query/graphs.ts";

const HOUR = 3_600_000;

function users(): FeatureSet {
  return featureClass("user", {
    id: "int",
    name: "str",
    age: "int",
    kept: { type: "int", stale: "1h" },
    never: { type: "int", stale: "0s" },
  });
}

function resolver(fqn: string, outputs: readonly string[], hours: number | undefined, more: Partial<Resolver> = {}): Resolver {
  const span = { file: `${fqn}.py`, line: 4, column: 2, endLine: 4, endColumn: 9 };
  return create(ResolverSchema, {
    ...{ fqn, outputs: [...outputs], span: create(SpanSchema, { ...span, line: 9 }) },
    ...(hours === undefined ? {} : { maxStaleness: msToDuration(hours * HOUR), maxStalenessSpan: create(SpanSchema, span) }),
    ...(more as object),
  });
}

function stalenessOf(sets: readonly FeatureSet[]): Record<string, number> {
  const stated = sets
    .flatMap(({ features }) => features)
    .filter((one): one is Feature & Required<Pick<Feature, "maxStaleness">> => !!one.maxStaleness);
  return Object.fromEntries(stated.map(({ maxStaleness, name }) => [name, durationToMs(maxStaleness) / HOUR]));
}

describe("the staleness that a resolver states", () => {
  test("is that of its outputs that state none, but the key", () => {
    const featureSets = [users()];
    const settled = settleStaleness({
      featureSets,
      resolvers: [resolver("m.a", ["user.id", "user.name", "user.kept"], 1), resolver("m.b", ["user.age"], undefined)],
    });
    expect(settled.diagnostics).toEqual([]);
    expect(stalenessOf(settled.featureSets)).toEqual({ name: 1, kept: 1, never: 0 });
    expect(stalenessOf(featureSets)).toEqual({ kept: 1, never: 0 });
  });

  test("leaves classes alone that no resolver says anything of", () => {
    const featureSets = [users(), featureClass("bank", { id: "int", tier: "str" })];
    expect(settleStaleness({ featureSets, resolvers: [resolver("m.a", ["user.name"], undefined)] }).featureSets).toBe(featureSets);
    const settled = settleStaleness({ featureSets, resolvers: [resolver("m.a", ["user.name"], Number.POSITIVE_INFINITY)] });
    expect(settled.featureSets[1]).toBe(featureSets[1] as FeatureSet);
    expect(stalenessOf(settled.featureSets)).toEqual({ name: Number.POSITIVE_INFINITY, kept: 1, never: 0 });
  });

  test.each([
    ["user.kept", "m.a has max_staleness 1d, and user.kept, which it gives, has 1h: leave one of them out"],
    ["user.never", "m.a has max_staleness 1d, and user.never, which it gives, has 0s: leave one of them out"],
  ])("contradicts %s, which has its own", (fqn, message) => {
    const { diagnostics } = settleStaleness({ featureSets: [users()], resolvers: [resolver("m.a", [fqn], 24)] });
    expect(diagnostics.map(({ code, message: said, span }) => [code, said, span?.line])).toEqual([[199, message, 4]]);
  });

  test("contradicts that of another resolver, and two that are the same do not", () => {
    const rivals = [resolver("m.a", ["user.name"], 24), resolver("m.b", ["user.name"], 1), resolver("m.c", ["user.name"], 24)];
    const { diagnostics, featureSets } = settleStaleness({ featureSets: [users()], resolvers: rivals });
    expect(diagnostics.map(({ message }) => message)).toEqual([
      "m.b has max_staleness 1h and m.a has 1d, and both give user.name: state it once, with the feature",
    ]);
    expect(diagnostics[0]?.related[0]?.span?.file).toBe("m.a.py");
    expect(stalenessOf(featureSets).name).toBe(24);
  });

  test("is none of a relation's rows, nor of columns that nobody knows", () => {
    const relation = resolver("m.a", ["txn.id"], 1, { outputShape: OutputShape.RELATION, relation: "user.txns" });
    const star = resolver("m.b", [], 1, { body: { case: "sql", value: { star: true } } } as never);
    const { diagnostics } = settleStaleness({ featureSets: [users()], resolvers: [relation, star] });
    expect(diagnostics.map(({ message }) => message)).toEqual([
      "m.a gives rows of user.txns, which are stored by the max_staleness of the relation: write it in has_many(...)",
      "which features `*` gives is known to the database alone: name the columns, or write max_staleness with the features",
    ]);
  });
});
