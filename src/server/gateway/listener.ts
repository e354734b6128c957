/**
 * The listener of the gateway: an origin of its own, so that what a container serves has nothing of
 * the dashboard's. Connections of HTTP/1.1 and of HTTP/2 are told apart by their first bytes.
 */

import { once } from "../../domain/once.ts";
import type { Certificate } from "../certificate.ts";
import { Pipe } from "../http1/pipe.ts";
import { Http2Connection } from "../http2/connection.ts";
import { ErrorCode } from "../http2/frames.ts";
import { bindRefused, drained, type Listener, listenerUrl } from "../wire/listener.ts";
import type { GatewayParts } from "./exchange.ts";

/** Milliseconds between two looks at connections of HTTP/2 that take too long. */
const LOOK_MS = 5_000;
/** Seconds for the first bytes of a connection. */
const FIRST_S = 20;
const STARTING =
  "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 24\r\nconnection: close\r\n\r\nThe server is starting.\n";
/** Connections that are held at once. */
const MOST_CONNECTIONS = 10_000;

/** Options of a listener. */
export interface GatewayListenOptions {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  /** With it the listener speaks TLS only. */
  readonly certificate?: Certificate | undefined;
}

/** A bound listener of the gateway. */
export interface GatewayListener extends Pick<Listener, "url" | "port" | "drain"> {
  /**
   * Passes requests on from now on, and answers 503 before. `load` is called with the first one.
   */
  serve(load: () => Promise<GatewayParts>): void;
}

/**
 * Both protocols that are agreed on, as TLS writes a list of them: HTTP/1.1 for who speaks both.
 */
const PROTOCOLS = Buffer.from("\x08http/1.1\x02h2");

/** A socket's own. */
interface Held {
  pipe?: Pipe;
  http2?: Http2Connection;
  /** First bytes, until they tell the protocol. */
  first?: Uint8Array;
}

/** How many of the first bytes tell HTTP/2: no method of HTTP begins so. */
const TELLING = Buffer.from("PRI");

/** Whether bytes begin as a connection of HTTP/2 does; undefined = they are too few. */
function isHttp2(bytes: Uint8Array): boolean | undefined {
  for (let at = 0; at < TELLING.length; at++) {
    if (at === bytes.length) return undefined;
    if (bytes[at] !== TELLING[at]) return false;
  }
  return true;
}

/** Binds an address exclusively. Throws StartError "port_in_use" or "host_refused". */
export function listenGateway({ certificate, host, port }: GatewayListenOptions): GatewayListener {
  let load: (() => Promise<GatewayParts>) | undefined;
  const leaving = new AbortController();
  const proxy = once(async () => {
    if (!load) throw new Error("the gateway passes nothing on yet");
    const [parts, { serveConnection }, { createSessions, serveStream }] = await Promise.all([
      load(),
      import("./exchange.ts"),
      import("./grpc-exchange.ts"),
    ]);
    return { parts, serveConnection, serveStream, sessions: createSessions() };
  });
  const held = new Set<Bun.Socket<Held>>();
  let onIdle: (() => void) | undefined;
  const encrypted = certificate !== undefined;

  const begin = (socket: Bun.Socket<Held>, bytes: Uint8Array): void => {
    if (!load) {
      socket.end(STARTING);
      return;
    }
    const sender = { peer: socket.remoteAddress.replace(/^::ffff:/i, ""), isEncrypted: encrypted };
    if (isHttp2(bytes)) {
      const connection = new Http2Connection(socket, {
        serve: (stream) =>
          proxy().then(
            ({ parts, serveStream, sessions }) => serveStream(parts, sessions, stream, sender),
            () => stream.reset(ErrorCode.INTERNAL_ERROR),
          ),
        foreign: () => socket.end(),
      });
      socket.data.http2 = connection;
      connection.receive(bytes);
      return;
    }
    const pipe = new Pipe(socket);
    socket.data.pipe = pipe;
    pipe.received(bytes);
    proxy().then(
      ({ parts, serveConnection }) => serveConnection(parts, pipe, sender, leaving.signal),
      () => pipe.destroy(),
    );
  };

  const bound = bind(host, port, {
    hostname: host.replace(/^\[|\]$/g, ""),
    port,
    exclusive: true,
    ...(certificate ? { tls: { ...certificate, ALPNProtocols: PROTOCOLS } } : {}),
    socket: {
      binaryType: "uint8array",
      open(socket) {
        socket.data = {};
        socket.setNoDelay(true);
        if (held.size >= MOST_CONNECTIONS || leaving.signal.aborted) {
          socket.terminate();
          return;
        }
        held.add(socket);
        socket.timeout(FIRST_S);
      },
      data(socket, bytes) {
        const { first, http2, pipe } = socket.data;
        if (pipe) return pipe.received(bytes);
        if (http2) return http2.receive(bytes);
        const all = first ? Buffer.concat([first, bytes]) : bytes;
        if (isHttp2(all) === undefined) {
          socket.data.first = all;
          return;
        }
        socket.timeout(0);
        begin(socket, all);
      },
      drain(socket) {
        socket.data.pipe?.drained();
        socket.data.http2?.drained();
      },
      timeout: (socket) => void socket.terminate(),
      close(socket) {
        held.delete(socket);
        socket.data.pipe?.closed();
        socket.data.http2?.close();
        if (held.size === 0) onIdle?.();
      },
      error: (socket) => void socket.terminate(),
    },
  });
  const looking = setInterval(() => {
    const now = performance.now();
    for (const { data } of held) data.http2?.look(now);
  }, LOOK_MS);
  looking.unref();
  return {
    url: listenerUrl(host, bound.port, encrypted),
    port: bound.port,
    serve(next) {
      load = next;
    },
    async drain() {
      leaving.abort();
      clearInterval(looking);
      bound.stop(false);
      const running = await proxy.opened();
      for (const socket of held) {
        socket.data.http2?.leave();
        if (!socket.data.http2 && !socket.data.pipe) socket.terminate();
      }
      if (held.size > 0)
        await drained((idle) => {
          onIdle = idle;
        });
      for (const socket of held) socket.terminate();
      bound.stop(true);
      running?.sessions.close();
      running?.parts.connections.close();
    },
  };
}

function bind(host: string, port: number, options: Bun.TCPSocketListenOptions<Held>): Bun.TCPSocketListener<Held> {
  try {
    return Bun.listen<Held>({ ...options, data: {} });
  } catch (error) {
    throw bindRefused(error, host, port, "--gateway-port");
  }
}
