/**
 * The one door to the network. Every request passes here, so that no environment variable can make it print headers or skip certificate checks,
 * so that each is logged without its secrets, and so that each failure says what was tried.
 */

import { isLoopback } from "../config/address.ts";
import { describeSource } from "../config/resolve.ts";
import type { Source } from "../config/settings.ts";
import type { Context } from "../context/context.ts";
import { CliError } from "../errors/cli-error.ts";
import type { Redactor } from "./redact.ts";
import type { Transient } from "./retry.ts";

/** An address, what it is, and where it came from, for messages. */
export interface Endpoint {
  /** Without a slash at the end. */
  readonly url: string;
  /** For example "API server". */
  readonly what: string;
  readonly source: Source;
}

/** Longest body that is taken, after decompression, unless a call says otherwise. */
export const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** No answer came, or it was cut: the request may or may not have arrived. */
export class NetworkError extends CliError {
  override readonly name = "NetworkError";
  constructor(
    message: string,
    hint: string,
    /** Whether another attempt may succeed. */
    readonly passing: boolean,
    cause: unknown,
  ) {
    super(message, { code: "unreachable", hint, cause });
  }
}

/** Whether and when a failure of the network may pass. */
export function transientNetwork(error: unknown): Transient | undefined {
  return error instanceof NetworkError && error.passing ? {} : undefined;
}

/** A request of ours; the signal of the command is always obeyed as well. */
export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly url: string;
  readonly headers: Headers;
  readonly body?: Uint8Array<ArrayBuffer> | string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Follow redirects; only downloads do. */
  readonly followRedirects?: boolean;
  /** The answer as it came: a redirect is handed back, and nothing is decompressed. For files whose bytes count. */
  readonly raw?: boolean;
}

/** The fetch function of a command. */
export type WireFetch = (endpoint: Endpoint, request: WireRequest) => Promise<Response>;

/** Makes the fetch function. */
export function createWireFetch(host: Pick<Context, "flags" | "progress" | "signal">, redactor: Redactor): WireFetch {
  return async (endpoint, request) => {
    const started = performance.now();
    const timeout = AbortSignal.timeout(request.timeoutMs);
    const signals = [host.signal, timeout, ...(request.signal ? [request.signal] : [])];
    if (host.flags.debug) {
      host.progress.debug(redactor.text(`> ${request.method} ${request.url}`));
      for (const line of redactor.headers(request.headers)) host.progress.debug(`> ${line}`);
    }
    try {
      const response = await fetch(request.url, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        redirect: request.followRedirects ? "follow" : "manual",
        signal: AbortSignal.any(signals),
        verbose: false,
        decompress: request.raw !== true,
        tls: { rejectUnauthorized: true },
      } as RequestInit);
      if (host.flags.debug) {
        host.progress.debug(`< ${response.status} in ${(performance.now() - started).toFixed(1)} ms`);
        for (const line of redactor.headers(response.headers)) host.progress.debug(`< ${line}`);
      }
      if (response.status >= 300 && response.status < 400 && !request.followRedirects && !request.raw)
        throw redirected(endpoint, response, redactor);
      return response;
    } catch (error) {
      throw networkFailure(error, endpoint, request, timeout, host.signal);
    }
  };
}

/** Reads a body whole. Throws NetworkError when it is cut, and a CliError when it is larger than `maxBytes`. */
export async function readBody(
  response: Response,
  endpoint: Endpoint,
  request: Pick<WireRequest, "timeoutMs">,
  maxBytes = MAX_BODY_BYTES,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > maxBytes) {
        throw new CliError(`the answer of ${endpoint.url} is larger than ${Math.round(maxBytes / 1048576)} MiB`, {
          code: "answer_too_large",
        });
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw networkFailure(error, endpoint, request, undefined, undefined);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** Turns a failure of `fetch` or of reading a body into an error that says what was tried; an abort by the user stays what it is. */
export function networkFailure(
  error: unknown,
  endpoint: Endpoint,
  request: Pick<WireRequest, "timeoutMs">,
  timeout: AbortSignal | undefined,
  interrupted: AbortSignal | undefined,
): unknown {
  if (error instanceof CliError) return error;
  if (interrupted?.aborted) return interrupted.reason;
  const where = `${endpoint.url} (${endpoint.what}, from ${describeSource(endpoint.source)})`;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const name = error instanceof Error ? error.name : "";
  const fail = (message: string, passing: boolean, hint = whatNext(endpoint)) => new NetworkError(message, hint, passing, error);
  if (timeout?.aborted || name === "TimeoutError") {
    return fail(
      `no answer within ${request.timeoutMs / 1000} s from ${where}`,
      true,
      "Try again; `svc healthcheck` shows which part is slow.",
    );
  }
  if (name === "AbortError") return error;
  switch (code) {
    case "ECONNREFUSED":
      return fail(`nothing answers at ${where}: connection refused`, false);
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "EAI_NODATA":
      return fail(`the name of ${where} cannot be resolved`, code === "EAI_AGAIN");
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
      return fail(`${where} cannot be reached`, true);
    case "ECONNRESET":
    case "EPIPE":
    case "ConnectionClosed":
      return fail(`the connection to ${where} was closed before the answer was complete`, true, "Try again.");
    case "Malformed_HTTP_Response":
    case "ZlibError":
    case "BrotliDecompressionError":
    case "ZstdDecompressionError":
      return fail(`what answers at ${where} does not speak HTTP as svc does`, false, checkAddress(endpoint));
    case "EPROTO":
      return fail(`${where} does not speak TLS`, false, "Write http:// in front of the address if the server has no certificate.");
  }
  if (/CERT|SELF_SIGNED|ISSUER|TLS|SSL/i.test(code)) {
    return fail(
      `the certificate of ${where} is not accepted: ${error instanceof Error ? error.message : code}`,
      false,
      "Name the authority's certificate in NODE_EXTRA_CA_CERTS.",
    );
  }
  return fail(`the request to ${where} failed: ${error instanceof Error ? error.message : String(error)}`, false);
}

/** The next step when an address turns out to be wrong. */
export function checkAddress(endpoint: Endpoint): string {
  return endpoint.source.kind === "service"
    ? "Run `svc doctor`, so that the address is asked for anew."
    : `Check the address: \`svc config\` shows it, --api-host overrides it.`;
}

function whatNext(endpoint: Endpoint): string {
  return endpoint.source.kind !== "service" && isLoopback(endpoint.url)
    ? "Start a server with `svc server start`, or name another with --api-host."
    : checkAddress(endpoint);
}

function redirected(endpoint: Endpoint, response: Response, redactor: Redactor): CliError {
  const to = response.headers.get("location");
  return new CliError(
    `${endpoint.url} (${endpoint.what}) answered with a redirect${to ? ` to ${redactor.text(to)}` : ""}, which is not followed`,
    {
      code: "redirected",
      hint: "Give the address it leads to with --api-host.",
    },
  );
}
