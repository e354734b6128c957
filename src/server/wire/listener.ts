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
/** Longest time that a listener waits for running requests before it closes their connections. */
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
          upgrade(sockets, protocol) {
            const headers = protocol === undefined ? [] : [["sec-websocket-protocol", protocol] as [string, string]];
            isUpgraded = self.upgrade(request, { data: sockets, headers });
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
  return {
    url: listenerUrl(host, bound, certificate !== undefined),
    port: bound,
    serve(next) {
      handler = next;
    },
    async drain() {
      const closed = server.stop(false);
      if (running > 0) {
        await drained((idle) => {
          onIdle = idle;
        });
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

/** Resolves when what `begin` is given is called, or after the longest time that is waited. */
export async function drained(begin: (idle: () => void) => void): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([
    new Promise<void>(begin),
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, DRAIN_MS);
    }),
  ]);
  clearTimeout(timer);
}

/** The address of a listener for this machine. */
export function listenerUrl(host: string, port: number, isEncrypted: boolean): string {
  const visible = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${isEncrypted ? "https" : "http"}://${urlHost(visible)}:${port}`;
}

type Bind = { readonly hostname: string; readonly port: number };

function bind(
  host: string,
  port: number,
  options: (bind: Bind) => Parameters<typeof Bun.serve<SocketHandler>>[0],
): Bun.Server<SocketHandler> {
  try {
    return Bun.serve<SocketHandler>(options({ hostname: host.replace(/^\[|\]$/g, ""), port }));
  } catch (error) {
    throw bindRefused(error, host, port, "--port");
  }
}

/**
 * Why an address could not be bound.
 * @param flag the flag that names the port
 */
export function bindRefused(error: unknown, host: string, port: number, flag: string): StartError {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (code === "EADDRINUSE")
    return new StartError(
      "port_in_use",
      `Port ${port} on ${host} is in use by another program.`,
      `Choose another port with \`${flag}\`, or \`${flag} 0\` for any free one.`,
    );
  if (code === "EACCES")
    return new StartError(
      "port_in_use",
      `Port ${port} on ${host} may not be used by this user.`,
      `Choose a port above 1023 with \`${flag}\`.`,
    );
  return new StartError("host_refused", `${host}:${port} cannot be bound: ${String(message)}.`, "Choose another address with `--host`.");
}
