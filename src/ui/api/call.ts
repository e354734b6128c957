/**
 * Calls of the contract's methods: Connect's unary protocol in JSON over `fetch`, with the
 * session's page key and the scope of the page.
 */

import type { ErrorDetailJson } from "../../../gen/svc/v1/error_pb.ts";
import type { Method, Methods } from "./methods.ts";
import { sessionHeader, sessionRefused } from "./session.ts";

/** The environment, branch and deployment that a call is about; empty = not given. */
export interface CallScope {
  readonly environment: string;
  readonly branch: string;
  readonly deployment: string;
}

/** A failed call, in words for people. */
export class CallError extends Error {
  override readonly name = "CallError";
  constructor(
    /** Connect's code, `unreachable` when no answer came. */
    readonly code: string,
    /** What happened. */
    message: string,
    /** What to do next; empty when nothing is known. */
    readonly hint = "",
    /** The single problems, when the server named any. */
    readonly details: readonly ErrorDetailJson[] = [],
  ) {
    super(message);
  }
}

/** An error of Connect's protocol. */
export interface ConnectErrorJson {
  readonly code?: string;
  readonly message?: string;
  readonly details?: readonly { readonly debug?: ErrorDetailJson }[];
}

/** The headers of every call: JSON, the page key, and the scope in the form of the contract. */
export function callHeaders(contentType: string, scope: CallScope): Record<string, string> {
  const named = Object.entries(scope).filter(([, name]) => name !== "");
  return {
    "content-type": contentType,
    "connect-protocol-version": "1",
    ...sessionHeader(),
    ...Object.fromEntries(named.map(([part, name]) => [`svc-${part}`, encodeURIComponent(name)])),
  };
}

/** The error of an answer. A session that the server does not know ends here too. */
export function callError({ code = "unknown", message, details = [] }: ConnectErrorJson): CallError {
  if (code === "unauthenticated") sessionRefused();
  const known = details.flatMap(({ debug }) => (debug ? [debug] : []));
  return new CallError(code, message ?? "The server failed without saying why.", known.find(({ hint }) => hint)?.hint, known);
}

/** The error of a request that got no answer. */
export function unreachable(): CallError {
  return new CallError("unreachable", "The server does not answer.", "See whether it runs: `svc server status`.");
}

/**
 * Calls a method. Rejects with CallError, and with an AbortError when `signal` ends the call.
 */
export async function call<M extends Method>(
  method: M,
  request: Methods[M][0],
  scope: CallScope,
  signal?: AbortSignal,
): Promise<Methods[M][1]> {
  const response = await fetch(`/svc.v1.${method}`, {
    method: "POST",
    headers: callHeaders("application/json", scope),
    body: JSON.stringify(request),
    signal: signal ?? null,
  }).catch((error: unknown) => {
    throw signal?.aborted ? error : unreachable();
  });
  const answer = (await response.json().catch(() => ({ code: "unknown", message: `The server answered ${response.status}.` }))) as unknown;
  if (!response.ok) throw callError(answer as ConnectErrorJson);
  return answer as Methods[M][1];
}
