/** Plain HTTP: ofetch on the one fetch function, with its own retries, parsing and status errors off, because the policy is ours. */

import type { Endpoint, WireFetch, WireRequest } from "./fetch.ts";

/** Sends a plain request; the body of the answer is still to be read. Rejects with NetworkError or CliError when there is no answer. */
export async function plainFetch(fetch: WireFetch, endpoint: Endpoint, request: WireRequest): Promise<Response> {
  const { createFetch, FetchError } = await import("ofetch");
  const send = (url: RequestInfo | URL, init?: RequestInit) =>
    fetch(endpoint, { ...request, url: String(url), headers: new Headers(init?.headers) });
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
