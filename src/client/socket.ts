/** WebSockets of the API server, with the command's credentials and proxy. */

import type { Socket } from "./api.ts";
import type { Connection } from "./connection.ts";
import { NetworkError } from "./fetch.ts";

const OPEN_TIMEOUT_MS = 30_000;

/** Opens a WebSocket. Rejects with NetworkError, and with the signal's reason. */
export async function openSocket(connection: Connection, path: string, headers: Readonly<Record<string, string>>): Promise<Socket> {
  const endpoint = await connection.endpoint("grpc");
  const { host, proxies, redactor } = connection;
  const proxy = proxies(endpoint.url);
  return connection.authorized(endpoint, async (token) => {
    host.signal.throwIfAborted();
    host.progress.debug(redactor.text(`> GET ${endpoint.url}${path} (WebSocket)`));
    const options: Bun.WebSocketOptions = {
      headers: { ...headers, authorization: `Bearer ${token}` },
      perMessageDeflate: false,
      ...(proxy && { proxy: proxy.url }),
    };
    // The types of browsers, which the dashboard needs, know no options.
    const socket = new WebSocket(`${endpoint.url.replace(/^http/, "ws")}${path}`, options as unknown as string[]);
    socket.binaryType = "arraybuffer";
    const messages: (string | Uint8Array)[] = [];
    let wake: () => void = () => undefined;
    let isClosed = false;
    const opened = Promise.withResolvers<void>();
    socket.onopen = () => opened.resolve();
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      messages.push(typeof data === "string" ? data : new Uint8Array(data));
      wake();
    };
    socket.onclose = () => {
      isClosed = true;
      opened.reject(new NetworkError(`no connection to the shell came about at ${endpoint.url}`, "Try again.", false, undefined));
      wake();
    };
    const stop = (): void => opened.reject(host.signal.reason);
    const timer = setTimeout(() => socket.close(), OPEN_TIMEOUT_MS);
    host.signal.addEventListener("abort", stop, { once: true });
    try {
      await opened.promise;
    } catch (error) {
      socket.close();
      throw error;
    } finally {
      clearTimeout(timer);
      host.signal.removeEventListener("abort", stop);
    }
    return {
      send: (message) => {
        if (!isClosed) socket.send(message);
      },
      async receive() {
        while (messages.length === 0 && !isClosed)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        return messages.shift();
      },
      close: () => socket.close(),
    };
  });
}
