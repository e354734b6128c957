/** Who calls, and whether they may: the bearer token of a request against the permission that a method names. */

import { Permission } from "../../gen/svc/v1/options_pb.ts";
import type { PermissionName } from "./auth/permissions.ts";
import { type Caller, TokenRefused, type Tokens } from "./auth/tokens.ts";
import { Failure } from "./failure.ts";

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

const LOGIN_HINT = "Run `svc login`.";

/** The caller of a request by its `Authorization: Bearer` header. Throws Failure unauthenticated. */
export async function authenticate(tokens: Tokens, headers: Headers): Promise<Caller> {
  const header = headers.get("authorization");
  if (!header) throw new Failure("unauthenticated", "The request has no access token.", { hint: LOGIN_HINT });
  const token = /^Bearer +(\S+)$/i.exec(header)?.[1];
  if (!token) throw new Failure("unauthenticated", "The Authorization header is not a bearer token.", { hint: LOGIN_HINT });
  try {
    return await tokens.verify(token);
  } catch (error) {
    if (error instanceof TokenRefused) throw new Failure("unauthenticated", error.message, { hint: LOGIN_HINT });
    throw error;
  }
}

/**
 * Checks that a request may do what needs `permission`, and says who calls; undefined for what needs no credentials. A method whose permission was never
 * stated is refused, so that forgetting it opens no door. Throws Failure.
 */
export async function authorize(tokens: Tokens, headers: Headers, permission: Permission): Promise<Caller | undefined> {
  if (permission === Permission.PUBLIC) return undefined;
  const caller = await authenticate(tokens, headers);
  if (permission === Permission.AUTHENTICATED) return caller;
  const needed = requiredPermission(permission);
  if (needed === undefined) throw new Failure("permission_denied", "The method states no permission, so nobody may call it.");
  if (!caller.permissions.includes(needed)) {
    throw new Failure("permission_denied", `The credentials lack the permission '${needed}'.`, {
      hint: "Use credentials that have it, or ask for it to be added.",
    });
  }
  return caller;
}
