/** Answers of the plain HTTP side. */

import type { Failure, FailureKind } from "../failure.ts";

/** Headers of every answer that a browser may see. */
export const SAFE_HEADERS = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
};

/** A JSON answer that no cache keeps. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers: { ...SAFE_HEADERS, ...headers } });
}

/** An error as JSON: a code for programs, a message for people. */
export function jsonError(status: number, code: string, message: string, headers: Record<string, string> = {}): Response {
  return json({ error: code, message }, status, headers);
}

/** A method that the path does not know. */
export function methodNotAllowed(allow: string): Response {
  return jsonError(405, "method_not_allowed", `Use ${allow}.`, { allow });
}

const STATUS: Readonly<Record<FailureKind, number>> = {
  invalid_argument: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  failed_precondition: 412,
  resource_exhausted: 429,
  out_of_space: 507,
  unimplemented: 501,
  unavailable: 503,
};

/** The HTTP status of a failure. */
export function failureStatus({ kind }: Failure): number {
  return STATUS[kind];
}

/** A failure as plain HTTP: its status, its code, its message and the next step. */
export function failureResponse(failure: Failure): Response {
  const { kind, message, detail } = failure;
  const headers: Record<string, string> = kind === "unauthenticated" ? { "www-authenticate": "Bearer" } : {};
  return json({ error: kind, message, ...(detail.hint ? { hint: detail.hint } : {}) }, STATUS[kind], headers);
}
