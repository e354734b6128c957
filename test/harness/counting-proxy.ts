/**
 * An HTTP proxy on loopback, for plain requests and tunnels, that forwards to the hosts it was
 * given and records everything that clients send.
 */

import { connect, createServer, type Socket } from "node:net";

/** A running proxy. */
export interface CountingProxy {
  readonly url: string;
  /**
   * First lines of the requests that came, in order: `GET http://host/path HTTP/1.1`, `CONNECT
   * host:443 HTTP/1.1`.
   */
  readonly requests: string[];
  /** All bytes that clients sent, as Latin-1: everything that the proxy's operator can read. */
  readonly seen: () => string;
  stop(): Promise<void>;
}

/**
 * The proxy's response to a request: forwards it, asks for credentials, answers with its own page,
 * or closes the connection.
 */
export type ProxyMode = "forward" | "credentials" | "page" | "close";

const PAGE = "<html><title>Blocked by policy</title></html>";
const ANSWERS: Readonly<Record<Exclude<ProxyMode, "forward" | "close">, string>> = {
  credentials: "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
  page: `HTTP/1.1 403 Forbidden\r\ncontent-type: text/html\r\ncontent-length: ${PAGE.length}\r\nconnection: close\r\n\r\n${PAGE}`,
};

/**
 * Starts a proxy on a free port. `upstreams` are ports of 127.0.0.1 by `host:port`; others are
 * refused with 502.
 */
export async function startCountingProxy(upstreams: Readonly<Record<string, number>>, mode: ProxyMode = "forward"): Promise<CountingProxy> {
  const requests: string[] = [];
  const chunks: Buffer[] = [];
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => open.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    let head = Buffer.alloc(0);
    const read = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      client.off("data", read);
      const [first = "", ...lines] = head.subarray(0, end).toString("latin1").split("\r\n");
      requests.push(first);
      if (mode === "close") client.destroy();
      else if (mode !== "forward") client.end(ANSWERS[mode]);
      else lead(client, first, lines, head.subarray(end + 4));
    };
    client.on("data", (chunk: Buffer) => chunks.push(chunk));
    client.on("data", read);
  });
  const lead = (client: Socket, first: string, lines: readonly string[], rest: Buffer) => {
    const [method = "", target = "", version] = first.split(" ");
    const url = new URL(method === "CONNECT" ? `https://${target}` : target);
    const port = upstreams[`${url.hostname}:${url.port || (url.protocol === "https:" ? 443 : 80)}`];
    if (port === undefined) return client.end("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    const upstream = connect(port, "127.0.0.1", () => {
      if (method === "CONNECT") client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      else {
        const headers = lines.filter((line) => !/^(proxy-)?connection:/i.test(line));
        upstream.write(
          [`${method} ${url.pathname}${url.search} ${version}`, ...headers, "connection: close", "", ""].join("\r\n"),
          "latin1",
        );
      }
      upstream.write(rest);
      client.pipe(upstream).pipe(client);
    });
    keep(upstream);
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    seen: () => Buffer.concat(chunks).toString("latin1"),
    stop: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
