/** Requests as bytes on a socket: no client normalizes their headers or buffers their bodies. */

import { connect } from "node:net";

/** A request. */
export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body: `chunk` repeated until `bytes` were sent. */
  readonly body?: { readonly chunk: Uint8Array; readonly bytes: number; readonly framing: "announced" | "chunked" };
}

/** The response to a raw request. */
export interface RawResponse {
  /** 0 when the connection ended without an answer. */
  readonly status: number;
  /** Headers and body as text, as far as the first read has them. */
  readonly text: string;
  /** Bytes of the body that were handed to the system before the answer came. */
  readonly sent: number;
}

/** Sends a request; stops sending when the answer comes or the other side closes. */
export function sendRaw(url: string, { method = "POST", path, headers = {}, body }: RawRequest): Promise<RawResponse> {
  const { hostname, port, host } = new URL(url);
  const framing: Record<string, string> = body
    ? body.framing === "chunked"
      ? { "transfer-encoding": "chunked" }
      : { "content-length": String(body.bytes) }
    : {};
  const head = Object.entries({ host, ...headers, ...framing }).map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise((resolve) => {
    let sent = 0;
    let answer: RawResponse | undefined;
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${method} ${path} HTTP/1.1\r\n${head.join("")}\r\n`);
      send();
    });
    const send = (): void => {
      if (!body || sent >= body.bytes || answer || socket.destroyed) return;
      const piece = body.chunk.subarray(0, Math.min(body.chunk.length, body.bytes - sent));
      sent += piece.length;
      if (body.framing === "chunked") socket.write(`${piece.length.toString(16)}\r\n`);
      let flows = socket.write(piece);
      if (body.framing === "chunked") flows = socket.write(sent < body.bytes ? "\r\n" : "\r\n0\r\n\r\n");
      if (flows) setImmediate(send);
    };
    socket.on("drain", send);
    socket.on("data", (data) => {
      const text = data.toString("latin1");
      answer ??= { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text, sent };
      socket.destroy();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(answer ?? { status: 0, text: "", sent }));
  });
}

/**
 * Sends bytes as they are and returns the response, read until the other side closes or `enough`
 * holds of it. Rejects when neither happens.
 */
export function sendBytes(
  url: string,
  bytes: string,
  enough: (text: string) => boolean = () => false,
  timeoutMs = 180_000,
): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`still open after ${timeoutMs} ms, with ${JSON.stringify(text.slice(0, 500))}`));
    }, timeoutMs);
    const socket = connect(Number(port), hostname, () => socket.write(bytes, "latin1"));
    socket.on("data", (data) => {
      text += data.toString("latin1");
      if (enough(text)) socket.destroy();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}

/** The statuses of consecutive responses on one connection. */
export function statusesOf(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
}
