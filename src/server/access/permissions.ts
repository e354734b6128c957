/**
 * Permissions by name, as clients and tokens hold them. The permission that a method needs is an
 * option of the method in the contract, see `authorize.ts`.
 */

/** Permissions that a client can be given. */
export const PERMISSION_NAMES = ["read", "query.online", "deploy", "admin"] as const;

/** The name of a permission that a client can be given. */
export type PermissionName = (typeof PERMISSION_NAMES)[number];

/** The permissions that remain for read-only access. */
export function onlyReading(permissions: readonly string[]): string[] {
  return permissions.filter((name) => name === ("read" satisfies PermissionName));
}

/** Whether permissions allow nothing but reading. */
export function mayOnlyRead(permissions: readonly string[]): boolean {
  return onlyReading(permissions).length === permissions.length;
}
