/** Files of a release host over HTTP: as many bytes as are wanted and no more, no step back from https, and no waiting for ever. */

import type { WireFetch } from "../client/fetch.ts";
import { CliError } from "../errors/cli-error.ts";
import { describeOrigin, type Origin } from "./origin.ts";
import { ReleaseError } from "./release-error.ts";

/** Longest wait for the head of an answer, and between two pieces of a body. */
export const STALL_MS = 30_000;
/** Longest download. */
const TOTAL_MS = 2 * 60 * 60 * 1000;
const MAX_REDIRECTS = 5;

/** What a request needs. */
export interface HttpAccess {
  readonly fetch: WireFetch;
  readonly origin: Origin;
  /** Longest wait without a byte; default 30 s. */
  readonly stallMs?: number;
}

/**
 * The bytes of a file. Stops with an error as soon as there are more than `maxBytes`. Throws ReleaseError: release_not_found, release_unreachable,
 * release_too_large, release_insecure.
 */
export async function* downloadUrl(access: HttpAccess, url: string, maxBytes: number): AsyncGenerator<Uint8Array> {
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
    const response = await follow(access, url, stall.signal);
    const declared = Number(response.headers.get("content-length") ?? 0);
    if (declared > maxBytes) throw tooLarge(url, maxBytes);
    let size = 0;
    for await (const chunk of response.body ?? []) {
      clearTimeout(timer);
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(url, maxBytes);
      yield chunk;
      timer = setTimeout(tooSlow, stallMs);
    }
    if (size < declared)
      throw new ReleaseError(`${url} ended after ${size} of ${declared} bytes`, "release_unreachable", { hint: "Try again." });
  } catch (error) {
    if (stall.signal.aborted) throw stall.signal.reason;
    if (error instanceof ReleaseError) throw error;
    if (error instanceof CliError && error.code === "unreachable")
      throw new ReleaseError(error.message, "release_unreachable", {
        hint: `Check the network, or name another host or a folder with --from.`,
        cause: error,
      });
    if (
      !(error instanceof CliError) &&
      error instanceof Error &&
      /^(ECONN|EPIPE|Connection|ETIMEDOUT)/.test("code" in error ? String(error.code) : "")
    )
      throw new ReleaseError(`the connection to ${describeOrigin(origin)} was cut before ${url} was complete`, "release_unreachable", {
        hint: "Try again.",
        cause: error,
      });
    throw error;
  } finally {
    clearTimeout(timer);
    stall.abort(new CliError("the download is over", { code: "internal" }));
  }
}

async function follow({ fetch, origin }: HttpAccess, first: string, signal: AbortSignal): Promise<Response> {
  let url = first;
  for (let turn = 0; turn <= MAX_REDIRECTS; turn++) {
    const response = await fetch(
      { url: origin.base, what: "release host", source: origin.source },
      { method: "GET", url, headers: new Headers({ "accept-encoding": "identity" }), timeoutMs: TOTAL_MS, signal, raw: true },
    );
    if (response.ok) return response;
    const { status } = response;
    if (status === 404 || status === 410) {
      throw new ReleaseError(`${url} is not there`, "release_not_found", { hint: `It was looked for at ${describeOrigin(origin)}.` });
    }
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
