/**
 * Plain HTTP: ofetch on the shared fetch function. ofetch writes JSON bodies and their headers. Its
 * retries, parsing and status errors are off: retries share one policy and budget with calls, and
 * every answer is read only up to its limit.
 */

import type { Endpoint, WireFetch, WireRequest } from "./fetch.ts";

/** A plain HTTP request; a body that is an object is sent as JSON. */
export interface PlainRequest extends Omit<WireRequest, "body"> {
  readonly body?: WireRequest["body"] | Readonly<Record<string, string>>;
}

/**
 * Sends a plain request; the caller reads the body of the answer. Rejects with NetworkError or
 * CliError when there is no answer.
 */
export async function plainFetch(fetch: WireFetch, endpoint: Endpoint, request: PlainRequest): Promise<Response> {
  const { createFetch, FetchError } = await import("ofetch");
  const send = (url: RequestInfo | URL, init?: RequestInit) =>
    fetch(endpoint, { ...request, url: String(url), headers: new Headers(init?.headers), body: init?.body as WireRequest["body"] });
  const client = createFetch({ fetch: send as typeof globalThis.fetch });
  try {
    return await client.raw(request.url, {
      method: request.method,
      headers: request.headers,
      body: request.body,
      retry: false,
      ignoreResponseError: true,
      responseType: "stream",
    });
  } catch (error) {
    throw error instanceof FetchError && error.cause !== undefined ? error.cause : error;
  }
}
