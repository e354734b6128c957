/**
 * Permissions by name, as clients and tokens hold them, and the roles that bundle them. The
 * permission that a method needs is an option of the method in the contract.
 */

/** A permission that a client can be given. */
export interface PermissionRow {
  readonly name: string;
  /** What it allows, for people. */
  readonly meaning: string;
}

/** Every permission that a client can be given, from the least to the greatest. */
export const PERMISSIONS = [
  { name: "read", meaning: "see deployments, the graph, sources and settings, without secrets" },
  { name: "query.online", meaning: "run online queries" },
  { name: "deploy", meaning: "deploy code, to an environment or a branch" },
  { name: "audit.read", meaning: "see who called what, and usage" },
  { name: "secrets.read", meaning: "see the values of secrets" },
  { name: "secrets.write", meaning: "set and delete secrets and integrations" },
  { name: "traffic.write", meaning: "route queries among deployments" },
  { name: "settings.write", meaning: "change an environment's configuration, webhooks and stores" },
  { name: "infra.write", meaning: "change, suspend and resume the server's components" },
  {
    name: "tokens.write",

    meaning: "make and revoke service tokens, with no more than one's own permissions",
  },
  { name: "approve", meaning: "approve deployments to protected environments" },
  { name: "admin", meaning: "everything, also what no other permission allows" },
] as const satisfies readonly PermissionRow[];

/** The name of a permission that a client can be given. */
export type PermissionName = (typeof PERMISSIONS)[number]["name"];

/** Names of all permissions. */
export const PERMISSION_NAMES: readonly PermissionName[] = PERMISSIONS.map(({ name }) => name);

/**
 * The permissions of an owner: `admin` allows everything, and the others are those that programs
 * ask a token to be restricted to.
 */
export const FULL_ACCESS: readonly PermissionName[] = ["read", "query.online", "deploy", "admin"];

/** Whether a text names a permission. */
export function isPermission(name: string): name is PermissionName {
  return PERMISSION_NAMES.includes(name as PermissionName);
}

/** Whether a holder of these permissions may do what needs `needed`; `admin` allows everything. */
export function allows(permissions: readonly string[], needed: PermissionName): boolean {
  return permissions.includes(needed) || permissions.includes("admin");
}

/** The permissions that remain for read-only access. */
export function onlyReading(permissions: readonly string[]): string[] {
  return allows(permissions, "read") ? ["read" satisfies PermissionName] : [];
}

/** Whether permissions allow nothing but reading. */
export function mayOnlyRead(permissions: readonly string[]): boolean {
  return permissions.every((name) => name === "read");
}
