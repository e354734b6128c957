/** The names by which the gateway knows what containers serve. */

import { createHash } from "node:crypto";

/** What a route leads to. */
export type RouteKind = "container" | "group";

/** Most characters of a name in a label, which is a part of a host name and has 63 at most. */
const MAX_NAME = 50;
const DIGEST_LENGTH = 10;

/**
 * The label of a route: the name, and a part that tells environments apart. It stays the same when
 * another container takes the name, and is a part of a host name as well as one of a path.
 */
export function routeLabel(kind: RouteKind, environmentId: string, name: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([kind, environmentId, name]))
    .digest("hex");
  return `${name.slice(0, MAX_NAME).replace(/-+$/, "")}-${digest.slice(0, DIGEST_LENGTH)}`;
}

/**
 * The address of a route. gRPC has no room for a prefix in its paths, so it is found by its host.
 * @param base address of the gateway, such as `http://127.0.0.1:5759`
 */
export function routeAddress(base: string, label: string, isGrpc: boolean): string {
  if (!isGrpc) return `${base}/${label}/`;
  const { host, hostname, port, protocol } = new URL(base);
  const isAddress = hostname.startsWith("[") || /^[\d.]+$/.test(hostname);
  return `${protocol}//${label}.${isAddress ? `localhost:${port}` : host}`;
}
