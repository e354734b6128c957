/**
 * Authentication and authorization of requests: their bearer token or browser session against the
 * permission that a method names.
 */

import { Permission } from "../../../gen/svc/v1/options_pb.ts";
import { allows, PERMISSIONS, type PermissionName, type PermissionRow } from "../../domain/permissions.ts";
import { Failure } from "../failure.ts";
import { PAGE_KEY_HEADER } from "./browser-sessions.ts";
import type { Callers } from "./callers.ts";
import { limitedToEnvironments } from "./scope.ts";
import { type Caller, TokenRefused } from "./tokens.ts";

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
  const needed = rowOf(permission);
  if (!needed) throw new Failure("permission_denied", "The method states no permission, so nobody may call it.");
  if (!allows(caller.permissions, needed.name)) {
    throw new Failure("permission_denied", `The credentials lack the permission '${needed.name}'.`, {
      hint: "Use credentials that have it, or ask for it to be added.",
    });
  }
  if (needed.isTeamWide && caller.environments) throw limitedToEnvironments(`what the permission '${needed.name}' allows`);
  return caller;
}

function rowOf(option: Permission): (PermissionRow & { readonly name: PermissionName }) | undefined {
  return PERMISSIONS.find((row) => Permission[row.option] === option);
}
