/**
 * Authentication and authorization of requests: their bearer token or browser session against the
 * permission that a method names.
 */

import { Permission } from "../../../gen/svc/v1/options_pb.ts";
import { allows, isPermission, type PermissionName } from "../../domain/permissions.ts";
import { Failure } from "../failure.ts";
import { PAGE_KEY_HEADER } from "./browser-sessions.ts";
import type { Callers } from "./callers.ts";
import { type Caller, TokenRefused } from "./tokens.ts";

/**
 * The name of the permission that a method's option states, `audit.read` for AUDIT_READ; undefined
 * when the method needs none by name.
 */
export function permissionNamed(option: Permission): PermissionName | undefined {
  const name = Permission[option]?.toLowerCase().replaceAll("_", ".");
  return name !== undefined && isPermission(name) ? name : undefined;
}

/** Whether a request has credentials of any kind. */
export function hasCredentials(headers: Headers): boolean {
  return headers.has("authorization") || headers.has(PAGE_KEY_HEADER);
}

const LOGIN_HINT = "Run `svc login`.";

/**
 * The caller of a request, by its `Authorization: Bearer` header, else by both halves of a browser
 * session. Throws Failure unauthenticated.
 */
export async function authenticate(callers: Callers, headers: Headers): Promise<Caller> {
  const header = headers.get("authorization");
  if (!header && headers.has(PAGE_KEY_HEADER)) {
    const caller = await callers.ofSession(headers);
    if (caller) return caller;
    throw new Failure("unauthenticated", "The browser is not logged in, or its session is over.", { hint: "Run `svc dashboard`." });
  }
  if (!header) throw new Failure("unauthenticated", "The request has no access token.", { hint: LOGIN_HINT });
  const token = /^Bearer +(\S+)$/i.exec(header)?.[1];
  if (!token) throw new Failure("unauthenticated", "The Authorization header is not a bearer token.", { hint: LOGIN_HINT });
  try {
    return await callers.ofToken(token);
  } catch (error) {
    if (error instanceof TokenRefused) throw new Failure("unauthenticated", error.message, { hint: LOGIN_HINT });
    throw error;
  }
}

/**
 * Checks that a request has `permission`, and returns its caller; undefined for PUBLIC, which needs
 * no credentials. A method that states no permission is refused, so that forgetting it grants no
 * access. Throws Failure unauthenticated or permission_denied.
 */
export async function authorize(callers: Callers, headers: Headers, permission: Permission): Promise<Caller | undefined> {
  if (permission === Permission.PUBLIC) return undefined;
  const caller = await authenticate(callers, headers);
  if (permission === Permission.AUTHENTICATED) return caller;
  const needed = permissionNamed(permission);
  if (needed === undefined) throw new Failure("permission_denied", "The method states no permission, so nobody may call it.");
  if (!allows(caller.permissions, needed)) {
    throw new Failure("permission_denied", `The credentials lack the permission '${needed}'.`, {
      hint: "Use credentials that have it, or ask for it to be added.",
    });
  }
  return caller;
}
