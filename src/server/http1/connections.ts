/** Connections to servers of HTTP/1.1, kept for the next request. */

import { Pipe } from "./pipe.ts";

/** Where a server listens. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  /** Whether it speaks TLS, with a certificate of its host's name; default: it does not. */
  readonly isEncrypted?: boolean;
}

/** An address as text, by which connections are told apart. */
export function addressText({ host, isEncrypted = false, port }: ServerAddress): string {
  return `${isEncrypted ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A server did not take a connection: nothing was sent. */
export class ConnectRefused extends Error {
  override readonly name = "ConnectRefused";
}

/** Connections by address. */
export interface Connections {
  /** A connection of which nothing was used yet. Rejects with ConnectRefused. */
  open(address: ServerAddress): Promise<Pipe>;
  /** One that was used before and still stands; undefined = there is none. */
  kept(address: ServerAddress): Pipe | undefined;
  /** Keeps a connection whose last answer is whole. */
  keep(address: ServerAddress, pipe: Pipe): void;
  close(): void;
}

/** Longest time that a connection is tried. */
const CONNECT_MS = 10_000;
/** Connections to one address that are tried at once: a small server has a short queue of them. */
const MOST_CONNECTING = 16;
/** Connections to an address that are kept, and for how long: less than servers keep theirs. */
const MOST_KEPT = 64;
const KEPT_MS = 4_000;

interface Place {
  readonly idle: { readonly pipe: Pipe; readonly since: number }[];
  connecting: number;
  readonly waiting: (() => void)[];
}

/** Opens a connection. Rejects with ConnectRefused. */
export async function connectPipe(address: ServerAddress): Promise<Pipe> {
  const { host, isEncrypted = false, port } = address;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isLate = false;
  try {
    const secured = Promise.withResolvers<void>();
    if (!isEncrypted) secured.resolve();
    const opening = Bun.connect<{ pipe: Pipe | undefined }>({
      hostname: host,
      port,
      ...(isEncrypted && { tls: { serverName: host, rejectUnauthorized: true } }),
      data: { pipe: undefined },
      socket: {
        binaryType: "uint8array",
        open(socket) {
          socket.setNoDelay(true);
          socket.data.pipe = new Pipe(socket);
          if (isLate) socket.terminate();
        },
        handshake(socket, isDone, error) {
          if (isDone && error === null && socket.authorized) return secured.resolve();
          secured.reject(new Error(error?.message ?? "its certificate is not trusted"));
          socket.terminate();
        },
        data: (socket, bytes) => socket.data.pipe?.received(bytes),
        drain: (socket) => socket.data.pipe?.drained(),
        close(socket) {
          secured.reject(new Error("the connection was closed"));
          socket.data.pipe?.closed();
        },
        error: (socket) => socket.terminate(),
        connectError: () => undefined,
      },
    });
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        isLate = true;
        reject(new Error(`no answer in ${CONNECT_MS / 1_000} seconds`));
      }, CONNECT_MS);
    });
    secured.promise.catch(() => undefined);
    const { data } = await Promise.race([opening, late]);
    await Promise.race([secured.promise, late]);
    if (data.pipe) return data.pipe;
    throw new Error("the connection did not open");
  } catch (error) {
    throw new ConnectRefused(
      `${addressText(address).replace("http://", "")} takes no connection: ${error instanceof Error ? error.message : String(error)}`,
    );
  } finally {
    clearTimeout(timer);
  }
}

/** Makes connections. */
export function createConnections(): Connections {
  const places = new Map<string, Place>();
  const placeOf = (address: ServerAddress): Place => {
    const key = addressText(address);
    let place = places.get(key);
    if (!place) {
      place = { idle: [], connecting: 0, waiting: [] };
      places.set(key, place);
    }
    return place;
  };
  const prune = (): void => {
    const before = performance.now() - KEPT_MS;
    for (const [key, { connecting, idle }] of places) {
      while (idle[0] && (idle[0].since < before || idle[0].pipe.isClosed)) idle.shift()?.pipe.destroy();
      if (idle.length === 0 && connecting === 0) places.delete(key);
    }
  };
  const pruning = setInterval(prune, KEPT_MS / 2);
  pruning.unref();

  return {
    async open(address) {
      const place = placeOf(address);
      if (place.connecting >= MOST_CONNECTING) await new Promise<void>((resolve) => place.waiting.push(resolve));
      else place.connecting++;
      try {
        return await connectPipe(address);
      } finally {
        const next = place.waiting.shift();
        if (next) next();
        else place.connecting--;
      }
    },
    kept(address) {
      const { idle } = placeOf(address);
      const before = performance.now() - KEPT_MS;
      for (let found = idle.pop(); found; found = idle.pop()) {
        if (found.since >= before && !found.pipe.isClosed && !found.pipe.hasUnread) return found.pipe;
        found.pipe.destroy();
      }
      return undefined;
    },
    keep(address, pipe) {
      const { idle } = placeOf(address);
      if (pipe.isClosed || pipe.hasUnread || idle.length >= MOST_KEPT) return pipe.destroy();
      idle.push({ pipe, since: performance.now() });
    },
    close() {
      clearInterval(pruning);
      for (const { idle } of places.values()) for (const { pipe } of idle) pipe.destroy();
      places.clear();
    },
  };
}
