/**
 * What a person may do, by the person's groups. Of several roles the greatest counts, in the
 * environments that its rules name together: a greater role that is limited takes the place of a
 * lesser one that is not, so that no rule reaches further than it says.
 */

import { permissionsOfRole, ROLE_NAMES, type RoleName } from "../../../domain/permissions.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import type { RoleRule } from "./settings.ts";

/** What a person was found to have. */
export interface Grant {
  readonly role: RoleName;
  readonly permissions: readonly string[];
  /** Ids of the environments that it is limited to; undefined = all. */
  readonly environments: readonly string[] | undefined;
}

/**
 * The grant of a person with these groups; undefined when no rule applies. A rule for environments
 * of which there is none does not apply; a name stands for the environments of all projects that
 * have it.
 */
export function grantOf(
  rules: readonly RoleRule[],
  groups: readonly string[],
  environments: readonly Pick<EnvironmentRecord, "id" | "name">[],
): Grant | undefined {
  const applying = rules
    .filter(({ group }) => group === undefined || groups.includes(group))
    .map(({ role, environments: names }) => ({
      role,
      ids: names && environments.filter(({ name }) => names.includes(name)).map(({ id }) => id),
    }))
    .filter(({ ids }) => ids === undefined || ids.length > 0);
  const role = ROLE_NAMES.findLast((name) => applying.some((rule) => rule.role === name));
  if (role === undefined) return undefined;
  const limits = applying.filter((rule) => rule.role === role).map(({ ids }) => ids);
  const limit = limits.includes(undefined) ? undefined : [...new Set(limits.flatMap((ids) => ids ?? []))];
  return { role, permissions: permissionsOfRole(role, limit !== undefined), environments: limit };
}

/** Names of environments in rules, of which there is none. */
export function unknownEnvironments(rules: readonly RoleRule[], environments: readonly Pick<EnvironmentRecord, "name">[]): string[] {
  const named = new Set(rules.flatMap((rule) => rule.environments ?? []));
  return [...named].filter((wanted) => !environments.some(({ name }) => name === wanted));
}
