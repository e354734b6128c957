/**
 * Answers of the plain HTTP endpoints. All errors have one form, so that a client that reads the
 * errors of one endpoint reads those of all: `code` and `message` as in Connect's errors, `error`
 * for the exact error, `hint` for the next step, and `errors` with each single problem as the
 * contract's ErrorDetail. Endpoints may add fields: queries `data`, the token exchange RFC 6749's
 * `error_description`.
 */

import type { Failure, FailureKind } from "../../failure.ts";
import { type CodeNames, FAILURE_CODES } from "../failure-codes.ts";

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

/** An answer whose text is there already. */
export function text(body: string, contentType: string): Response {
  return new Response(body, { headers: { ...SAFE_HEADERS, "content-type": contentType } });
}

type ConnectCode = Exclude<FailureKind, "out_of_space" | "suspended"> | "canceled" | "internal";

/** The content of an error. */
export interface ErrorAnswer {
  readonly status: number;
  /** Connect's code; default: that of the status. */
  readonly code?: ConnectCode;
  /** The exact error, for programs; default: the code. */
  readonly error?: string;
  /** The message for people. */
  readonly message: string;
  /** The next step. */
  readonly hint?: string | undefined;
  /** The single problems, when there is more to tell than the message. */
  readonly errors?: readonly Readonly<Record<string, unknown>>[];
  /** Fields that the endpoint adds. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Connect's code of each status that the server answers with. */
const CODES: Readonly<Record<number, ConnectCode>> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  405: "unimplemented",
  408: "deadline_exceeded",
  409: "already_exists",
  412: "failed_precondition",
  413: "resource_exhausted",
  415: "invalid_argument",
  416: "invalid_argument",
  426: "failed_precondition",
  429: "resource_exhausted",
  499: "canceled",
  501: "unimplemented",
  503: "unavailable",
  504: "deadline_exceeded",
  507: "resource_exhausted",
};

/** Connect's code of a status of an error. */
export function codeOfStatus(status: number): ConnectCode {
  return CODES[status] ?? "internal";
}

const DETAILS: Readonly<Record<ConnectCode, CodeNames>> = {
  ...FAILURE_CODES,
  canceled: ["CANCELLED", "NETWORK"],
  internal: ["INTERNAL_SERVER_ERROR", "NETWORK"],
};

/** The body of an error. */
export function errorBody(answer: ErrorAnswer): Readonly<Record<string, unknown>> {
  const { status, message, hint, more, code = CODES[status] ?? "internal" } = answer;
  const [detail, category] = DETAILS[code];
  const texts = { message, ...(hint ? { hint } : {}) };
  const { error = code, errors = [{ code: detail === "UNSPECIFIED" ? "INVALID_QUERY" : detail, category, ...texts }] } = answer;
  return { ...more, code, error, ...texts, errors };
}

/** An error as JSON. */
export function errorAnswer(answer: ErrorAnswer, headers: Record<string, string> = {}): Response {
  const challenge: Record<string, string> = answer.status === 401 ? { "www-authenticate": "Bearer" } : {};
  return json(errorBody(answer), answer.status, { ...challenge, ...headers });
}

/** An error with a code for programs and a message for people. */
export function jsonError(status: number, error: string, message: string, headers: Record<string, string> = {}): Response {
  return errorAnswer({ status, error, message }, headers);
}

/** The answer to a method that the path does not support. */
export function methodNotAllowed(allow: string): Response {
  return jsonError(405, "method_not_allowed", `Use ${allow}.`, { allow });
}

/** Status of the answer to each kind of failure. */
export const FAILURE_STATUS: Readonly<Record<FailureKind, number>> = {
  invalid_argument: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  aborted: 409,
  failed_precondition: 412,
  resource_exhausted: 429,
  out_of_space: 507,
  unimplemented: 501,
  unavailable: 503,
  suspended: 503,
  deadline_exceeded: 504,
};

/** A failure as a plain HTTP answer; `more` has the fields that the endpoint adds. */
export function failureResponse({ kind, message, detail }: Failure, more: Readonly<Record<string, unknown>> = {}): Response {
  return errorAnswer({ status: FAILURE_STATUS[kind], error: kind, message, hint: detail.hint, more });
}
