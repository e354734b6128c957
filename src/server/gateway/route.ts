/** Routes: what the gateway leads requests to, and who may ask for it. */

import type { ServerAddress } from "../http1/connections.ts";
import type { RouteKind } from "../route-label.ts";
import type { LeaseEnd } from "../scaling-groups/replica-set.ts";

/** A server that takes a request. Every lease is released once. */
export interface Lease {
  readonly address: ServerAddress;
  /** Name of the container. */
  readonly replica?: string;
  /** Notes that the request is over; when the server took no connection, nothing was sent. */
  release(end: LeaseEnd): void;
}

/** A route. */
export interface Route {
  readonly label: string;
  readonly environmentId: string;
  readonly kind: RouteKind;
  /** Name of the container or group. */
  readonly name: string;
  /** What messages call it, for example `scaling group 'api'`. */
  readonly what: string;
  /** Id of the node that has it, whose gateway is its server here; undefined = this one. */
  readonly node?: string;
  /** Whether it speaks gRPC: HTTP/2 without TLS. */
  readonly isGrpc: boolean;
  /** Whether only clients on this machine reach it. */
  readonly isPrivate: boolean;
  /** Whether it wants a token. */
  readonly isAuthenticated: boolean;
  /**
   * A server for a request, which may have to wait until one is there. Rejects with Failure
   * `unavailable`, `resource_exhausted` or `deadline_exceeded`, or with the signal's reason.
   */
  lease(signal: AbortSignal): Promise<Lease>;
}

/** What messages call the server of a route. */
export function serverText({ node, what }: Pick<Route, "node" | "what">): string {
  return node === undefined ? what : `gateway of the node ${node}, which has the ${what},`;
}

/** The routes of a server. */
export interface Routes {
  /**
   * The route of a label, or of an id of a container or group; undefined when there is none.
   * Rejects with Refused when another node has it whose gateway cannot be asked.
   */
  find(labelOrId: string): Promise<Route | undefined>;
}
