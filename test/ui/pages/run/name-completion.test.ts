import { describe, expect, test } from "bun:test";
import type { FeatureMetadataJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { completions, featureAt, firstKey, namesOf, rootOf } from "../../../../src/ui/pages/run/name-completion.ts";

const feature = (fqn: string, kind: object = { scalar: {} }): FeatureMetadataJson => ({
  feature: { fqn, namespace: fqn.split(".")[0] ?? "", ...kind },
});
const NAMES = namesOf([
  feature("bank.id", { scalar: { primary: true } }),
  feature("bank.title"),
  feature("user.id", { scalar: { primary: true } }),
  feature("user.name"),
  feature("user.bank", { hasOne: { foreignNamespace: "bank" } }),
  feature("user.friends", { hasMany: { foreignNamespace: "user" } }),
  feature("user.fails__600__"),
]);

describe("names as they are typed", () => {
  test("go through relations, and windows are readable", () => {
    expect(completions(NAMES, "user.", false)).toEqual(["user.id", "user.name", "user.bank", "user.friends", "user.fails[10m]"]);
    expect(completions(NAMES, "user.friends.bank.t", false)).toEqual(["user.friends.bank.title"]);
    expect(completions(NAMES, "user.nam", false)).toEqual(["user.name"]);
  });

  test("begin with any part of a name; outputs can be namespaces", () => {
    expect(completions(NAMES, "title", false)).toEqual(["bank.title"]);
    expect(completions(NAMES, "ba", true)).toEqual(["bank", "bank.id", "bank.title", "user.bank"]);
    expect(completions(NAMES, "user.none.x", true)).toEqual([]);
  });

  test("lead to features: in full, from the root, with a leading dot, in either form of a window", () => {
    expect(featureAt(NAMES, "user.friends.bank.title")?.fqn).toBe("bank.title");
    expect(featureAt(NAMES, "name", "user")?.fqn).toBe("user.name");
    expect(featureAt(NAMES, ".bank.title")?.fqn).toBe("bank.title");
    // A relation wins over nothing, a namespace over a relation of that name.
    expect(featureAt(NAMES, "friends.name", "user")?.fqn).toBe("user.name");
    expect(featureAt(NAMES, "user.fails[10m]")?.fqn).toBe("user.fails__600__");
    expect(featureAt(NAMES, "user.none")).toBeUndefined();
    expect(featureAt(NAMES, "constructor")).toBeUndefined();
  });

  test("the first key, and the root of relative names", () => {
    expect(firstKey(NAMES)).toBe("bank.id");
    expect(firstKey(namesOf([]))).toBe("");
    expect(rootOf(NAMES, [["user.id", "1"]])).toBe("user");
    expect(rootOf(NAMES, [])).toBe("");
  });
});
