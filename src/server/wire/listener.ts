/**
 * The HTTP listener. It binds at once, so that a port in use is known first, and answers with 503
 * until it has a handler.
 */

import type { Certificate } from "../certificate.ts";
import { StartError } from "../failure.ts";
import type { FetchHandler } from "./connection.ts";
import { urlHost } from "./http/guard.ts";
import { MAX_MESSAGE, type SocketHandler } from "./socket.ts";

/** A bound listener. */
export interface Listener {
  readonly url: string;
  readonly port: number;
  /** Answers requests with a handler from now on. */
  serve(handler: FetchHandler): void;
  /**
   * Takes no new connections, waits for running requests (at most ten seconds), and closes all
   * connections.
   */
  drain(): Promise<void>;
}

/**
 * Seconds after which an idle connection is closed; requests that are being answered are exempt.
 */
const IDLE_S = 30;
const DRAIN_MS = 10_000;
/** Seconds after which a WebSocket is closed whose peer answers no pings. */
const SOCKET_IDLE_S = 120;

/**
 * Binds an address exclusively: with `development: false` Bun would share the port unless told not
 * to. With a certificate it speaks TLS only. Throws StartError "port_in_use" or "host_refused".
 */
export function listen(host: string, port: number, maxBodyBytes: number, certificate?: Certificate): Listener {
  let handler: FetchHandler | undefined;
  let running = 0;
  let onIdle: (() => void) | undefined;
  const server = bind(host, port, (bind) => ({
    ...bind,
    idleTimeout: IDLE_S,
    maxRequestBodySize: maxBodyBytes,
    development: false,
    reusePort: false,
    ...(certificate ? { tls: certificate } : {}),
    websocket: SOCKETS,
    async fetch(request: Request, self: Bun.Server<SocketHandler>): Promise<Response | undefined> {
      if (!handler) return new Response("The server is starting.", { status: 503, headers: { "retry-after": "1" } });
      running++;
      let isUpgraded = false;
      try {
        const response = await handler(request, {
          peer: () => self.requestIP(request)?.address ?? "unknown",
          encrypted: certificate !== undefined,
          unhurried: () => self.timeout(request, 0),
          upgrade(sockets) {
            isUpgraded = self.upgrade(request, { data: sockets });
            return isUpgraded;
          },
        });
        return isUpgraded ? undefined : response;
      } finally {
        running--;
        if (running === 0) onIdle?.();
      }
    },
  }));
  const bound = server.port ?? port;
  const visible = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return {
    url: `${certificate ? "https" : "http"}://${urlHost(visible)}:${bound}`,
    port: bound,
    serve(next) {
      handler = next;
    },
    async drain() {
      const closed = server.stop(false);
      if (running > 0) {
        let timer: ReturnType<typeof setTimeout> | undefined;
        await Promise.race([
          new Promise<void>((resolve) => {
            onIdle = resolve;
          }),
          new Promise<void>((resolve) => {
            timer = setTimeout(resolve, DRAIN_MS);
          }),
        ]);
        clearTimeout(timer);
      }
      await server.stop(true);
      await closed;
    },
  };
}

/** WebSockets: what becomes of them is up to their handlers. */
const SOCKETS: Bun.WebSocketHandler<SocketHandler> = {
  maxPayloadLength: MAX_MESSAGE,
  idleTimeout: SOCKET_IDLE_S,
  sendPings: true,
  perMessageDeflate: false,
  open: (socket) =>
    socket.data.opened({
      send: (message) => void (typeof message === "string" ? socket.sendText(message) : socket.sendBinary(message)),
      waiting: () => socket.getBufferedAmount(),
      close: (code, reason) => socket.close(code, reason),
    }),
  message: (socket, message) => socket.data.received(message),
  drain: (socket) => socket.data.drained(),
  close: (socket) => socket.data.closed(),
};

type Bind = { readonly hostname: string; readonly port: number };

function bind(
  host: string,
  port: number,
  options: (bind: Bind) => Parameters<typeof Bun.serve<SocketHandler>>[0],
): Bun.Server<SocketHandler> {
  try {
    return Bun.serve<SocketHandler>(options({ hostname: host.replace(/^\[|\]$/g, ""), port }));
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    if (code === "EADDRINUSE") {
      throw new StartError(
        "port_in_use",
        `Port ${port} on ${host} is in use by another program.`,
        "Choose another port with `--port`, or `--port 0` for any free one.",
      );
    }
    if (code === "EACCES")
      throw new StartError(
        "port_in_use",
        `Port ${port} on ${host} may not be used by this user.`,
        "Choose a port above 1023 with `--port`.",
      );
    throw new StartError("host_refused", `${host}:${port} cannot be bound: ${String(message)}.`, "Choose another address with `--host`.");
  }
}
