/** Permissions by name, as clients and tokens hold them. What a method needs is an option of the method in the contract. */

import { Permission } from "../../../gen/svc/v1/options_pb.ts";

/** Permissions that a client can be given. */
export const PERMISSION_NAMES = ["read", "query.online", "deploy", "admin"] as const;

/** The name of a permission that a client can be given. */
export type PermissionName = (typeof PERMISSION_NAMES)[number];

/** The name that a client must hold for a method; undefined for methods that need none by name. */
export function requiredPermission(permission: Permission): PermissionName | undefined {
  switch (permission) {
    case Permission.READ:
      return "read";
    case Permission.QUERY_ONLINE:
      return "query.online";
    case Permission.DEPLOY:
      return "deploy";
    case Permission.ADMIN:
      return "admin";
    default:
      return undefined;
  }
}
