/**
 * What a proxy in front of the server says of a request: the scheme and the address that it was
 * sent with. It is believed of connections from this machine, where the proxy is; from elsewhere it
 * is the client's own claim, and taken away before anything reads it.
 */

import type { Connection } from "../connection.ts";
import { isLoopbackPeer } from "./guard.ts";

const SCHEME = "x-forwarded-proto";
const CLIENT = "x-forwarded-for";

/**
 * Takes away what a client elsewhere claims, and puts down what is seen: a connection over TLS is
 * encrypted whatever the headers say.
 */
export function dropForeignClaims(headers: Headers, { peer, encrypted }: Connection): void {
  if (encrypted) headers.set(SCHEME, "https");
  if (!headers.has(SCHEME) && !headers.has(CLIENT)) return;
  if (peer === undefined || isLoopbackPeer(peer())) return;
  if (!encrypted) headers.delete(SCHEME);
  headers.delete(CLIENT);
}

/**
 * Whether the client's own connection is encrypted: that to this server, or that to a proxy in
 * front, which says so.
 */
export function isEncrypted(headers: Headers): boolean {
  return headers.get(SCHEME)?.trim().toLowerCase() === "https";
}

/**
 * Address of the client: the last that a proxy put down, else that of the connection; empty when it
 * is not known.
 */
export function clientAddress(headers: Headers, peer: (() => string | undefined) | undefined): string {
  const forwarded = headers.get(CLIENT)?.split(",").at(-1)?.trim();
  return (forwarded || peer?.() || "").replace(/^::ffff:/i, "").slice(0, 100);
}
