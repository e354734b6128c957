import { expect, test } from "bun:test";
import type { FeatureMetadataJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { searchable, searchFeatures } from "../../../../src/ui/pages/define/feature-search.ts";
import { cachedFor, featureKind, featureType } from "../../../../src/ui/pages/define/feature-text.ts";

const feature = (fqn: string, more: Partial<FeatureMetadataJson["feature"]> = {}, resolvers: string[] = []): FeatureMetadataJson => ({
  feature: { fqn, scalar: { dtype: { primitive: "PRIMITIVE_TYPE_STRING" } }, ...more },
  resolvers,
});
const FEATURES = [
  feature("user.id", { scalar: { dtype: { primitive: "PRIMITIVE_TYPE_INT64" }, primary: true } }),
  feature("user.name", { owner: "Ann@example.com", tags: ["pii", "core"] }, ["resolvers.get_name"]),
  feature("user.fails__600__", { description: "Failed logins" }),
  feature("user.transfers", { scalar: undefined, hasMany: { foreignNamespace: "transfer" } }),
].map(searchable);
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

test("features in words", () => {
  const dtype = { list: { element: { primitive: "PRIMITIVE_TYPE_STRING" }, set: true } } as const;
  expect(featureType({ scalar: { dtype, nullable: true } })).toBe("set[str] | None");
  expect(featureType({ hasMany: { foreignNamespace: "transfer" } })).toBe("DataFrame[transfer]");
  expect(featureKind({ scalar: { window: "600s" } })).toBe("window");
  expect(
    [undefined, "0s", "3600s", "1.5s", "315576000000s"].map((maxStaleness) => cachedFor({ maxStaleness: maxStaleness as never })),
  ).toEqual([...["", "", "1h", "1s500ms", "always"]]);
});
