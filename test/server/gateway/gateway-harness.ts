/** A gateway with routes of a test's own, and no server around it. */

import { connect } from "node:net";
import { systemClock } from "../../../src/context/system-clock.ts";
import type { KeyRing } from "../../../src/server/access/keys.ts";
import { type Caller, TokenRefused } from "../../../src/server/access/tokens.ts";
import { PATIENCE, type Patience } from "../../../src/server/gateway/exchange.ts";
import type { GatewayMeter, SeenRequest } from "../../../src/server/gateway/gateway-meter.ts";
import { createHops } from "../../../src/server/gateway/hops.ts";
import { type GatewayListener, listenGateway } from "../../../src/server/gateway/listener.ts";
import type { Route } from "../../../src/server/gateway/route.ts";
import { createConnections } from "../../../src/server/http1/connections.ts";

/** What a test's route is, beside its address. */
export type RouteOptions = Partial<Pick<Route, "isGrpc" | "isPrivate" | "isAuthenticated" | "environmentId" | "lease" | "node">>;

/** A gateway. */
export class TestGateway implements AsyncDisposable {
  readonly #listener: GatewayListener;
  readonly #routes = new Map<string, Route>();
  /** Faults that it told its log of. */
  readonly faults: unknown[] = [];
  /** Requests that it answered. */
  readonly seen: SeenRequest[] = [];
  /** Refusals of credentials: routes and codes. */
  readonly refused: string[] = [];
  /** Requests that hold a server now. */
  held = 0;

  constructor({
    patience = {},
    names = [],
    node = "node_one",
    meter = { answered: (one) => void this.seen.push(one) },
    ...listen
  }: {
    patience?: Partial<Patience>;
    names?: string[];
    node?: string;
    meter?: GatewayMeter;
    certificate?: { cert: string; key: string };
  } = {}) {
    this.#listener = listenGateway({ host: "127.0.0.1", port: 0, ...listen });
    this.#listener.serve(async () => ({
      routes: { find: async (label) => this.#routes.get(label) },
      callers: {
        ofToken: (token) => {
          const caller = CALLERS[token];
          if (!caller) throw new TokenRefused("The token is none of this server.");
          return caller;
        },
        ofSession: async () => undefined,
        still: async (caller) => caller,
      },
      environments: {
        list: async (teamId) =>
          teamId === "team" ? ["env", "other"].map((id) => ({ id, name: id, projectId: "p", projectName: "p", teamId, createdAt: 0 })) : [],
      },
      names: new Set(names),
      hops: createHops({ keys: KEYS, node, clock: CLOCK }),
      connections: createConnections(),
      patience: { ...PATIENCE, ...patience },
      meter,
      refused: async ({ code, route }) => void this.refused.push(`${route.label} ${code}`),
      log: { error: (message, fields) => void this.faults.push([message, fields]) },
    }));
  }

  get url(): string {
    return this.#listener.url;
  }

  get port(): number {
    return this.#listener.port;
  }

  /** Adds a route to a port of this machine. */
  route(label: string, port: number, options: RouteOptions = {}): void {
    this.#routes.set(label, {
      label,
      environmentId: "env",
      kind: "container",
      name: label,
      what: `container '${label}'`,
      ...{ isGrpc: false, isPrivate: false, isAuthenticated: false },
      lease: async () => {
        this.held++;
        return { address: { host: "127.0.0.1", port }, release: () => void this.held-- };
      },
      ...options,
    });
  }

  /** Sends bytes, and gives all that comes back until the other side ends, or `until` is there. */
  raw(text: string | Uint8Array, until?: string): Promise<string> {
    return rawExchange(this.port, text, until);
  }

  drain(): Promise<void> {
    return this.#listener.drain();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain();
  }
}

/** The clock of all gateways of tests. */
export const CLOCK = systemClock;
/** Keys that all gateways of tests share. */
export const KEYS: KeyRing = [{ id: "0123456789ab", secret: new Uint8Array(32).fill(7) }];
const PERMITTED: Caller = { clientId: "c", teamId: "team", permissions: ["query.online"] };
const CALLERS: Readonly<Record<string, Caller>> = {
  good: PERMITTED,
  weak: { ...PERMITTED, permissions: ["read"] },
  elsewhere: { ...PERMITTED, environments: ["other"] },
  stranger: { ...PERMITTED, teamId: "another" },
};

/** See `TestGateway.raw`. */
export function rawExchange(port: number, sent: string | Uint8Array, until?: string): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(sent));
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (until !== undefined && text.includes(until)) socket.destroy();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(text));
  });
}

/** A server of bytes: answers the first bytes of each connection as it is told. */
export class RawServer implements Disposable {
  readonly seen: string[] = [];
  readonly #listener: Bun.TCPSocketListener<{ text: string }>;

  constructor(answer: (text: string, socket: Bun.Socket<{ text: string }>) => void) {
    this.#listener = Bun.listen<{ text: string }>({
      hostname: "127.0.0.1",
      port: 0,
      data: { text: "" },
      socket: {
        open(socket) {
          socket.data = { text: "" };
        },
        data: (socket, bytes) => {
          socket.data.text += bytes.toString("latin1");
          this.seen.push(bytes.toString("latin1"));
          answer(socket.data.text, socket);
        },
        error: () => undefined,
      },
    });
  }

  get port(): number {
    return this.#listener.port;
  }

  [Symbol.dispose](): void {
    this.#listener.stop(true);
  }
}
