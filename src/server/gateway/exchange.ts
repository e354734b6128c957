/**
 * A connection of HTTP/1.1, request by request: each is passed to the server of its route and its
 * answer passed back, as they come. Nothing of a request passes before it is known who may send it.
 */

import { errorText } from "../../domain/error-text.ts";
import { isElsewhere } from "../../domain/ip-address.ts";
import { Failure } from "../failure.ts";
import { readBody, writeBody } from "../http1/body.ts";
import { type Connections, ConnectRefused } from "../http1/connections.ts";
import {
  type Framing,
  type HeadField,
  headBytes,
  listOf,
  Malformed,
  parseRequest,
  parseResponse,
  type RequestHead,
  type ResponseHead,
  readHead,
  requestFraming,
  responseFraming,
  valuesOf,
} from "../http1/head.ts";
import { type Pipe, PipeClosed } from "../http1/pipe.ts";
import type { Log } from "../log.ts";
import type { LeaseEnd } from "../scaling-groups/replica-set.ts";
import { isLoopback } from "../wire/http/guard.ts";
import { errorAnswer, SAFE_HEADERS } from "../wire/http/respond.ts";
import type { AdmissionParts, Admitted } from "./admission.ts";
import { enter } from "./entry.ts";
import { type GatewayMeter, type SeenRequest, seenRequest } from "./gateway-meter.ts";
import type { Hops } from "./hops.ts";
import { responseFields, type Sender } from "./passed-fields.ts";
import { Refused } from "./refused.ts";
import { type Lease, type Route, serverText } from "./route.ts";
import { Watch } from "./watch.ts";

/** How long the gateway waits, in milliseconds. */
export interface Patience {
  /** For all of a request's head, once it has begun. */
  readonly headMs: number;
  /** For the next request of a connection. */
  readonly nextMs: number;
  /** For the beginning of an answer, after the last piece of the request. */
  readonly answerMs: number;
  /** The same for the gateway of another node, which waits as long for the server itself. */
  readonly hopMs: number;
  /** For the next piece of a body. */
  readonly pieceMs: number;
  /** For the next bytes on a WebSocket, of either side. */
  readonly socketMs: number;
}

/** The patience of a server. */
export const PATIENCE: Patience = {
  headMs: 20_000,
  nextMs: 60_000,
  answerMs: 120_000,
  hopMs: 600_000,
  pieceMs: 300_000,
  socketMs: 900_000,
};

/** What an exchange depends on. */
export interface GatewayParts extends AdmissionParts {
  readonly connections: Connections;
  readonly patience: Patience;
  readonly meter: GatewayMeter;
  readonly hops: Hops;
  readonly log: Pick<Log, "error">;
}

/** Servers that are tried one after the other when they take no connection. */
export const MOST_TRIES = 5;
/** Answers before the answer that are passed on. */
const MOST_INTERIM = 10;
/** Methods that may be sent twice: a kept connection may end just when it is used. */
const REPEATABLE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Serves a connection to its end. Never rejects.
 * @param leaving takes no further request once it is aborted
 */
export async function serveConnection(parts: GatewayParts, client: Pipe, sender: Sender, leaving: AbortSignal): Promise<void> {
  const { headMs, nextMs } = parts.patience;
  const watch = new Watch(() => client.destroy());
  const leave = (): void => client.destroy();
  try {
    for (let goesOn = true; goesOn && !client.isClosed && !leaving.aborted; ) {
      watch.limit(nextMs);
      leaving.addEventListener("abort", leave, { once: true });
      const text = await readHead(client, () => {
        leaving.removeEventListener("abort", leave);
        watch.limit(headMs);
      });
      if (text === undefined) break;
      watch.stop();
      goesOn = await exchange(parts, client, sender, parseRequest(text));
    }
  } catch (error) {
    const refused = refusalOf(parts, error);
    if (refused) await client.write(await answerBytes(refused, undefined, false)).catch(() => undefined);
  } finally {
    watch.stop();
    leaving.removeEventListener("abort", leave);
    client.finish();
  }
}

/** What a client is told of an error; undefined when there is nobody to tell. */
export function refusalOf({ log }: Pick<GatewayParts, "log">, error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  if (error instanceof Malformed) return new Refused(error.status, error.message);
  if (error instanceof Failure) return Refused.of(error);
  if (error instanceof PipeClosed) return undefined;
  log.error("a request of the gateway failed", { error: String(error instanceof Error ? error.stack : error) });
  return new Refused(500, "The gateway failed. The server's log has the details.");
}

/** An answer of the gateway itself. */
async function answerBytes({ hint, message, status }: Refused, head: RequestHead | undefined, goesOn: boolean): Promise<Buffer> {
  const wantsText = head !== undefined && valuesOf(head.fields, "accept").some((accept) => accept.includes("text/html"));
  const answer = errorAnswer({ status, message, hint });
  const body = Buffer.from(wantsText ? `${message}${hint ? `\n${hint}` : ""}\n` : await answer.text());
  const challenge = answer.headers.get("www-authenticate");
  const fields: HeadField[] = [
    ["content-type", wantsText ? "text/plain; charset=utf-8" : "application/json"],
    ["content-length", String(body.length)],
    ...Object.entries(SAFE_HEADERS),
    ...(challenge === null ? [] : [["www-authenticate", challenge] as const]),
    ...(status === 503 ? [["retry-after", "1"] as const] : []),
    ...(goesOn ? [] : [["connection", "close"] as const]),
  ];
  const first = headBytes(`HTTP/1.1 ${status} ${REASONS[status] ?? "Error"}`, fields);
  return head?.method === "HEAD" ? first : Buffer.concat([first, body]);
}

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  408: "Request Timeout",
  421: "Misdirected Request",
  426: "Upgrade Required",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  505: "HTTP Version Not Supported",
};

/** Passes one request on and its answer back; returns whether the connection takes another one. */
async function exchange(parts: GatewayParts, client: Pipe, sender: Sender, head: RequestHead): Promise<boolean> {
  const framing = requestFraming(head);
  const said = listOf(head.fields, "connection");
  const goesOn = head.isModern && !said.includes("close");
  const left = new AbortController();
  const seen = seenRequest(head.method, head.target, head.fields);
  client.onClosed = () => left.abort(new PipeClosed("The client has left."));
  try {
    const host = valuesOf(head.fields, "host")[0] ?? "";
    const request = { method: head.method, target: head.target, host };
    const { admitted, fields, ...place } = await enter(parts, { request, fields: head.fields, sender }, seen);
    const { prefix, route } = admitted;
    if (route.isGrpc) throw new Refused(426, `The ${route.what} speaks gRPC.`, "Call it with a client of gRPC, by HTTP/2.");
    if (head.target === prefix && REPEATABLE.has(head.method)) {
      seen.status = 308;
      await client.write(
        headBytes("HTTP/1.1 308 Permanent Redirect", [
          ["location", `${prefix}/`],
          ["content-length", "0"],
        ]),
      );
      return goesOn && framing.is === "none";
    }
    const isSocket = said.includes("upgrade") && listOf(head.fields, "upgrade").includes("websocket");
    if (isSocket && (framing.is !== "none" || head.method !== "GET"))
      throw new Malformed(400, "A request for a WebSocket is a GET without a body.");
    const passed = { client, head, framing, fields, goesOn, isSocket, left: left.signal, seen };
    return await pass(parts, { ...passed, admitted: { ...admitted, ...place } });
  } catch (error) {
    const refused = refusalOf(parts, error);
    if (!refused || client.isClosed) return false;
    seen.status = refused.status;
    const stays = goesOn && framing.is === "none" && refused.status !== 400;
    await client.write(await answerBytes(refused, head, stays));
    return stays;
  } finally {
    parts.meter.answered(seen);
    client.onClosed = undefined;
  }
}

/** A request that may pass, and what was made of it. */
interface Passed {
  readonly client: Pipe;
  readonly head: RequestHead;
  readonly framing: Framing;
  readonly admitted: Admitted;
  readonly fields: readonly HeadField[];
  /** Whether the client would send another request on its connection; only one of HTTP/1.1 does. */
  readonly goesOn: boolean;
  readonly isSocket: boolean;
  /** Aborted when the client has left. */
  readonly left: AbortSignal;
  readonly seen: SeenRequest;
}

/** A server's answer came too late, or not whole. */
class AnswerFailed extends Refused {}

async function pass(parts: GatewayParts, passed: Passed): Promise<boolean> {
  const { connections } = parts;
  const { admitted, framing, head, isSocket, left } = passed;
  const isRepeatable = framing.is === "none" && !isSocket && REPEATABLE.has(head.method);
  for (let tries = 1; ; tries++) {
    const lease = await leaseOf(admitted.route, left);
    if (lease.replica !== undefined) passed.seen.replica = lease.replica;
    let end: LeaseEnd = "answered";
    const isHop = admitted.route.node !== undefined;
    try {
      const kept = isRepeatable ? connections.kept(lease.address) : undefined;
      if (kept) {
        passed.seen.isCountedThere = isHop;
        const outcome = await run(parts, passed, lease, kept);
        if (outcome !== "unused") return outcome === "goes on";
      }
      const server = await connections.open(lease.address);
      passed.seen.isCountedThere = isHop;
      const outcome = await run(parts, passed, lease, server);
      if (outcome === "unused") {
        passed.seen.isCountedThere = false;
        throw new AnswerFailed(502, `The ${serverText(admitted.route)} ended the connection without an answer.`);
      }
      return outcome === "goes on";
    } catch (error) {
      end = "failed";
      if (!(error instanceof ConnectRefused)) throw error;
      end = "refused";
      passed.seen.isCountedThere = false;
      if (isHop) throw unreachable(admitted.route, errorText(error));
      if (tries >= MOST_TRIES) throw new Refused(502, `The ${admitted.route.what} takes no connection on its port: ${errorText(error)}.`);
    } finally {
      lease.release(end);
    }
  }
}

/** Why the gateway of another node cannot be asked. */
export function unreachable(route: Route, why: string): Refused {
  return new Refused(
    502,
    `The ${serverText(route)} cannot be reached: ${why}.`,
    "`svc clusters describe` shows the nodes that run; SVC_GATEWAY_ADDRESS of that node is where others reach its gateway.",
  );
}

/**
 * A server of a route, on this machine or in its engine's cluster, or the gateway of another node.
 * Rejects with Refused, or as `Route.lease`.
 */
export async function leaseOf(route: Route, signal: AbortSignal): Promise<Lease> {
  const lease = await route.lease(signal);
  if (route.node !== undefined) return lease;
  if (isLoopback(lease.address.host) || isElsewhere(lease.address.host)) return lease;
  lease.release("failed");
  throw new Refused(502, `The ${route.what} is at no address of a container.`);
}

/**
 * Runs an exchange over a connection to the server; "unused" when that ended without a byte of an
 * answer.
 */
async function run(parts: GatewayParts, passed: Passed, lease: Lease, server: Pipe): Promise<"unused" | "goes on" | "over"> {
  const { patience } = parts;
  const { admitted, client, fields, framing, head, isSocket, left } = passed;
  const what = serverText(admitted.route);
  const answerMs = admitted.route.node === undefined ? patience.answerMs : patience.hopMs;
  let isLate = false;
  let hasBegun = false;
  const watch = new Watch(() => {
    isLate = true;
    server.destroy();
    if (hasBegun) client.destroy();
  });
  const leave = (): void => server.destroy();
  left.addEventListener("abort", leave, { once: true });
  let isSent = false;
  let sendingFailed: unknown;
  try {
    left.throwIfAborted();
    watch.limit(answerMs);
    const isChunked = framing.is === "chunked";
    const own: HeadField[] = [
      ...(isSocket
        ? ([
            ["connection", "Upgrade"],
            ["upgrade", "websocket"],
          ] as const)
        : []),
      ...(isChunked ? ([["transfer-encoding", "chunked"]] as const) : []),
      ...(framing.is === "length" ? ([["content-length", String(framing.bytes)]] as const) : []),
      ...(framing.is === "none" && valuesOf(head.fields, "content-length").length > 0 ? ([["content-length", "0"]] as const) : []),
    ];
    const first = headBytes(`${head.method} ${admitted.target} HTTP/1.1`, [...fields, ...own]);
    void writeBody(server, first, readBody(client, framing), isChunked, watch.moved).then(
      () => {
        isSent = true;
      },
      (error: unknown) => {
        sendingFailed = error;
        // A body that cannot be passed on whole must not pass for one that is.
        if (error instanceof Malformed || client.isClosed) server.destroy();
      },
    );
    let answer: ResponseHead | undefined;
    for (let interim = 0; ; interim++) {
      const text = await readHead(server, watch.moved);
      if (text === undefined) break;
      answer = parseResponse(text);
      if (answer.status >= 200 || answer.status === 101) break;
      if (interim >= MOST_INTERIM) throw new AnswerFailed(502, `The ${what} does not come to its answer.`);
      if (head.isModern)
        await client.write(headBytes(`HTTP/1.1 ${answer.status} ${answer.reason}`, responseFields(answer.fields, admitted.prefix)));
      answer = undefined;
    }
    if (!answer) {
      if (client.isClosed) return "over";
      if (sendingFailed instanceof Malformed) throw sendingFailed;
      if (isLate) throw new AnswerFailed(504, `The ${what} did not answer in ${answerMs / 1_000} seconds.`);
      return "unused";
    }
    passed.seen.status = answer.status;
    if (answer.status === 101) {
      if (!isSocket) throw new AnswerFailed(502, `The ${what} changed the protocol, which nobody asked for.`);
      hasBegun = true;
      await joined(passed, server, answer, watch, patience.socketMs);
      return "over";
    }
    const answerFraming = responseFraming(answer, head.method);
    hasBegun = true;
    watch.limit(patience.pieceMs);
    const staysOpen = await passAnswer(passed, server, answer, answerFraming, watch, isSent);
    const isReusable = answer.isModern && answerFraming.is !== "until-close" && !listOf(answer.fields, "connection").includes("close");
    if (isReusable && isSent) parts.connections.keep(lease.address, server);
    else server.destroy();
    return staysOpen ? "goes on" : "over";
  } catch (error) {
    server.destroy();
    if (hasBegun || error instanceof PipeClosed) {
      client.destroy();
      return "over";
    }
    if (error instanceof Malformed && error !== sendingFailed)
      throw new AnswerFailed(502, `The ${what} answered with what is no HTTP: ${error.message}`);
    throw error;
  } finally {
    watch.stop();
    left.removeEventListener("abort", leave);
  }
}

/** Passes an answer back; returns whether its client may send another request on the connection. */
async function passAnswer(
  { admitted, client, goesOn, head, seen }: Passed,
  server: Pipe,
  answer: ResponseHead,
  framing: Framing,
  watch: Watch,
  isSent: boolean,
): Promise<boolean> {
  const isUnbounded = framing.is === "chunked" || framing.is === "until-close";
  const isChunked = isUnbounded && head.isModern;
  const staysOpen = goesOn && isSent;
  const [length] = framing.is === "chunked" ? [] : valuesOf(answer.fields, "content-length");
  const fields: HeadField[] = [...responseFields(answer.fields, admitted.prefix)];
  if (isChunked) fields.push(["transfer-encoding", "chunked"]);
  if (length !== undefined) fields.push(["content-length", length]);
  if (!staysOpen) fields.push(["connection", "close"]);
  const first = headBytes(`HTTP/1.1 ${answer.status} ${answer.reason}`, fields);
  seen.bytes = await writeBody(client, first, readBody(server, framing), isChunked, watch.moved);
  return staysOpen;
}

/** Passes bytes both ways, once both sides speak another protocol. */
async function joined({ admitted, client }: Passed, server: Pipe, answer: ResponseHead, watch: Watch, ms: number): Promise<void> {
  watch.limit(ms);
  const own: HeadField[] = [
    ["connection", "Upgrade"],
    ["upgrade", "websocket"],
  ];
  await client.write(headBytes(`HTTP/1.1 101 ${answer.reason}`, [...responseFields(answer.fields, admitted.prefix), ...own]));
  const one = async (from: Pipe, to: Pipe): Promise<void> => {
    for await (const bytes of readBody(from, { is: "until-close" })) {
      watch.moved();
      await to.write(bytes);
      watch.moved();
    }
    to.finish();
  };
  await Promise.all(
    [one(client, server), one(server, client)].map((way) =>
      way.catch(() => {
        client.destroy();
        server.destroy();
      }),
    ),
  );
}
