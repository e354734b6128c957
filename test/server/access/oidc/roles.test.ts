import { describe, expect, test } from "bun:test";
import { grantOf, unknownEnvironments } from "../../../../src/server/access/oidc/roles.ts";
import type { RoleRule } from "../../../../src/server/access/oidc/settings.ts";

const ENVIRONMENTS = [
  { id: "env_1", name: "default" },
  { id: "env_2", name: "staging" },
  { id: "env_3", name: "staging" },
];
const rule = (group: string | undefined, role: RoleRule["role"], environments?: string[]): RoleRule => ({ group, role, environments });
const granted = (rules: RoleRule[], ...groups: string[]) => {
  const grant = grantOf(rules, groups, ENVIRONMENTS);
  return grant && [grant.role, grant.environments];
};

describe("a person's role", () => {
  test("is that of a group, of everybody, or none", () => {
    const rules = [rule("a", "developer"), rule("b", "admin")];
    expect([granted(rules, "a"), granted(rules, "c"), granted(rules)]).toEqual([["developer", undefined], undefined, undefined]);
    expect(granted([...rules, rule(undefined, "viewer")], "c")).toEqual(["viewer", undefined]);
    expect(granted(rules, "A")).toBeUndefined();
  });

  test("is the greatest of several, whatever their order", () => {
    const rules = [rule(undefined, "viewer"), rule("a", "operator"), rule("b", "developer")];
    expect([granted(rules, "a", "b"), granted(rules.toReversed(), "b", "a")]).toEqual([
      ["operator", undefined],
      ["operator", undefined],
    ]);
  });

  test("is limited to the environments of its own rules, which a lesser role never widens", () => {
    const rules = [rule("a", "developer", ["staging"]), rule("b", "developer", ["default"]), rule(undefined, "viewer")];
    expect(granted(rules, "a")).toEqual(["developer", ["env_2", "env_3"]]);
    expect(granted(rules, "a", "b")).toEqual(["developer", ["env_2", "env_3", "env_1"]]);
    expect(granted([...rules, rule("c", "developer")], "a", "c")).toEqual(["developer", undefined]);
    expect(granted([rule("a", "viewer"), rule("a", "developer", ["staging"])], "a")).toEqual(["developer", ["env_2", "env_3"]]);
  });

  test("for environments that there are not gives nothing", () => {
    const rules = [rule("a", "admin", ["production"]), rule(undefined, "viewer")];
    expect(granted(rules, "a")).toEqual(["viewer", undefined]);
    expect(granted(rules.slice(0, 1), "a")).toBeUndefined();
  });

  test("that is limited has no permission of the whole team", () => {
    const limited = grantOf([rule("a", "operator", ["staging"])], ["a"], ENVIRONMENTS);
    expect(limited?.permissions).not.toContain("audit.read");
    expect(limited?.permissions).toContain("deploy");
    expect(grantOf([rule("a", "operator")], ["a"], ENVIRONMENTS)?.permissions).toContain("audit.read");
  });
});

test("environments that rules name in vain are found", () => {
  expect(unknownEnvironments([rule("a", "operator", ["staging", "stagging"]), rule("b", "viewer")], ENVIRONMENTS)).toEqual(["stagging"]);
});
