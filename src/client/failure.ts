/**
 * Failed calls: the server's refusal as an error for the user, whether it came as Connect JSON, as
 * the end of a stream, or in another form.
 */

import { type DescMessage, fromBinary } from "@bufbuild/protobuf";
import type { ErrorDetail } from "../../gen/svc/v1/error_pb.ts";
import { enumValueName, messageNamed } from "../contract/contract.ts";
import { durationToMs } from "../domain/proto-time.ts";
import { AuthError, CliError } from "../errors/cli-error.ts";
import { checkAddress, checkProxy, type Endpoint } from "./fetch.ts";
import { type Proxies, throughProxy } from "./proxy.ts";
import type { Redactor } from "./redact.ts";
import { retryAfterMs, type Transient } from "./retry.ts";

/** The parts of a refusal, in whatever form it was sent. */
export interface WireFailure {
  /** Connect code, snake_case. */
  readonly code: string;
  readonly message: string;
  readonly detail?: ErrorDetail;
  /**
   * The messages of the details when there are several: a query can be wrong in more than one way.
   */
  readonly messages?: readonly string[];
  readonly retryAfterMs?: number;
}

/** The server refused a call. */
export class CallError extends CliError {
  override readonly name = "CallError";
  constructor(
    readonly failure: WireFailure,
    message: string,
    options: { hint?: string; code: string; details?: unknown },
  ) {
    super(message, options);
  }
}

/** Whether and when a failed call may be retried; undefined when it may not. */
export function transientCall(error: unknown): Transient | undefined {
  if (!(error instanceof CallError)) return undefined;
  const { code, retryAfterMs: wait } = error.failure;
  return code === "unavailable" || code === "resource_exhausted" ? { retryAfterMs: wait, refused: true } : undefined;
}

/** Whether the server refused the token. */
export function isUnauthenticated(error: unknown): boolean {
  return error instanceof CallError && error.failure.code === "unauthenticated";
}

const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  400: "internal",
  401: "unauthenticated",
  403: "permission_denied",
  404: "unimplemented",
  408: "unavailable",
  413: "resource_exhausted_body",
  429: "unavailable",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
  507: "out_of_space",
};

/**
 * The refusal in a response that is not a success. `body` is the whole body; `proxies` say whether
 * a proxy may have answered.
 */
export function failureOf(response: Response, body: Uint8Array, endpoint: Endpoint, proxies: Proxies, now: number): WireFailure {
  const wait = retryAfterMs(response.headers.get("retry-after"), now);
  const parsed = parseJson(response, body);
  if (parsed && typeof parsed.code === "string") {
    const details = detailsIn(Array.isArray(parsed.details) ? parsed.details : []);
    const [detail] = details;
    return {
      code: parsed.code,
      message: typeof parsed.message === "string" ? parsed.message : "",
      detail,
      messages: [...new Set(details.flatMap((one) => one.message || []))],
      retryAfterMs: wait ?? (detail?.retryAfter ? durationToMs(detail.retryAfter) : undefined),
    };
  }
  const text = parsed?.message ?? parsed?.error_description ?? parsed?.error;
  return {
    code: CODE_OF_STATUS[response.status] ?? "unknown",
    message:
      typeof text === "string"
        ? text
        : `HTTP status ${response.status}${describeBody(response, body)}${throughProxy(proxies, endpoint.url)}`,
    retryAfterMs: wait,
  };
}

/** The error for the user. */
export function callError(failure: WireFailure, endpoint: Endpoint, redactor: Redactor): CallError {
  const { detail, messages = [] } = failure;
  const message = redactor.text(messages.join("\n") || detail?.message || failure.message || failure.code.replaceAll("_", " "));
  const code = (detail?.code && enumValueName("svc.v1.ErrorCode", detail.code)?.toLowerCase()) || failure.code;
  switch (failure.code) {
    case "unimplemented":
      return new CallError(failure, `${endpoint.url} does not know this call: ${message}`, {
        code,
        hint: `Is it an svc server, and as new as this CLI? ${checkAddress(endpoint)}`,
      });
    case "unavailable":
      return new CallError(failure, `${endpoint.url} (${endpoint.what}) is not available: ${message}`, {
        code: failure.code,
        hint: detail?.hint || "Try again in a moment; `svc healthcheck` shows which part does not work.",
        details: detailsOf(detail),
      });
    case "permission_denied":
      return new CallError(failure, message, { code, hint: detail?.hint || "`svc user` shows who you are.", details: detailsOf(detail) });
    case "resource_exhausted_body":
      return new CallError(failure, `${endpoint.url} refused the request as too large: ${message}`, { code: "too_large" });
    case "internal":
    case "unknown":
    case "data_loss":
      return new CallError(failure, `${endpoint.url} failed: ${message}`, {
        code,
        hint: detail?.hint || "`svc server logs` shows why, if it is your server.",
        details: detailsOf(detail),
      });
    default:
      return new CallError(failure, message, { code, hint: detail?.hint || undefined, details: detailsOf(detail) });
  }
}

/** The error for credentials that are refused even with a new token. */
export function refusedCredentials(endpoint: Endpoint, from: string, reason: string): AuthError {
  return new AuthError(`${endpoint.url} did not accept the credentials (from ${from})${reason ? `: ${reason}` : ""}`, {
    hint: "Run `svc login`.",
  });
}

/**
 * The error for an answer of an unexpected content type: a proxy's page, another program's port.
 */
export function wrongContent(
  response: Response,
  body: Uint8Array,
  endpoint: Endpoint,
  { redactor, proxies }: { readonly redactor: Redactor; readonly proxies: Proxies },
): CliError {
  const through = throughProxy(proxies, endpoint.url);
  const answer = `HTTP status ${response.status}${redactor.text(describeBody(response, body))}`;
  return new CliError(`${endpoint.url} (${endpoint.what})${through} answered with something else than svc speaks: ${answer}`, {
    code: "wrong_content",
    hint: through ? `It may be the proxy that answers. ${checkProxy(endpoint)}` : checkAddress(endpoint),
  });
}

/** The decoded message of an answer. Throws a CliError when it cannot be decoded. */
export function decodeAnswer<D extends DescMessage>(schema: D, body: Uint8Array, endpoint: Endpoint) {
  try {
    return fromBinary(schema, body);
  } catch (error) {
    throw new CliError(`the answer of ${endpoint.url} is cut or broken (${body.length} bytes of ${schema.typeName})`, {
      code: "broken_answer",
      hint: "Try again; if it stays, compare `svc version` with the server's.",
      cause: error,
    });
  }
}

/** The first `ErrorDetail` among the details of a Connect error. */
export function detailOf(details: readonly unknown[]): ErrorDetail | undefined {
  return detailsIn(details)[0];
}

/**
 * The `ErrorDetail`s among the details of a Connect error, `{type, value: base64 without padding}`;
 * unreadable ones are left out.
 */
function detailsIn(details: readonly unknown[]): ErrorDetail[] {
  const schema = messageNamed<ErrorDetail>("svc.v1.ErrorDetail");
  return details.flatMap((entry) => {
    if (entry === null || typeof entry !== "object" || !("type" in entry) || !("value" in entry)) return [];
    if (String(entry.type).split("/").pop() !== schema.typeName) return [];
    try {
      return [fromBinary(schema, entry.value instanceof Uint8Array ? entry.value : Buffer.from(String(entry.value), "base64"))];
    } catch {
      return [];
    }
  });
}

function detailsOf(detail: ErrorDetail | undefined): unknown {
  if (!detail) return undefined;
  const details = {
    feature: detail.feature || undefined,
    resolver: detail.resolver || undefined,
    exception: detail.exception && {
      kind: detail.exception.kind,
      message: detail.exception.message,
      stacktrace: detail.exception.stacktrace || undefined,
      file: detail.exception.file || undefined,
      line: detail.exception.line || undefined,
    },
    diagnostics:
      detail.diagnostics.length === 0
        ? undefined
        : detail.diagnostics.map((finding) => ({
            code: finding.code,
            severity: enumValueName("svc.v1.Severity", finding.severity) === "WARNING" ? "warning" : "error",
            message: finding.message,
            file: finding.span?.file,
            line: finding.span?.line,
            column: finding.span?.column,
          })),
  };
  return Object.values(details).some((value) => value !== undefined) ? details : undefined;
}

function parseJson(response: Response, body: Uint8Array): Record<string, unknown> | undefined {
  if (!/^application\/(?:[\w.+-]+\+)?json/i.test(response.headers.get("content-type") ?? "")) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function describeBody(response: Response, body: Uint8Array): string {
  const type = (response.headers.get("content-type") ?? "").split(";")[0];
  if (body.length === 0) return ", empty body";
  const title =
    type === "text/html" ? /<title[^>]*>([^<]{1,80})/i.exec(new TextDecoder().decode(body.subarray(0, 20_000)))?.[1] : undefined;
  if (type === "text/html") return `, a web page${title ? ` ("${title.trim()}")` : ""}`;
  return type ? `, ${type}` : "";
}
