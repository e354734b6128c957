/**
 * Whether a request may pass to what it names: its host, its route, who sends it, and its token.
 */

import { Permission } from "../../../gen/svc/v1/options_pb.ts";
import { authorize } from "../access/authorize.ts";
import type { Callers } from "../access/callers.ts";
import type { Environments } from "../access/environments.ts";
import { mayReach } from "../access/scope.ts";
import { Failure } from "../failure.ts";
import { type HeadField, valuesOf } from "../http1/head.ts";
import { isLoopback, isLoopbackPeer } from "../wire/http/guard.ts";
import type { Hop } from "./hops.ts";
import { clientOf, type Sender } from "./passed-fields.ts";
import { Refused } from "./refused.ts";
import type { Route, Routes } from "./route.ts";

/** A request as it came. */
export interface Asked {
  /** The Host header, or `:authority`. */
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  readonly fields: readonly HeadField[];
  /** Who sends it; to the first gateway, where another one passed it on. */
  readonly sender: Sender;
  /** Where the gateway of another node passed it on, which has admitted it too. */
  readonly hop?: Hop | undefined;
}

/** A request that may pass. */
export interface Admitted {
  readonly route: Route;
  /** Path and query for the route's server. */
  readonly target: string;
  /** What was taken from the front of the path; empty = nothing. */
  readonly prefix: string;
  /** Who sent it, where the route wants a token. */
  readonly clientId?: string;
}

/** A request whose credentials were refused. */
export interface RefusedCall extends Pick<Asked, "fields" | "sender"> {
  readonly route: Route;
  readonly code: "unauthenticated" | "permission_denied";
}

/** What admission depends on. */
export interface AdmissionParts {
  readonly routes: Routes;
  readonly callers: Callers;
  readonly environments: Pick<Environments, "list">;
  /** Names of the gateway in Host headers beside those of this machine, without ports. */
  readonly names: ReadonlySet<string>;
  /** Writes down that a request was refused. Never rejects. */
  readonly refused: (call: RefusedCall) => Promise<void>;
}

const LOCAL_NAMES: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Decides about a request by its head. Rejects with Refused.
 * @param onRoute told of the route, also when the request may not pass
 */
export async function admit(parts: AdmissionParts, asked: Asked, onRoute: (route: Route) => void): Promise<Admitted> {
  const { label, name, prefix, target } = asked.hop ? placeOfHop(asked.hop, asked.target) : placeOf(parts.names, asked);
  const route = await parts.routes.find(label);
  if (!route)
    throw new Refused(
      404,
      `There is no route '${label.slice(0, 100)}'.`,
      "`svc container get` and `svc scaling-group get` print the address of what has a port and has not ended.",
    );
  onRoute(route);
  if (asked.hop && route.node !== undefined)
    throw new Refused(
      421,
      `The ${route.what} is on another node, ${route.node}, than the gateway believed that passed the request on.`,
      "It has just moved: ask again.",
    );
  if (route.isPrivate) refuseOthers(asked, name);
  if (!route.isAuthenticated) return { route, target, prefix };
  try {
    return { route, target, prefix, clientId: await checkToken(parts, asked.fields, route) };
  } catch (error) {
    const code = error instanceof Refused ? REFUSALS[error.status] : undefined;
    if (code !== undefined) await parts.refused({ route, fields: asked.fields, sender: asked.sender, code });
    throw error;
  }
}

/** The same of a request that was passed on, whose route the first gateway has found. */
function placeOfHop({ label, prefix }: Hop, target: string) {
  const rest = target.startsWith(prefix) ? target.slice(prefix.length) : target;
  return { name: "", label, prefix, target: rest.startsWith("/") ? rest : `/${rest}` };
}

/** Where a request says that it goes: by the first part of its host, else by that of its path. */
function placeOf(names: ReadonlySet<string>, { host, target }: Asked) {
  const name = host.toLowerCase().replace(/:\d{1,5}$/, "");
  const isKnown = (one: string): boolean => LOCAL_NAMES.includes(one) || names.has(one);
  if (isKnown(name)) {
    const [, label = "", rest = ""] = /^\/([^/?]*)(.*)$/s.exec(target) ?? [];
    if (label === "") throw new Refused(404, "The path names no route.", "A path begins with the name of a route: /<route>/...");
    return { name, label, prefix: `/${label}`, target: rest.startsWith("/") ? rest : `/${rest}` };
  }
  const point = name.indexOf(".");
  const parent = name.slice(point + 1);
  if (point > 0 && isKnown(parent)) return { name: parent, label: name.slice(0, point), prefix: "", target };
  throw new Refused(
    421,
    "The Host header names neither this gateway nor a route of it.",
    "`svc server start --allowed-host <name>` gives the gateway further names; routes are at <route>.<name> too.",
  );
}

/** Refuses who is not on this machine, and pages of other sites in a browser on it. */
function refuseOthers({ fields, host, sender }: Asked, name: string): void {
  if (!isLoopbackPeer(clientOf(sender, fields)) || !isLoopback(name))
    throw new Refused(403, "This route is private: only clients on the server's machine reach it.");
  const origin = valuesOf(fields, "origin")[0]?.toLowerCase();
  const site = valuesOf(fields, "sec-fetch-site")[0];
  const isForeign =
    (origin !== undefined && origin !== `http://${host.toLowerCase()}` && origin !== `https://${host.toLowerCase()}`) ||
    (site !== undefined && site !== "same-origin" && site !== "none" && valuesOf(fields, "sec-fetch-mode")[0] !== "navigate");
  if (isForeign) throw new Refused(403, "This route is private, and takes no requests of pages of other sites.");
}

/** Statuses that say that credentials were refused. */
const REFUSALS: Readonly<Record<number, RefusedCall["code"]>> = { 401: "unauthenticated", 403: "permission_denied" };

/** The client whose token a request has. Rejects with Refused. */
async function checkToken({ callers, environments }: AdmissionParts, fields: readonly HeadField[], route: Route): Promise<string> {
  const tokens = valuesOf(fields, "authorization");
  if (tokens.length > 1) throw new Refused(400, "The request has several Authorization headers.");
  const headers = new Headers(tokens.map((token): [string, string] => ["authorization", token]));
  try {
    const caller = await authorize(callers, headers, Permission.QUERY_ONLINE);
    if (!caller) throw new Error("routes with tokens need credentials");
    const own = (await environments.list(caller.teamId, "")).find(({ id }) => id === route.environmentId);
    if (!own || !mayReach(caller, own)) throw new Refused(403, "The token does not reach the environment of this route.");
    return caller.clientId;
  } catch (error) {
    throw error instanceof Failure ? Refused.of(error) : error;
  }
}
