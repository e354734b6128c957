/**
 * A fake of the server's HTTP side, for faults that a real server does not have. It says what a
 * test tells it to.
 */

import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";

/** A fake server; `requests` are what it was asked, in order. */
export interface FakeServer {
  readonly url: string;
  readonly requests: { readonly method: string; readonly path: string; readonly headers: Headers; readonly body: Uint8Array }[];
  /** Exchanges that were answered. */
  readonly exchanges: () => number;
  stop(): Promise<void>;
}

/** How the fake behaves. */
export interface FakeBehaviour {
  /** Answers a request that is no token exchange; `attempt` counts from 1 per path. */
  readonly call?: (request: Request, attempt: number) => Response | Promise<Response>;
  /** Answers a token exchange. Default: token `token-<n>` that lives an hour. */
  readonly exchange?: (body: { client_id: string; client_secret: string }, count: number) => Response | Promise<Response>;
  /** Key and certificate, PEM: the fake speaks TLS then. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Address that it listens on. Default 127.0.0.1. */
  readonly hostname?: string;
}

/** Starts a fake on a free port. */
export function fakeServer(behaviour: FakeBehaviour = {}): FakeServer {
  const requests: FakeServer["requests"] = [];
  const attempts = new Map<string, number>();
  let exchanges = 0;
  const server = Bun.serve({
    hostname: behaviour.hostname ?? "127.0.0.1",
    port: 0,
    ...(behaviour.tls ? { tls: behaviour.tls } : {}),
    idleTimeout: 0,
    async fetch(request) {
      const path = new URL(request.url).pathname;
      requests.push({ method: request.method, path, headers: request.headers, body: await request.clone().bytes() });
      if (path === "/v1/oauth/token") {
        exchanges++;
        const body = (await request.json()) as { client_id: string; client_secret: string };
        return behaviour.exchange?.(body, exchanges) ?? tokenAnswer(`token-${exchanges}`);
      }
      const attempt = (attempts.get(path) ?? 0) + 1;
      attempts.set(path, attempt);
      return behaviour.call?.(request, attempt) ?? new Response("no", { status: 404 });
    },
  });
  return {
    url: `http${behaviour.tls ? "s" : ""}://${behaviour.hostname ?? "127.0.0.1"}:${server.port}`,
    requests,
    exchanges: () => exchanges,
    stop: () => server.stop(true),
  };
}

/** The answer of a token exchange. */
export function tokenAnswer(token: string, expiresIn = 3600, engines: Record<string, string> = {}): Response {
  return Response.json({ access_token: token, token_type: "Bearer", expires_in: expiresIn, primary_environment: "env_1", engines });
}

/** A protobuf answer. */
export function protoAnswer<D extends DescMessage>(schema: D, init: MessageInitShape<D>): Response {
  return new Response(toBinary(schema, create(schema, init)) as Uint8Array<ArrayBuffer>, {
    headers: { "content-type": "application/proto" },
  });
}

/** A Connect error. */
export function errorAnswer(
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
  details: unknown[] = [],
): Response {
  return Response.json({ code, message, details }, { status, headers });
}
