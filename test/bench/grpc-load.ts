/**
 * A load client for gRPC: like `load.ts`, but all requests go over one connection of HTTP/2, as
 * gRPC's clients do, with `concurrency` of them at a time.
 */

import {
  Flag,
  FRAME_HEAD,
  frame,
  Kind,
  numberAt,
  numbersFrame,
  PREFACE,
  putNumber,
  Setting,
  settingsFrame,
} from "../../src/server/http2/frames.ts";
import { headerBlock } from "../../src/server/http2/hpack.ts";
import { type Latencies, type Load, latenciesOf } from "./load.ts";

const EMPTY = Buffer.alloc(0);
const GRPC_OK = Buffer.from("grpc-status").toString("latin1");

/** Sends the load. Rejects when an answer is an error. */
export function sendGrpc(load: Load): Promise<Latencies> {
  const head = headerBlock([
    [":method", "POST"],
    [":scheme", "http"],
    [":authority", `${load.host}:${load.port}`],
    [":path", load.path],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ...Object.entries(load.headers),
  ]);
  const requests = load.bodies.map((body) => {
    const message = Buffer.from(body, "base64");
    const envelope = Buffer.concat([Buffer.alloc(5), message]);
    envelope.writeUInt32BE(message.length, 1);
    return Buffer.concat([frame(Kind.HEADERS, Flag.END_HEADERS, 0, head), frame(Kind.DATA, Flag.END_STREAM, 0, envelope)]);
  });
  const dataAt = FRAME_HEAD + head.length;
  const taken: number[] = [];
  const open = new Map<number, { readonly at: number; readonly body: Buffer[] }>();
  let sent = 0;
  let sample = "";
  let held: Buffer = EMPTY;

  return new Promise((resolve, reject) => {
    const started = performance.now();
    let unsent: Buffer = EMPTY;
    const write = (socket: Bun.Socket, bytes: Buffer): void => {
      unsent = unsent.length === 0 ? bytes : Buffer.concat([unsent, bytes]);
      unsent = unsent.subarray(Math.max(socket.write(unsent), 0));
    };
    const next = (socket: Bun.Socket): void => {
      if (sent >= load.requests) return;
      const request = Buffer.from(requests[sent % requests.length] ?? EMPTY);
      const id = 2 * sent + 1;
      putNumber(request, 5, id);
      putNumber(request, dataAt + 5, id);
      sent++;
      open.set(id, { at: performance.now(), body: [] });
      write(socket, request);
    };
    const receive = (socket: Bun.Socket, chunk: Buffer): void => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      while (held.length >= FRAME_HEAD) {
        const end = FRAME_HEAD + held.readUIntBE(0, 3);
        if (held.length < end) break;
        const [kind, flags, id] = [held[3], held[4] ?? 0, numberAt(held, 5)];
        const payload = held.subarray(FRAME_HEAD, end);
        held = held.subarray(end);
        const exchange = open.get(id);
        if (!exchange) continue;
        if (kind === Kind.DATA && sample === "") exchange.body.push(payload);
        if (kind === Kind.RST_STREAM) {
          reject(new Error("the server reset a stream"));
          return;
        }
        if (kind !== Kind.HEADERS || (flags & Flag.END_STREAM) === 0) continue;
        // The server's trailers are not compressed: a status of "0" is their last byte.
        if (!payload.toString("latin1").includes(GRPC_OK) || payload.at(-1) !== 0x30) {
          reject(new Error(payload.toString("latin1")));
          return;
        }
        open.delete(id);
        taken.push(performance.now() - exchange.at);
        if (sample === "") sample = Buffer.concat(exchange.body).subarray(5).toString("base64");
        if (taken.length === load.requests) {
          resolve(latenciesOf(taken, performance.now() - started, [], sample));
          socket.end();
          return;
        }
        next(socket);
      }
    };
    Bun.connect({
      hostname: load.host,
      port: load.port,
      socket: {
        open(socket) {
          const window = settingsFrame([[Setting.INITIAL_WINDOW_SIZE, 2 ** 31 - 1]]);
          write(socket, Buffer.concat([PREFACE, window, numbersFrame(Kind.WINDOW_UPDATE, 0, 2 ** 31 - 1 - 65_535)]));
          for (let one = 0; one < load.concurrency; one++) next(socket);
        },
        drain: (socket) => write(socket, EMPTY),
        data: (socket, chunk) => receive(socket, Buffer.from(chunk)),
        error: (_, error) => reject(error),
        close: () => reject(new Error("the server closed the connection")),
      },
    }).catch(reject);
  });
}

if (import.meta.main) {
  const load = (await Bun.stdin.json()) as Load;
  console.log(JSON.stringify(await sendGrpc(load)));
  process.exit(0);
}
