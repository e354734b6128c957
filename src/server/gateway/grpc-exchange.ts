/**
 * Calls of gRPC that pass the gateway: streams of HTTP/2 that become streams to the server of a
 * route, with their trailers, as they come.
 */

import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from "node:http2";
import { errorText } from "../../domain/error-text.ts";
import { addressText, type ServerAddress } from "../http1/connections.ts";
import { valuesOf } from "../http1/head.ts";
import { ErrorCode } from "../http2/frames.ts";
import { type Field, headerBlock } from "../http2/hpack.ts";
import { type Http2Stream, StreamEnded } from "../http2/stream.ts";
import type { LeaseEnd } from "../scaling-groups/replica-set.ts";
import { enter } from "./entry.ts";
import { type GatewayParts, leaseOf, MOST_TRIES, refusalOf, unreachable } from "./exchange.ts";
import { type SeenRequest, seenRequest } from "./gateway-meter.ts";
import { responseFields, type Sender } from "./passed-fields.ts";
import { Refused } from "./refused.ts";
import type { Lease } from "./route.ts";
import { Watch } from "./watch.ts";

/** Longest time that a connection is tried, in milliseconds. */
const CONNECT_MS = 10_000;

/** Sessions of HTTP/2 to servers, one for each address. */
export interface Sessions {
  /** Rejects with Refused. */
  of(address: ServerAddress): Promise<ClientHttp2Session>;
  close(): void;
}

/** Makes sessions. */
export function createSessions(): Sessions {
  const open = new Map<string, Promise<ClientHttp2Session>>();
  const begin = (key: string): Promise<ClientHttp2Session> =>
    new Promise((resolve, reject) => {
      const session = connect(key, { maxHeaderListPairs: 100, settings: { enablePush: false } });
      const timer = setTimeout(() => fail(new Error(`no answer in ${CONNECT_MS / 1_000} seconds`)), CONNECT_MS);
      const gone = (): void => {
        clearTimeout(timer);
        open.delete(key);
      };
      const fail = (error: unknown): void => {
        gone();
        session.destroy();
        reject(new Refused(503, `The server of the route takes no connection of HTTP/2: ${errorText(error)}.`));
      };
      session.on("error", fail);
      session.on("close", gone);
      session.on("goaway", gone);
      // Settings are the first that a server of HTTP/2 says: one that is none says something else.
      session.once("remoteSettings", () => {
        clearTimeout(timer);
        resolve(session);
      });
    });
  return {
    of(address) {
      const key = addressText(address);
      let session = open.get(key);
      if (!session) {
        session = begin(key);
        open.set(key, session);
        session.catch(() => open.delete(key));
      }
      return session;
    },
    close() {
      for (const session of open.values())
        session.then(
          (one) => one.destroy(),
          () => undefined,
        );
      open.clear();
    },
  };
}

/** Serves a stream. Never rejects. */
export async function serveStream(parts: GatewayParts, sessions: Sessions, stream: Http2Stream, sender: Sender): Promise<void> {
  const left = new AbortController();
  stream.onEnded = () => left.abort(new StreamEnded("The client has left."));
  let lease: Lease | undefined;
  let end: LeaseEnd = "failed";
  const fields = stream.fields.filter(([name]) => !name.startsWith(":"));
  const of = (name: string): string => stream.fields.find((field) => field[0] === name)?.[1] ?? "";
  const seen = seenRequest(of(":method"), of(":path"), fields);
  try {
    const host = of(":authority") || (valuesOf(fields, "host")[0] ?? "");
    const request = { method: of(":method"), target: of(":path"), host };
    const { admitted, ...onward } = await enter(parts, { request, fields, sender }, seen);
    const { route } = admitted;
    if (!route.isGrpc || !/^application\/grpc/i.test(of("content-type")))
      throw new Refused(505, `By HTTP/2 the gateway takes calls of gRPC to routes that speak it. The ${route.what} is asked by HTTP/1.1.`);
    let session: ClientHttp2Session | undefined;
    for (let tries = 1; !session; tries++) {
      const leased = await leaseOf(route, left.signal);
      try {
        session = await sessions.of(leased.address);
        lease = leased;
        if (leased.replica !== undefined) seen.replica = leased.replica;
      } catch (error) {
        leased.release("refused");
        if (route.node !== undefined) throw unreachable(route, errorText(error));
        if (tries >= MOST_TRIES) throw error;
      }
    }
    seen.isCountedThere = route.node !== undefined;
    await pass(parts, stream, session, { method: request.method, target: onward.target, fields: onward.fields }, left.signal, seen);
    end = "answered";
  } catch (error) {
    if (error instanceof StreamEnded || stream.isClosed) return;
    const refused = refusalOf(parts, error);
    if (!refused) return;
    seen.status = 200;
    seen.grpcStatus = codeOf(refused);
    // A node that ended without an answer has counted nothing.
    if (refused.status === 502) seen.isCountedThere = false;
    stream.answerHead(refusalHead(refused));
  } finally {
    parts.meter.answered(seen);
    lease?.release(end);
  }
}

interface Call {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly Field[];
}

/**
 * Passes a call to its server, and the answer back. Rejects with Refused while nothing was
 * answered.
 */
async function pass(
  { patience }: GatewayParts,
  stream: Http2Stream,
  session: ClientHttp2Session,
  { fields, method, target }: Call,
  left: AbortSignal,
  seen: SeenRequest,
): Promise<void> {
  left.throwIfAborted();
  const request = session.request(headersOf(method, target, fields), { endStream: false });
  let hasBegun = false;
  let why: unknown;
  const cancel = (reason: unknown): void => {
    why ??= reason;
    request.close(constants.NGHTTP2_CANCEL);
    request.destroy(reason instanceof Error ? reason : undefined);
  };
  const onLeft = (): void => cancel(left.reason);
  const watch = new Watch(() => cancel(new Refused(504, "The server of the route did not answer in time.")));
  left.addEventListener("abort", onLeft, { once: true });
  watch.limit(seen.isCountedThere ? patience.hopMs : patience.answerMs);
  try {
    let trailers: IncomingHttpHeaders = {};
    request.on("trailers", (given) => {
      trailers = given;
    });
    const answered = new Promise<IncomingHttpHeaders>((resolve, reject) => {
      request.once("response", resolve);
      request.on("error", reject);
      request.once("close", () => reject(new Error("it ended the stream")));
    });
    send(stream, request, watch.moved).catch(cancel);
    const head = await answered;
    watch.limit(patience.pieceMs);
    const block = headerBlock([[":status", String(head[":status"] ?? 502)], ...responseFields(fieldsOf(head), "")]);
    hasBegun = true;
    seen.status = Number(head[":status"] ?? 502);
    seen.grpcStatus = String(head["grpc-status"] ?? "0");
    // An error without messages is told in the first fields, which are the last ones then.
    if (head["grpc-status"] !== undefined) return stream.answerHead(block);
    stream.begin(block);
    for await (const piece of request as AsyncIterable<Uint8Array>) {
      watch.moved();
      seen.bytes += piece.length;
      await stream.write(piece);
      watch.moved();
    }
    seen.grpcStatus = String(trailers["grpc-status"] ?? "0");
    stream.end(headerBlock(fieldsOf(trailers)));
  } catch (error) {
    const reason = why ?? error;
    cancel(reason);
    if (!hasBegun)
      throw reason instanceof Refused || reason instanceof StreamEnded
        ? reason
        : new Refused(502, `The server of the route did not answer the call: ${errorText(reason)}.`);
    stream.reset(ErrorCode.CANCEL);
  } finally {
    watch.stop();
    left.removeEventListener("abort", onLeft);
  }
}

/** Passes the body of a call on. */
async function send(stream: Http2Stream, request: ClientHttp2Stream, moved: () => void): Promise<void> {
  for (let piece = await stream.read(); piece !== undefined; piece = await stream.read()) {
    moved();
    if (piece.length > 0 && !request.write(piece)) await once(request, "drain");
    moved();
  }
  request.end();
}

function headersOf(method: string, target: string, fields: readonly Field[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { ":method": method, ":path": target, ":scheme": "http", te: "trailers" };
  for (const [name, value] of fields) {
    const key = name === "host" ? ":authority" : name;
    const before = headers[key];
    headers[key] = before === undefined ? value : [...[before].flat(), value];
  }
  return headers;
}

function fieldsOf(headers: IncomingHttpHeaders): Field[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith(":") || value === undefined ? [] : [value].flat().map((one): Field => [name, one]),
  );
}

/** Codes of gRPC for the statuses of refusals. */
const CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  421: 5,
  429: 8,
  501: 12,
  502: 14,
  503: 14,
  504: 4,
  505: 12,
};

function codeOf({ status }: Refused): string {
  return String(CODES[status] ?? 13);
}

/** A refusal as an answer of gRPC that has no message. */
function refusalHead(refused: Refused): Uint8Array {
  const { hint, message } = refused;
  const text = encodeURI(`${message}${hint ? ` ${hint}` : ""}`.toWellFormed());
  return headerBlock([
    [":status", "200"],
    ["content-type", "application/grpc"],
    ["grpc-status", codeOf(refused)],
    ["grpc-message", text],
  ]);
}
