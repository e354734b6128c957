/** The token and the requests of one client. */

import { AuthenticationError, type ErrorDetail, QueryError, ServerUnreachable, UnexpectedAnswer } from "./errors.ts";
import { Retries } from "./retries.ts";
import { toJson } from "./values.ts";

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The settings of a session, all of them known. */
export interface SessionSettings {
  /** Without a slash at the end. */
  readonly apiServer: string;
  /** Gives the token of a call; `refused` is one that the server no longer takes. */
  readonly token: ((refused: string | undefined) => string | Promise<string>) | undefined;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly environment: string | undefined;
  readonly branch: string | undefined;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly fetch: Fetch;
}

/** What differs between calls. */
export interface CallOptions {
  /** Milliseconds that the call may take, with everything that it does. */
  readonly timeoutMs?: number;
  /** Ends the call. */
  readonly signal?: AbortSignal;
  /** The environment to ask, instead of the client's. */
  readonly environment?: string;
}

/** A call of the API. */
export interface Call extends CallOptions {
  readonly method: "GET" | "POST" | "PUT";
  /** Below the server's address, or a whole address, which is asked without the token. */
  readonly path: string;
  readonly body?: unknown;
  /** A stream of Arrow in place of a body, which is answered with one. */
  readonly table?: Uint8Array<ArrayBuffer>;
  /** Whether it has no further effect when it is sent twice; default true. */
  readonly idempotent?: boolean;
}

interface Exchanged {
  readonly token: string;
  readonly queryServer: string;
  /** Milliseconds since 1970 from which on another one is asked for. */
  readonly refreshAt: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** Milliseconds beyond the end of a call that the server has to report that the time is up. */
const GRACE_MS = 1_000;
/** Most bytes of an answer, as they are once the runtime has inflated them. */
const MOST_BYTES = 2 ** 30;
/** The media type of tables of Arrow. */
const ARROW_STREAM = "application/vnd.apache.arrow.stream";
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1 - GRACE_MS;

/** A session: requests with a token, in time, and again where that is right. */
export class Session {
  readonly #settings: SessionSettings;
  readonly #retries: Retries;
  #exchanging: Promise<Exchanged> | undefined;
  #exchanged: Exchanged | undefined;

  constructor(settings: SessionSettings) {
    this.#settings = settings;
    this.#retries = new Retries(settings.maxRetries);
  }

  /**
   * The JSON that a call is answered with. Rejects with a SvcError, and with the signal's reason
   * when that ends it.
   */
  async call(call: Call): Promise<Fields> {
    const response = await this.#answered(call);
    const body = await jsonOf(response, call.path);
    if (response.ok && typeof body === "object" && body !== null) return body as Fields;
    throw failureOf(response.status, body);
  }

  /** The stream of Arrow that a call with one is answered with. Rejects as `call` does. */
  async table(call: Call): Promise<Uint8Array<ArrayBuffer>> {
    const response = await this.#answered(call);
    const type = response.headers.get("content-type");
    if (response.ok && type === ARROW_STREAM) return new Uint8Array(await response.arrayBuffer());
    const body = await jsonOf(response, call.path);
    if (!response.ok) throw failureOf(response.status, body);
    throw new UnexpectedAnswer(
      `${call.path} answered with ${type} instead of a table of Arrow: is the server older than this client?`,
      200,
    );
  }

  /** The bytes at a signed address. Rejects as `call` does. */
  async content(address: string, options: CallOptions): Promise<Uint8Array<ArrayBuffer>> {
    const { path, ends } = { path: this.#below(address), ends: this.#endOf(options) };
    const response = await this.#sent(path, { method: "GET" }, ends, true, options.signal);
    if (!response.ok)
      throw new UnexpectedAnswer(`${path} answered ${response.status}: its address may have expired; ask again`, response.status);
    return new Uint8Array(await response.arrayBuffer());
  }

  async #answered(call: Call): Promise<Response> {
    const { environment, branch } = this.#settings;
    const ends = this.#endOf(call);
    const { body, table } = call;
    const headers: Record<string, string> = { accept: table ? ARROW_STREAM : "application/json" };
    const asked = call.environment ?? environment;
    if (asked) headers["svc-environment"] = headerText(asked);
    if (branch) headers["svc-branch"] = headerText(branch);
    if (table ?? body) headers["content-type"] = table ? ARROW_STREAM : "application/json";
    const content = table ?? (body === undefined ? undefined : toJson(body));
    const init = { method: call.method, ...(content !== undefined && { body: content }) };
    const send = async (refused?: string): Promise<{ readonly response: Response; readonly token: string }> => {
      const { token, server } = await this.#token(ends, refused, call.signal);
      const authorized = { ...init, headers: { ...headers, authorization: `Bearer ${token}` } };
      const base = call.method === "POST" ? server : this.#settings.apiServer;
      return { token, response: await this.#sent(`${base}${call.path}`, authorized, ends, call.idempotent ?? true, call.signal) };
    };
    let { response, token } = await send();
    if (response.status === 401) ({ response, token } = await send(token));
    if (response.status === 401) {
      const said = messageOf(await jsonOf(response, call.path));
      throw new AuthenticationError(`${this.#settings.apiServer} does not take the token: ${said}`);
    }
    return response;
  }

  #endOf({ timeoutMs = this.#settings.timeoutMs }: CallOptions): number {
    if (!(timeoutMs > 0)) throw new TypeError(`timeoutMs is a number of milliseconds above zero, not ${timeoutMs}`);
    return Date.now() + Math.min(timeoutMs, LONGEST_TIMEOUT_MS);
  }

  #below(address: string): string {
    return /^https?:\/\//.test(address) ? address : `${this.#settings.apiServer}${address}`;
  }

  /** Sends a request, and again as the policy allows. */
  async #sent(url: string, init: RequestInit, ends: number, idempotent: boolean, signal: AbortSignal | undefined): Promise<Response> {
    for (let retried = 0; ; retried++) {
      const attempt = { retried, idempotent, ends };
      let wait: number | undefined;
      try {
        const response = await this.#once(url, init, ends, signal);
        wait = this.#retries.wait({ ...attempt, answered: { status: response.status, retryAfter: response.headers.get("retry-after") } });
        if (wait === undefined) return response;
        await response.body?.cancel();
      } catch (error) {
        if (!(error instanceof ServerUnreachable) || error.timedOut) throw error;
        wait = this.#retries.wait({ ...attempt, broken: error });
        if (wait === undefined) throw error;
      }
      await pause(wait, signal);
    }
  }

  async #once(url: string, init: RequestInit, ends: number, signal: AbortSignal | undefined): Promise<Response> {
    signal?.throwIfAborted();
    const left = ends - Date.now();
    const said = (what: string, sent: boolean, timedOut: boolean, cause?: unknown) =>
      new ServerUnreachable(`${new URL(url).origin} ${what}`, { sent, timedOut, cause });
    if (left <= 0) throw said("did not answer in time", false, true);
    const clock = AbortSignal.timeout(left + GRACE_MS);
    const headers = { "connect-timeout-ms": String(Math.ceil(left)), ...(init.headers as Record<string, string>) };
    try {
      const response = await this.#settings.fetch(url, {
        ...init,
        headers,
        redirect: "error",
        signal: signal ? AbortSignal.any([signal, clock]) : clock,
      });
      // Read here, so that a body that breaks off is a connection that broke.
      const content = await contentOf(url, response);
      const isBare = [101, 204, 205, 304].includes(response.status);
      return new Response(isBare ? null : content, { status: response.status, headers: response.headers });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (clock.aborted) throw said("did not answer in time", true, true, error);
      if (error instanceof UnexpectedAnswer) throw error;
      throw said(`cannot be reached: ${causeOf(error)}`, !neverConnected(error), false, error);
    }
  }

  /** The token of a call, and the server of its queries. */
  async #token(
    ends: number,
    refused: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly token: string; readonly server: string }> {
    const { apiServer, token } = this.#settings;
    if (token) return { token: await token(refused), server: apiServer };
    const known = this.#exchanged;
    if (known && known.token !== refused && Date.now() < known.refreshAt) return { token: known.token, server: known.queryServer };
    // All calls that wait for a token wait for the same one; a caller that gives up does not take
    // it from the others.
    this.#exchanging ??= this.#exchange(ends).finally(() => {
      this.#exchanging = undefined;
    });
    const fresh = await ended(this.#exchanging, signal);
    return { token: fresh.token, server: fresh.queryServer };
  }

  async #exchange(ends: number): Promise<Exchanged> {
    const { apiServer, clientId, clientSecret, environment } = this.#settings;
    const body = JSON.stringify({ client_id: clientId, client_secret: clientSecret, grant_type: "client_credentials" });
    const headers = { "content-type": "application/json", accept: "application/json" };
    const response = await this.#sent(`${apiServer}/v1/oauth/token`, { method: "POST", headers, body }, ends, true, undefined);
    const got = await jsonOf(response, "/v1/oauth/token");
    if (response.status === 400 || response.status === 401)
      throw new AuthenticationError(`${apiServer} rejected the client ID and secret: ${messageOf(got)}`);
    const { access_token, engines, expires_in, primary_environment } = (got ?? {}) as {
      access_token?: string;
      expires_in?: number;
      engines?: Record<string, string>;
      primary_environment?: string;
    };
    if (!response.ok || !access_token || !expires_in)
      throw new UnexpectedAnswer(
        `${apiServer} answered the token exchange with ${response.status} and no token: ${messageOf(got)}`,
        response.status,
      );
    const engine = engines?.[environment ?? primary_environment ?? ""];
    const fresh: Exchanged = {
      token: access_token,
      queryServer: engine ? serverAddress(engine) : apiServer,
      refreshAt: Date.now() + expires_in * 1000 - Math.min(60_000, expires_in * 100),
    };
    this.#exchanged = fresh;
    return fresh;
  }
}

/** The bytes of an answer, inflated. Rejects with UnexpectedAnswer when they are too many. */
async function contentOf(url: string, response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done || !value) break;
    length += value.length;
    if (length > MOST_BYTES) {
      await reader?.cancel();
      throw new UnexpectedAnswer(`${url} answered with more than ${MOST_BYTES / 2 ** 20} MiB`, response.status);
    }
    parts.push(value);
  }
  const content = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    content.set(part, at);
    at += part.length;
  }
  return content;
}

async function jsonOf(response: Response, path: string): Promise<unknown> {
  const type = response.headers.get("content-type") ?? "";
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type))
    throw new UnexpectedAnswer(
      `${path} answered ${response.status} with ${type || "nothing"} instead of JSON: is it an svc server?`,
      response.status,
    );
  try {
    return await response.json();
  } catch {
    throw new UnexpectedAnswer(`${path} answered ${response.status} with JSON that cannot be read`, response.status);
  }
}

function failureOf(status: number, body: unknown): Error {
  const errors = (body as { errors?: readonly ErrorDetail[] } | null)?.errors;
  if (Array.isArray(errors) && errors.length > 0) return new QueryError(errors, status);
  return new UnexpectedAnswer(`the server answered ${status}: ${messageOf(body)}`, status);
}

function messageOf(body: unknown): string {
  const { error, error_description, hint, message } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const said = [error_description, message, error].find((text) => typeof text === "string");
  return said === undefined ? "no reason given" : `${said}${typeof hint === "string" ? ` ${hint}` : ""}`;
}

/** What broke a connection: `fetch` hides it in the cause. */
function causeOf(error: unknown): string {
  const cause = (error as { cause?: unknown } | null)?.cause ?? error;
  const { code, message } = (cause ?? {}) as { code?: string; message?: string };
  return message || code || String(cause);
}

/** Whether the request never left, as the codes of Node and Bun say; browsers do not tell. */
function neverConnected(error: unknown): boolean {
  const codes = [error, (error as { cause?: unknown } | null)?.cause].map((one) => (one as { code?: string } | null)?.code ?? "");
  return codes.some((code) => /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ConnectionRefused|UND_ERR_CONNECT_TIMEOUT)$/.test(code));
}

/** What a promise gives, unless the signal ends the waiting for it. */
function ended<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** Waits, unless the signal ends it. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return ended(new Promise((resolve) => setTimeout(resolve, ms)), signal);
}

/**
 * The address of a server in full, without a slash at the end: `localhost:5757` is
 * `http://localhost:5757`, `example.com` is `https://example.com`. Throws a TypeError.
 */
export function serverAddress(given: string): string {
  const isLocal = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?(?:\/|$)/i.test(given);
  const text = /^https?:\/\//i.test(given) ? given : `${isLocal ? "http" : "https"}://${given}`;
  const { href, hash, password, search, username } = new URL(text);
  if (hash || password || search || username)
    throw new TypeError(`the server address ${given} holds more than scheme, host, port and path`);
  return href.replace(/\/+$/, "");
}

/** Header values are ASCII: other characters, and `%`, are written as in a URL. */
function headerText(value: string): string {
  return value.replace(/[^\x21-\x24\x26-\x7e]+/g, encodeURIComponent);
}
