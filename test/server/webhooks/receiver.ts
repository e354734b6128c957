/** A receiver of webhooks that answers as a test says. */

/** A request that was received. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A running receiver. */
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Answers further requests so; default: 204. */
  answer(how: (request: Received) => Response | Promise<Response>): void;
  stop(): void;
}

/** Starts a receiver on a free port of this machine. */
export function startReceiver(tls?: { readonly key: string; readonly cert: string }): Receiver {
  const received: Received[] = [];
  let how: (request: Received) => Response | Promise<Response> = () => new Response(null, { status: 204 });
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    ...(tls ? { tls } : {}),
    async fetch(request) {
      const one = {
        method: request.method,
        path: new URL(request.url).pathname,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      };
      received.push(one);
      return how(one);
    },
  });
  return {
    url: `${tls ? "https" : "http"}://127.0.0.1:${server.port}/hook`,
    received,
    answer(given) {
      how = given;
    },
    stop: () => void server.stop(true),
  };
}
