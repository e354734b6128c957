/**
 * The listener for gRPC, which needs HTTP/2 with trailers, and so a port of its own: that of HTTP
 * has none. It binds at once and refuses calls until it has a handler.
 */

import { once } from "../../../domain/once.ts";
import type { Certificate } from "../../certificate.ts";
import { Http2Connection } from "../../http2/connection.ts";
import type { Http2Stream } from "../../http2/stream.ts";
import type { Log } from "../../log.ts";
import type { Connection, FetchHandler } from "../connection.ts";
import { errorAnswer } from "../http/respond.ts";
import { bindRefused, drained, type Listener, listenerUrl } from "../listener.ts";

/** Milliseconds between two looks at connections that take too long. */
const LOOK_MS = 5_000;

/** Options of a listener for gRPC. */
export interface GrpcListenOptions {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  /** With it the listener speaks TLS only. */
  readonly certificate?: Certificate | undefined;
  /** The address for HTTP, for who asks here for that. */
  readonly httpUrl: string;
  readonly log: Pick<Log, "error">;
}

/** The one protocol that is agreed on, as TLS writes a list of them. */
const H2 = Buffer.from("\x02h2");

/** A socket's own. */
interface Held {
  connection?: Http2Connection;
}

const STARTING: FetchHandler = async () => errorAnswer({ status: 503, message: "The server is starting." });

/** Binds an address exclusively. Throws StartError "port_in_use" or "host_refused". */
export function listenGrpc({ certificate, host, httpUrl, log, port }: GrpcListenOptions): Listener {
  let handler = STARTING;
  let isDraining = false;
  let onIdle: (() => void) | undefined;
  const connections = new Set<Http2Connection>();
  /** Loaded with the first call: a server answers before the contract is loaded. */
  const calls = once(async () => {
    const { createCalls } = await import("./calls.ts");
    return createCalls((request, connection) => handler(request, connection), log);
  });
  const encrypted = certificate !== undefined;
  const bound = bind(host, port, {
    hostname: host.replace(/^\[|\]$/g, ""),
    port,
    exclusive: true,
    ...(certificate ? { tls: { ...certificate, ALPNProtocols: H2 } } : {}),
    socket: {
      binaryType: "uint8array",
      open(socket) {
        const address = socket.remoteAddress;
        const peer: Connection = { peer: () => address, encrypted };
        socket.setNoDelay(true);
        const connection = new Http2Connection(socket, {
          serve: async (stream: Http2Stream) => (await calls())(stream, peer),
          foreign: () => socket.end(notHttp2(httpUrl)),
        });
        socket.data = { connection };
        connections.add(connection);
        if (isDraining) connection.leave();
      },
      data: (socket, bytes) => socket.data.connection?.receive(bytes),
      drain: (socket) => socket.data.connection?.drained(),
      close(socket) {
        const { connection } = socket.data;
        if (!connection) return;
        connection.close();
        connections.delete(connection);
        if (connections.size === 0) onIdle?.();
      },
      error: (socket) => socket.terminate(),
    },
  });
  const looking = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.look(now);
  }, LOOK_MS);
  looking.unref();
  return {
    url: listenerUrl(host, bound.port, encrypted),
    port: bound.port,
    serve(next) {
      handler = next;
    },
    async drain() {
      isDraining = true;
      clearInterval(looking);
      bound.stop(false);
      for (const connection of connections) connection.leave();
      if (connections.size > 0) {
        await drained((idle) => {
          onIdle = idle;
        });
      }
      for (const connection of connections) connection.terminate();
      bound.stop(true);
    },
  };
}

function bind(host: string, port: number, options: Bun.TCPSocketListenOptions<Held>): Bun.TCPSocketListener<Held> {
  try {
    return Bun.listen<Held>({ ...options, data: {} });
  } catch (error) {
    throw bindRefused(error, host, port, "--grpc-port");
  }
}

/** The answer to clients of HTTP/1.1, and to all that is no HTTP/2. */
function notHttp2(httpUrl: string): string {
  const message = `This port takes calls of gRPC, by HTTP/2. Everything else is at ${httpUrl}.`;
  const body = JSON.stringify({ code: "unimplemented", error: "not_grpc", message });
  return `HTTP/1.1 505 HTTP Version Not Supported\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
}
