/** Errors of plain HTTP that no client code translated. */

import { AuthError, CliError } from "./cli-error.ts";
import { networkFailure } from "./network.ts";

/** The relevant parts of an ofetch error. */
interface HttpFailure {
  readonly request?: unknown;
  readonly status?: number;
  readonly data?: unknown;
}

/**
 * The error for the user when `error` came from a request: no connection, or a status other than
 * success. Undefined for other errors.
 */
export function fromFetch(error: Error): CliError | undefined {
  const { request, status, data } = error as Error & HttpFailure;
  const tried = typeof request === "string" ? request : request instanceof Request ? request.url : "the server";
  if (error.name === "FetchError" && status !== undefined) {
    const reason = messageOf(data);
    if (status === 401) return new AuthError(`${tried} did not accept the credentials${reason && `: ${reason}`}`, { cause: error });
    return new CliError(`${tried} answered with HTTP status ${status}${reason && `: ${reason}`}`, { code: `http_${status}`, cause: error });
  }
  const unreachable = networkFailure(error);
  if (!unreachable) return undefined;
  const path = "path" in error && typeof error.path === "string" && error.path.startsWith("http") ? error.path : tried;
  return new CliError(`cannot reach ${path}: ${unreachable}`, {
    code: "unavailable",
    hint: "Start a server with `svc server start`, or name another one with --api-host.",
    cause: error,
  });
}

function messageOf(data: unknown): string {
  if (data === null || typeof data !== "object") return "";
  const { message, error, errors } = data as { message?: unknown; error?: unknown; errors?: unknown };
  if (typeof message === "string") return message;
  if (typeof error === "string") return error;
  const first: unknown = Array.isArray(errors) ? errors[0] : error;
  return first !== undefined && first !== data ? messageOf(first) : "";
}
