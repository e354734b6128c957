/**
 * Permissions by name, as clients and tokens hold them. What a method needs is an option of the
 * method in the contract, see `access.ts`.
 */

/** Permissions that a client can be given. */
export const PERMISSION_NAMES = ["read", "query.online", "deploy", "admin"] as const;

/** The name of a permission that a client can be given. */
export type PermissionName = (typeof PERMISSION_NAMES)[number];

/** What is left of permissions for somebody who may only read. */
export function onlyReading(permissions: readonly string[]): string[] {
  return permissions.filter((name) => name === ("read" satisfies PermissionName));
}

/** Whether permissions allow nothing but reading. */
export function mayOnlyRead(permissions: readonly string[]): boolean {
  return onlyReading(permissions).length === permissions.length;
}
