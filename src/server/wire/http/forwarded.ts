/**
 * The headers by which a proxy in front of the server tells the scheme and the client address of a
 * request. They are trusted on connections from this machine, where the proxy runs; from elsewhere
 * they are the client's own claims, and removed before anything reads them.
 */

import type { Connection } from "../connection.ts";
import { isLoopbackPeer } from "./guard.ts";

const SCHEME = "x-forwarded-proto";
const CLIENT = "x-forwarded-for";

/**
 * Removes these headers from requests of other machines, and sets the scheme to https for
 * connections over TLS to this server.
 */
export function dropForeignClaims(headers: Headers, { peer, encrypted }: Connection): void {
  if (encrypted) headers.set(SCHEME, "https");
  if (!headers.has(SCHEME) && !headers.has(CLIENT)) return;
  if (peer === undefined || isLoopbackPeer(peer())) return;
  if (!encrypted) headers.delete(SCHEME);
  headers.delete(CLIENT);
}

/**
 * Whether the client's connection is encrypted: its connection to this server or, by the proxy's
 * header, that to a proxy in front.
 */
export function isEncrypted(headers: Headers): boolean {
  return headers.get(SCHEME)?.trim().toLowerCase() === "https";
}

/**
 * Address of the client: the last one in the proxy's header, else that of the connection; empty
 * when unknown.
 */
export function clientAddress(headers: Headers, peer: (() => string | undefined) | undefined): string {
  const forwarded = headers.get(CLIENT)?.split(",").at(-1)?.trim();
  return (forwarded || peer?.() || "").replace(/^::ffff:/i, "").slice(0, 100);
}
