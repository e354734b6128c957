/**
 * The shared fetch function. Every request passes through it, so that no environment variable can
 * make the request print headers or skip certificate checks, so that each request is logged without
 * its secrets, and so that each failure says what was tried.
 */

import { isLoopback } from "../config/address.ts";
import { describeSource } from "../config/resolve.ts";
import type { Source } from "../config/settings.ts";
import { errorText } from "../domain/error-text.ts";
import { CliError } from "../errors/cli-error.ts";
import { type HttpProxy, type Proxies, throughProxy } from "./proxy.ts";
import type { Redactor } from "./redact.ts";
import type { RequestHost } from "./request-host.ts";
import type { Transient } from "./retry.ts";
import type { TlsFault } from "./tls.ts";

/** An address with its name and its origin, for messages. */
export interface Endpoint {
  /** Without a slash at the end. */
  readonly url: string;
  /** The server's name in messages, for example "API server". */
  readonly what: string;
  readonly source: Source;
}

/**
 * Longest body that is accepted, after decompression, unless a call sets another limit. Decoding a
 * message takes some twenty times its size in memory, so a larger limit would not help.
 */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * The ways in which a request can go unanswered: `unreachable` when no connection was made,
 * `timeout` when nothing came in time, `connection_lost` when the connection broke. Scripts tell
 * them apart by the error's `code` with --json; the exit code is that of every failure.
 */
export type NetworkFault = "unreachable" | "timeout" | "connection_lost";

const MAX_REDIRECTS = 5;

/** No answer, or a truncated one: the server may or may not have received the request. */
export class NetworkError extends CliError {
  override readonly name = "NetworkError";
  constructor(
    message: string,
    hint: string,
    /** Whether another attempt may succeed. */
    readonly passing: boolean,
    cause: unknown,
    fault: NetworkFault = "unreachable",
  ) {
    super(message, { code: fault, hint, cause });
  }
}

/** Whether and when a network failure may be retried; undefined when it may not. */
export function transientNetwork(error: unknown): Transient | undefined {
  return error instanceof NetworkError && error.passing ? {} : undefined;
}

/** An HTTP request of a command. The command's abort signal always applies too. */
export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly url: string;
  readonly headers: Headers;
  /** A stream can be sent only once. */
  readonly body?: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Whether redirects are followed; only downloads do so. */
  readonly followRedirects?: boolean;
  /**
   * Whether the answer is returned unprocessed: redirects are not followed and nothing is
   * decompressed. For files whose exact bytes matter.
   */
  readonly raw?: boolean;
}

/** The fetch function of a command. */
export type WireFetch = (endpoint: Endpoint, request: WireRequest) => Promise<Response>;

/** The fetch function of a command. Requests go only through the given proxies. */
export function createWireFetch(
  host: Pick<RequestHost, "flags" | "progress" | "signal" | "surroundings">,
  { redactor, proxies }: { readonly redactor: Redactor; readonly proxies: Proxies },
): WireFetch {
  const send = async (endpoint: Endpoint, request: WireRequest, timeout: AbortSignal): Promise<Response> => {
    const started = performance.now();
    const proxy = proxies(request.url);
    if (host.flags.debug) {
      host.progress.debug(redactor.text(`> ${request.method} ${request.url}${throughProxy(proxies, request.url)}`));
      for (const line of redactor.headers(request.headers)) host.progress.debug(`> ${line}`);
    }
    try {
      const response = await fetch(request.url, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        redirect: "manual",
        signal: AbortSignal.any([host.signal, timeout, ...(request.signal ? [request.signal] : [])]),
        verbose: false,
        decompress: request.raw !== true,
        proxy: proxy?.url ?? DIRECT,
        tls: { rejectUnauthorized: true },
      } as RequestInit);
      if (host.flags.debug) {
        host.progress.debug(`< ${response.status} in ${(performance.now() - started).toFixed(1)} ms`);
        for (const line of redactor.headers(response.headers)) host.progress.debug(`< ${line}`);
      }
      if (response.status === 407 && proxy) throw proxyRefused(proxy, endpoint, "407 Proxy Authentication Required", undefined);
      return response;
    } catch (error) {
      const fault = await tlsFault(error, request.url, host, proxy);
      if (fault)
        throw new NetworkError(
          `${describeEndpoint(endpoint, proxy)} ${fault.description}`,
          fault.hint ?? checkAddress(endpoint),
          false,
          error,
        );
      throw networkFailure(error, endpoint, request, { timeout, interrupted: host.signal, proxy });
    }
  };
  return async (endpoint, request) => {
    const timeout = AbortSignal.timeout(request.timeoutMs);
    for (let turn = 0, url = request.url; ; turn++) {
      const response = await send(endpoint, { ...request, url }, timeout);
      if (response.status < 300 || response.status >= 400 || request.raw) return response;
      const next = request.followRedirects && turn < MAX_REDIRECTS ? nextAddress(response, url) : undefined;
      if (next === undefined) throw redirected(endpoint, response, redactor);
      await response.body?.cancel();
      url = next;
    }
  };
}

/**
 * Keeps Bun from choosing a proxy: without this, Bun uses one that the environment names for every
 * host, this machine included.
 */
const DIRECT = false;

/** The target of a redirect; undefined when it is missing or malformed, or leaves https. */
function nextAddress(response: Response, url: string): string | undefined {
  const location = response.headers.get("location");
  if (location === null || !URL.canParse(location, url)) return undefined;
  const next = new URL(location, url);
  return next.protocol === "https:" || (next.protocol === "http:" && url.startsWith("http:")) ? next.href : undefined;
}

/**
 * The TLS fault behind a failed request; undefined when the failure is another one. Loads the
 * diagnosing modules only for such failures.
 */
async function tlsFault(
  error: unknown,
  url: string,
  host: Pick<RequestHost, "signal" | "surroundings">,
  proxy: HttpProxy | undefined,
): Promise<TlsFault | undefined> {
  const code = codeOf(error);
  if (!url.startsWith("https:") || !/^EPROTO$|CERT|SELF_SIGNED|ISSUER|LEAF|TLS|SSL/.test(code) || host.signal.aborted) return undefined;
  const { certificateFault, handshakeFault } = await import("./tls.ts");
  const fault = certificateFault(code, host.surroundings.env.NODE_EXTRA_CA_CERTS);
  return fault ?? (proxy ? undefined : handshakeFault(url, host.signal));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function describeEndpoint(endpoint: Endpoint, proxy?: HttpProxy): string {
  const server = `${endpoint.url} (${endpoint.what}, from ${describeSource(endpoint.source)})`;
  return proxy ? `${server} through the proxy ${proxy.shown}` : server;
}

/**
 * The whole body. Throws NetworkError when it is truncated, and a CliError when it is larger than
 * `maxBytes`.
 */
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
      if (size > maxBytes) throw answerTooLarge(endpoint, maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    throw networkFailure(error, endpoint, request);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/**
 * Whether the answer proves that the body is complete: by its length, its last chunk, or the end of
 * its compression. An answer that ends when the connection closes may be truncated anywhere, and
 * half a message can look like a whole one.
 */
export function isProvablyComplete({ headers }: Response, body: Uint8Array): boolean {
  if ((headers.get("content-encoding") ?? "identity") !== "identity") return body.length > 0;
  return headers.has("content-length") || headers.has("transfer-encoding");
}

/** The error for an answer that exceeds the limit. */
export function answerTooLarge(endpoint: Endpoint, maxBytes: number): CliError {
  return new CliError(`the answer of ${endpoint.url} is larger than ${Math.round(maxBytes / 1048576)} MiB`, {
    code: "answer_too_large",
    hint: "Ask for less at once, for example fewer rows or fewer features.",
  });
}

/**
 * The error for a failure of `fetch` or of reading a body: it says what was tried, and through
 * which proxy. An abort by the user stays as it is.
 */
export function networkFailure(
  error: unknown,
  endpoint: Endpoint,
  request: Pick<WireRequest, "timeoutMs">,
  attempt: { readonly timeout?: AbortSignal; readonly interrupted?: AbortSignal; readonly proxy?: HttpProxy } = {},
): unknown {
  const { timeout, interrupted, proxy } = attempt;
  if (error instanceof CliError) return error;
  if (interrupted?.aborted) return interrupted.reason;
  const server = describeEndpoint(endpoint);
  const where = describeEndpoint(endpoint, proxy);
  const code = codeOf(error);
  const name = error instanceof Error ? error.name : "";
  const nextStep = proxy ? checkProxy(endpoint) : addressHint(endpoint);
  const fail = (message: string, passing: boolean, hint = nextStep, fault: NetworkFault = "unreachable") =>
    new NetworkError(message, hint, passing, error, fault);
  if (timeout?.aborted || name === "TimeoutError") {
    return fail(
      `no answer within ${request.timeoutMs / 1000} s from ${where}`,
      true,
      "Try again; `svc healthcheck` shows which part is slow.",
      "timeout",
    );
  }
  if (name === "AbortError") return error;
  if (code === "ERR_PROXY_TUNNEL" && proxy) return proxyRefused(proxy, endpoint, tunnelAnswer(error), error);
  switch (code) {
    case "ECONNREFUSED":
      if (proxy) return fail(`the proxy ${proxy.shown} on the way to ${server} does not answer: connection refused`, false);
      return fail(`nothing answers at ${where}: connection refused`, false);
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "EAI_NODATA":
      if (proxy) return fail(`the name of the proxy ${proxy.shown} on the way to ${server} cannot be resolved`, code === "EAI_AGAIN");
      return fail(`the name of ${where} cannot be resolved`, code === "EAI_AGAIN");
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
      return fail(`${where} cannot be reached`, true);
    case "ECONNRESET":
    case "EPIPE":
    case "ConnectionClosed":
      return fail(`the connection to ${where} was closed before the answer was complete`, true, "Try again.", "connection_lost");
    case "Malformed_HTTP_Response":
      return fail(`what answers at ${where} does not speak HTTP as svc does`, false, checkAddress(endpoint));
    case "ZlibError":
    case "BrotliDecompressionError":
    case "ZstdDecompressionError":
      return fail(`the answer of ${where} is cut or broken: it cannot be decompressed`, false, "Try again.", "connection_lost");
  }
  return fail(`the request to ${where} failed: ${errorText(error)}`, false);
}

/** The hint for an address that seems wrong. */
export function checkAddress(endpoint: Endpoint): string {
  return endpoint.source.kind === "service"
    ? "Run `svc doctor`, so that the address is asked for anew."
    : `Check the address: \`svc config\` shows it, --api-host overrides it.`;
}

function addressHint(endpoint: Endpoint): string {
  return endpoint.source.kind !== "service" && isLoopback(endpoint.url)
    ? "Start a server with `svc server start`, or name another with --api-host."
    : checkAddress(endpoint);
}

/** The hint for a failure that a proxy may have caused. */
export function checkProxy(endpoint: Endpoint): string {
  return `Correct the variable, or, if the server is reached without a proxy, name its host in NO_PROXY: ${new URL(endpoint.url).hostname}.`;
}

function proxyRefused(proxy: HttpProxy, endpoint: Endpoint, answer: string, cause: unknown): NetworkError {
  const what = `the proxy ${proxy.shown} did not let the request to ${endpoint.url} (${endpoint.what}) through: ${answer}`;
  const credentials = answer.startsWith("407") ? "Give its user and password in the variable: http://USER:PASSWORD@HOST:PORT. " : "";
  return new NetworkError(what, credentials + checkProxy(endpoint), false, cause);
}

/**
 * The status with which a proxy refused to open a tunnel; the runtime puts it at the end of its
 * message.
 */
function tunnelAnswer(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^.*: (?=\d{3} )/, "") : String(error);
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
