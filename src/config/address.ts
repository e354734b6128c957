/** Addresses of servers as users give them. */

import { isLoopbackHost } from "../domain/ip-address.ts";
import { CliError } from "../errors/cli-error.ts";

/** Whether an address names this machine. */
export function isLoopback(url: string): boolean {
  return URL.canParse(url) && isLoopbackHost(new URL(url).hostname);
}

/**
 * The complete address, without a slash at the end: `example.com` is `https://example.com`,
 * `localhost:5757` is `http://localhost:5757`. Throws a CliError that names `from` when it is not
 * an HTTP address, or contains credentials.
 */
export function normalizeAddress(given: string, from: string): string {
  const text = given.trim();
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  const host = text.replace(/^(\[[^\]]*\]|[^:/?#]*).*$/s, "$1");
  const url = hasScheme ? text : `${isLoopbackHost(host) ? "http" : "https"}://${text}`;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !["http:", "https:"].includes(parsed.protocol) || parsed.hostname === "") {
    throw new CliError(`'${given}' (${from}) is no server address`, {
      code: "bad_address",
      hint: "Write it as https://host, or host:port.",
    });
  }
  if (parsed.username || parsed.password || parsed.search || parsed.hash) {
    throw new CliError(`the server address from ${from} holds more than scheme, host, port and path`, {
      code: "bad_address",
      hint: "Give the client ID and secret with `svc login`, not in the address.",
    });
  }
  return `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(/\/+$/, "")}`;
}
