import { expect, test } from "bun:test";
import { allows, commonPermissions, PERMISSION_NAMES, permissionsOfRole, ROLE_NAMES } from "../../src/domain/permissions.ts";

test("what two lists of permissions have in common is what both allow, in whatever order", () => {
  expect(commonPermissions(["admin"], ["deploy", "read"])).toEqual(["read", "deploy"]);
  expect(commonPermissions(["admin"], ["admin"])).toEqual(["admin"]);
  expect([commonPermissions(["read"], ["deploy"]), commonPermissions(["unknown"], ["unknown"])]).toEqual([[], []]);
  const lists = [[], ...PERMISSION_NAMES.map((name) => [name]), ...ROLE_NAMES.map((role) => permissionsOfRole(role, false))];
  for (const some of lists)
    for (const others of lists) {
      const common = commonPermissions(some, others);
      expect(common).toEqual(commonPermissions(others, some));
      for (const name of PERMISSION_NAMES) expect(allows(common, name)).toBe(allows(some, name) && allows(others, name));
    }
});
