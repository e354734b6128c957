import { expect, test } from "bun:test";
import type { FeatureMetadataJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { featureSearchProblem, searchable, searchFeatures } from "../../../../src/ui/pages/define/feature-search.ts";
import { cachedFor, featureKind, featureType } from "../../../../src/ui/pages/define/feature-text.ts";
import { featureUses, shareText } from "../../../../src/ui/pages/define/feature-use.ts";

const feature = (fqn: string, more: Partial<FeatureMetadataJson["feature"]> = {}, resolvers: string[] = []): FeatureMetadataJson => ({
  feature: { fqn, scalar: { dtype: { primitive: "PRIMITIVE_TYPE_STRING" } }, ...more },
  resolvers,
});
const FEATURES = [
  feature("user.id", { scalar: { dtype: { primitive: "PRIMITIVE_TYPE_INT64" }, primary: true } }),
  feature("user.name", { owner: "Ann@example.com", tags: ["pii", "core"] }, ["resolvers.get_name"]),
  feature("user.fails__600__", { description: "Failed logins" }),
  feature("user.transfers", { scalar: undefined, hasMany: { foreignNamespace: "transfer" } }),
].map((metadata) => searchable(metadata));
const found = (search: string) => searchFeatures(FEATURES, search).map(({ fqn }) => fqn);

test("all words have to fit, each in its own place", () => {
  expect(found("")).toHaveLength(4);
  expect(found("USER name")).toEqual(["user.name"]);
  expect(found("logins")).toEqual(["user.fails[10m]"]);
  expect(found("fails[10m]")).toEqual(["user.fails[10m]"]);
  expect(found("owner:ann tag:pii")).toEqual(["user.name"]);
  expect(found("type:int")).toEqual(["user.id"]);
  expect(found("kind:has-many")).toEqual(["user.transfers"]);
  expect(found("resolver:get_")).toEqual(["user.name"]);
  expect(found("tag:")).toHaveLength(4);
  expect(found("nothing:here")).toEqual([]);
});

test("what nobody asked for, and what is old, by what was recorded", () => {
  const series = (feature: string, ...values: (number | undefined)[]) => ({
    labels: { feature },
    points: values.map((value) => (value === undefined ? {} : { value })),
  });
  const ages = [series("user.name", 30, 7_200, undefined)];
  const uses = featureUses([series("user.name", 3, 5), series("user.id", 0)], [series("user.name", 2)], ages);
  expect(uses.of("user.name")).toEqual({ requests: 8, nullShare: 0.25, ageSeconds: 7_200 });
  expect(uses.of("user.transfers")).toEqual({ requests: 0, nullShare: undefined, ageSeconds: undefined });
  const all = FEATURES.map(({ metadata }) => searchable(metadata, uses.of(metadata.feature?.fqn ?? "")));
  const search = (text: string) => searchFeatures(all, text).map(({ fqn }) => fqn);
  expect(search("unused:")).toEqual(["user.id", "user.fails[10m]", "user.transfers"]);
  expect(search("unused: kind:has-many")).toEqual(["user.transfers"]);
  expect(search("stale:2h")).toEqual(["user.name"]);
  expect(search("stale:3h")).toEqual([]);
  expect(search("stale:")).toEqual(["user.name"]);
  expect(found("unused:")).toEqual([]);
  // Features beyond the bound of series are counted together: nothing is known of one of them.
  expect(featureUses([series("other", 3)], [], []).of("user.name")).toBeUndefined();
  expect([0, 0.0001, 0.125, 1].map(shareText)).toEqual(["0 %", "<0.1 %", "13 %", "100 %"]);
});

test("a search that cannot be understood says where", () => {
  expect(featureSearchProblem("name stale:soon")).toMatchObject({ at: 11 });
  expect(featureSearchProblem("unused:yes")).toMatchObject({ at: 7 });
  expect(["", "stale:1h", "stale:", "unused: owner:x", "a:b"].map(featureSearchProblem)).toEqual(Array(5).fill(undefined));
});

test("features in words", () => {
  const dtype = { list: { element: { primitive: "PRIMITIVE_TYPE_STRING" }, set: true } } as const;
  expect(featureType({ scalar: { dtype, nullable: true } })).toBe("set[str] | None");
  expect(featureType({ hasMany: { foreignNamespace: "transfer" } })).toBe("DataFrame[transfer]");
  expect(featureKind({ scalar: { window: "600s" } })).toBe("window");
  expect(
    [undefined, "0s", "3600s", "1.5s", "315576000000s"].map((maxStaleness) => cachedFor({ maxStaleness: maxStaleness as never })),
  ).toEqual([...["", "", "1h", "1s500ms", "always"]]);
});
