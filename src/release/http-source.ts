/**
 * Files of a release host over HTTP: bounded in bytes and in time, and never redirected away from
 * https.
 */

import { NetworkError, transientNetwork, type WireFetch } from "../client/fetch.ts";
import { type RetryPolicy, retryAfterMs, type Transient } from "../client/retry.ts";
import { systemCode } from "../disk/disk-error.ts";
import { CliError } from "../errors/cli-error.ts";
import { describeOrigin, type Origin } from "./origin.ts";
import { ReleaseError } from "./release-error.ts";

/** Longest wait for the headers of an answer, and between two chunks of a body. */
const STALL_MS = 30_000;
/** Time limit of a download. */
const TOTAL_MS = 2 * 60 * 60 * 1000;
const MAX_REDIRECTS = 5;
/** Statuses of a host that is overloaded or not ready. */
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** The dependencies of a request. */
export interface HttpAccess {
  readonly fetch: WireFetch;
  readonly origin: Origin;
  readonly retry: RetryPolicy;
  /** Longest wait without a byte; default 30 s. */
  readonly stallMs?: number;
}

/** A transient failure. */
class PassingError extends ReleaseError {
  constructor(
    message: string,
    readonly transient: Transient,
    cause?: unknown,
  ) {
    super(message, "release_unreachable", { hint: "Try again later, or name another host with --from.", cause });
  }
}

/**
 * The bytes of a file. Fails as soon as there are more than `maxBytes`. After a transient failure
 * it resumes at the same offset. Throws ReleaseError: release_not_found, release_unreachable,
 * release_too_large, release_insecure.
 */
export async function* downloadUrl(access: HttpAccess, url: string, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  let body: AsyncGenerator<Uint8Array> | undefined;
  const next = async () => {
    body ??= bodyFrom(access, url, size, maxBytes);
    try {
      return await body.next();
    } catch (error) {
      body = undefined;
      throw error;
    }
  };
  try {
    for (;;) {
      const { value, done } = await access.retry.run(true, next, (error) => (error instanceof PassingError ? error.transient : undefined));
      if (done) return;
      size += value.length;
      yield value;
    }
  } finally {
    await body?.return(undefined);
  }
}

/**
 * The bytes of a file from `offset` on, in one attempt: when a host does not support ranges, the
 * bytes before `offset` are skipped.
 */
async function* bodyFrom(access: HttpAccess, url: string, offset: number, maxBytes: number): AsyncGenerator<Uint8Array> {
  const { origin, stallMs = STALL_MS } = access;
  const stall = new AbortController();
  const tooSlow = () =>
    stall.abort(
      new ReleaseError(`no answer within ${stallMs / 1000} s from ${url}`, "release_unreachable", {
        hint: "Try again, or name another host with --from.",
      }),
    );
  let timer = setTimeout(tooSlow, stallMs);
  try {
    const response = await follow(access, url, offset, stall.signal);
    let at = response.status === 206 ? offset : 0;
    const declared = at + Number(response.headers.get("content-length") ?? 0);
    if (declared > maxBytes) throw tooLarge(url, maxBytes);
    for await (const chunk of response.body ?? []) {
      clearTimeout(timer);
      const passed = Math.min(chunk.length, Math.max(0, offset - at));
      at += chunk.length;
      if (at > maxBytes) throw tooLarge(url, maxBytes);
      if (passed < chunk.length) yield chunk.subarray(passed);
      timer = setTimeout(tooSlow, stallMs);
    }
    if (at < declared) throw new PassingError(`${url} ended after ${at} of ${declared} bytes`, {});
  } catch (error) {
    if (stall.signal.aborted) throw stall.signal.reason;
    throw failure(error, origin, url);
  } finally {
    clearTimeout(timer);
    stall.abort(new CliError("the download is over", { code: "internal" }));
  }
}

function failure(error: unknown, origin: Origin, url: string): unknown {
  if (error instanceof ReleaseError) return error;
  if (error instanceof NetworkError) {
    const transient = transientNetwork(error);
    if (transient) return new PassingError(error.message, transient, error);
    return new ReleaseError(error.message, "release_unreachable", {
      hint: "Check the network, or name another host or a folder with --from.",
      cause: error,
    });
  }
  if (/^(ECONN|EPIPE|Connection|ETIMEDOUT)/.test(systemCode(error) ?? ""))
    return new PassingError(`the connection to ${describeOrigin(origin)} was cut before ${url} was complete`, {}, error);
  return error;
}

async function follow({ fetch, origin }: HttpAccess, first: string, offset: number, signal: AbortSignal): Promise<Response> {
  const headers = { "accept-encoding": "identity", ...(offset > 0 ? { range: `bytes=${offset}-` } : {}) };
  let url = first;
  for (let turn = 0; turn <= MAX_REDIRECTS; turn++) {
    const response = await fetch(
      { url: origin.base, what: "release host", source: origin.source },
      { method: "GET", url, headers: new Headers(headers), timeoutMs: TOTAL_MS, signal, raw: true },
    );
    const { status } = response;
    if (status === 206 && !response.headers.get("content-range")?.startsWith(`bytes ${offset}-`))
      throw new ReleaseError(`${url} answered with another part of the file than was asked for`, "release_unreachable", {
        hint: "Name another host with --from.",
      });
    if (response.ok) return response;
    if (status === 404 || status === 410) {
      throw new ReleaseError(`${url} is not there`, "release_not_found", { hint: `It was looked for at ${describeOrigin(origin)}.` });
    }
    if (PASSING_STATUS.has(status))
      throw new PassingError(`${url} answered with HTTP status ${status}`, {
        retryAfterMs: retryAfterMs(response.headers.get("retry-after"), Date.now()),
      });
    const location = response.headers.get("location");
    if (status < 300 || status >= 400 || location === null || !URL.canParse(location, url)) {
      throw new ReleaseError(`${url} answered with HTTP status ${status}`, "release_unreachable", {
        hint: "Try again later, or name another host with --from.",
      });
    }
    const next = new URL(location, url);
    if (next.protocol !== "https:" && (next.protocol !== "http:" || url.startsWith("https:"))) {
      throw new ReleaseError(`${url} leads to ${next.href}, which is not https`, "release_insecure", {
        hint: "Nothing was downloaded. Name another host with --from.",
      });
    }
    url = next.href;
  }
  throw new ReleaseError(`${first} leads from one address to the next without end`, "release_unreachable", {
    hint: "Name another host with --from.",
  });
}

function tooLarge(where: string, maxBytes: number): ReleaseError {
  return new ReleaseError(`${where} is larger than the ${maxBytes} bytes it may have`, "release_too_large", {
    hint: "Nothing was installed. The host does not serve what was signed: name another one with --from.",
  });
}
