/**
 * Calls of gRPC. Each becomes a call of Connect for the router, and its answer one of gRPC: so who
 * may call what, every bound, the audit log and the log of requests are those of Connect, and a
 * query takes the same short way. Both have the same messages; they differ in headers, in the five
 * bytes before a message, and in how an error is told.
 */

import { compressedFlag } from "@connectrpc/connect/protocol";
import { endStreamFlag } from "@connectrpc/connect/protocol-connect";
import { ErrorCode } from "../../http2/frames.ts";
import { type Field, headerBlock } from "../../http2/hpack.ts";
import { type Http2Stream, StreamEnded } from "../../http2/stream.ts";
import type { Log } from "../../log.ts";
import type { Connection, FetchHandler } from "../connection.ts";
import { BODY_DEADLINE_MS } from "../http/body.ts";
import { ENCODINGS } from "../http/content-encoding.ts";
import { TIMEOUT_HEADER } from "../http/deadline.ts";
import { ENVELOPE_BYTES } from "../services/call-body.ts";
import { enveloped, envelopes, messageLength } from "./envelopes.ts";
import { type MethodKind, otherThanUnary } from "./method-kinds.ts";
import { type CallError, errorTrailers, OK_TRAILERS } from "./status.ts";

/** Serves the streams of a connection. */
export type ServeCall = (stream: Http2Stream, connection: Connection) => Promise<void>;

/** How messages are encoded. */
type Form = "proto" | "json";

/** A call by its headers. */
interface Call {
  readonly url: string;
  readonly path: string;
  readonly form: Form;
  /** Those of the call that Connect has too, and its deadline. */
  readonly headers: Headers;
  /** How messages that are marked so are compressed; undefined = not. */
  readonly encoding: string | undefined;
}

/** The beginning of a call's body: the envelope of its message, and what came with it. */
interface Begun {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
}

/** A call that is answered with an error, whatever it asks for. */
class CallRefused extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Makes what serves the streams of connections. */
export function createCalls(handle: FetchHandler, log: Pick<Log, "error">): ServeCall {
  let kinds: ReadonlyMap<string, MethodKind> | undefined;
  return async (stream, connection) => {
    let form: Form | undefined;
    try {
      form = formOf(stream.fields);
      if (form === undefined) return stream.answerHead(NOT_GRPC);
      const call = readCall(stream.fields, form);
      kinds ??= otherThanUnary();
      const kind = kinds.get(call.path) ?? "unary";
      const begun = stream.isBodyEnded ? { bytes: stream.take(), isWhole: true } : await beginningOf(stream);
      const left = new AbortController();
      stream.onEnded = () => left.abort();
      const response = await handle(requestOf(call, kind, begun, stream, left.signal), connection);
      if (kind === "unary") await answer(stream, response, form);
      else await answerStream(stream, response, form);
    } catch (error) {
      if (error instanceof StreamEnded || stream.isClosed) return;
      if (!(error instanceof CallRefused))
        log.error("a call of gRPC failed", { error: String(error instanceof Error ? error.stack : error) });
      const told = error instanceof CallRefused ? error : { code: "internal", message: "The server failed. Its log has the details." };
      stream.answerHead(errorHead(form ?? "proto", told));
    }
  };
}

/** The answer to a request that is none of gRPC. */
const NOT_GRPC = headerBlock([
  [":status", "415"],
  ["grpc-status", "13"],
  ["grpc-message", encodeURI("This port takes calls of gRPC: POST with Content-Type: application/grpc.")],
]);

const CONTENT_TYPE = /^application\/grpc(?:\+(proto|json))?\s*(?:;|$)/i;

/** How the messages of a call are encoded; undefined when it is none of gRPC. */
function formOf(fields: readonly Field[]): Form | undefined {
  const type = CONTENT_TYPE.exec(fieldOf(fields, "content-type") ?? "");
  if (!type || fieldOf(fields, ":method") !== "POST") return undefined;
  return type[1]?.toLowerCase() === "json" ? "json" : "proto";
}

function fieldOf(fields: readonly Field[], name: string): string | undefined {
  return fields.find((field) => field[0] === name)?.[1];
}

/**
 * Headers that are not passed on: those of gRPC and HTTP/2, those that mean something to Connect,
 * and those of browsers, which do not call by gRPC.
 */
const NOT_PASSED = /^(?:te|host|cookie|content-(?:type|length|encoding)|accept-encoding|grpc-.*|connect-.*)$/;

function readCall(fields: readonly Field[], form: Form): Call {
  const headers = new Headers();
  let encoding: string | undefined;
  try {
    for (const [name, value] of fields) {
      if (name === "grpc-timeout") headers.set(TIMEOUT_HEADER, String(timeoutMs(value)));
      else if (name === "grpc-encoding" && value !== "identity") encoding = value;
      else if (!name.startsWith(":") && !NOT_PASSED.test(name)) headers.append(name, value);
    }
    const host = fieldOf(fields, ":authority") ?? fieldOf(fields, "host") ?? "";
    headers.set("host", host);
    const path = fieldOf(fields, ":path") ?? "";
    // Whether the host is this server's is for the guard to say, whose answer needs a URL.
    return { url: `http://server${path}`, path, form, headers, encoding };
  } catch (error) {
    if (error instanceof CallRefused) throw error;
    throw new CallRefused("invalid_argument", "The headers of the call cannot be read.");
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** Milliseconds of a deadline, at least one. */
function timeoutMs(text: string): number {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  if (digits === undefined || unit === undefined)
    throw new CallRefused("invalid_argument", "grpc-timeout is a number of at most eight digits with its unit: H, M, S, m, u or n.");
  return Math.min(Math.max(Math.ceil(Number(digits) * (UNIT_MS[unit] ?? 1)), 1), 9_999_999_999);
}

/**
 * Waits for the envelope of the message, which tells how long it is, so that a body without room is
 * not taken.
 */
async function beginningOf(stream: Http2Stream): Promise<Begun> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stream.reset(ErrorCode.CANCEL);
  }, BODY_DEADLINE_MS);
  try {
    let bytes: Uint8Array = new Uint8Array(0);
    while (bytes.length < ENVELOPE_BYTES) {
      const more = await stream.read();
      if (more === undefined) break;
      bytes = bytes.length === 0 ? more : Buffer.concat([bytes, more]);
    }
    return { bytes, isWhole: stream.isBodyEnded };
  } finally {
    if (!isLate) clearTimeout(timer);
  }
}

const TYPES = { unary: "application/", server_streaming: "application/connect+", duplex: "application/connect+" } as const;

function requestOf(call: Call, kind: MethodKind, begun: Begun, stream: Http2Stream, signal: AbortSignal): Request {
  const { headers, form, encoding } = call;
  headers.set("content-type", `${TYPES[kind]}${form}`);
  if (kind === "duplex") return toRouter(call, signal, bodyOf(stream, begun));
  const { bytes } = begun;
  if (bytes.length < ENVELOPE_BYTES) throw new CallRefused("invalid_argument", "The call has no message.");
  const flags = bytes[0] ?? 0;
  const length = messageLength(bytes);
  const isCompressed = (flags & compressedFlag) !== 0;
  if (flags > compressedFlag) throw new CallRefused("invalid_argument", "The envelope of the message has flags that are not known.");
  if (isCompressed && encoding === undefined)
    throw new CallRefused("invalid_argument", "The message is compressed, and grpc-encoding does not say how.");
  if (encoding !== undefined) {
    // Who compresses what it sends gets compressed what it is sent.
    headers.set(kind === "unary" ? "accept-encoding" : "connect-accept-encoding", encoding);
    if (isCompressed) headers.set(kind === "unary" ? "content-encoding" : "connect-content-encoding", encoding);
  }
  const from = kind === "unary" ? ENVELOPE_BYTES : 0;
  const end = ENVELOPE_BYTES + length;
  headers.set("content-length", String(end - from));
  if (bytes.length > end || (begun.isWhole && bytes.length < end)) throw wrongLength();
  if (begun.isWhole) return toRouter(call, signal, bytes.subarray(from));
  return toRouter(call, signal, bodyOf(stream, { ...begun, bytes: bytes.subarray(from) }, end - from));
}

function wrongLength(): CallRefused {
  return new CallRefused("invalid_argument", "The call has other than one message, as long as its envelope says.");
}

function toRouter({ url, headers }: Call, signal: AbortSignal, body: Uint8Array | ReadableStream<Uint8Array>): Request {
  return new Request(url, { method: "POST", headers, signal, body: body as BodyInit });
}

/** What is left of a body, which is taken as it is read: of `length` bytes, if that is known. */
function bodyOf(stream: Http2Stream, begun: Begun, length?: number): ReadableStream<Uint8Array> {
  let left = length ?? Number.POSITIVE_INFINITY;
  let first: Uint8Array | undefined = begun.bytes;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const bytes = first ?? (await stream.read());
      first = undefined;
      if (bytes === undefined) {
        if (length !== undefined && left > 0) controller.error(wrongLength());
        else controller.close();
        return;
      }
      left -= bytes.length;
      if (left < 0) return controller.error(wrongLength());
      if (bytes.length > 0) controller.enqueue(bytes);
      if (left === 0) controller.close();
    },
  });
}

/** The header blocks of answers, by how they are encoded and compressed; "" = not. */
const HEADS: Readonly<Record<Form, Readonly<Record<string, Uint8Array>>>> = { proto: headsOf("proto"), json: headsOf("json") };

function headsOf(form: Form): Record<string, Uint8Array> {
  const blocks = ["", ...ENCODINGS].map((encoding) => {
    const fields: Field[] = [
      [":status", "200"],
      ["content-type", `application/grpc+${form}`],
      ["grpc-accept-encoding", `${ENCODINGS.join()},identity`],
    ];
    if (encoding !== "") fields.push(["grpc-encoding", encoding]);
    return [encoding, headerBlock(fields)] as const;
  });
  return Object.fromEntries(blocks);
}

function headOf(form: Form, encoding: string | null): Uint8Array {
  return HEADS[form][encoding ?? ""] as Uint8Array;
}

/** The header block of an answer that is an error alone. */
function errorHead(form: Form, error: CallError): Uint8Array {
  return headerBlock([[":status", "200"], ["content-type", `application/grpc+${form}`], ...errorTrailers(error)]);
}

/** Answers a unary call. */
async function answer(stream: Http2Stream, response: Response, form: Form): Promise<void> {
  const { headers, status } = response;
  if (status !== 200) return stream.answerHead(errorHead(form, await errorIn(response)));
  const message = await response.bytes();
  const encoding = headers.get("content-encoding");
  stream.answer(headOf(form, encoding), enveloped(encoding === null ? 0 : compressedFlag, message), OK_TRAILERS);
}

/** Answers a call with the messages of a stream of Connect, whose last one says how it ended. */
async function answerStream(stream: Http2Stream, response: Response, form: Form): Promise<void> {
  const { body, headers, status } = response;
  if (status !== 200 || !body) return stream.answerHead(errorHead(form, await errorIn(response)));
  stream.begin(headOf(form, headers.get("connect-content-encoding")));
  for await (const { flags, message, whole } of envelopes(body)) {
    if ((flags & endStreamFlag) === 0) {
      await stream.write(whole);
      continue;
    }
    const { error } = JSON.parse(new TextDecoder().decode(message)) as { error?: CallError };
    return stream.end(error ? headerBlock(errorTrailers(error)) : OK_TRAILERS);
  }
  stream.end(headerBlock(errorTrailers({ code: "unavailable", message: "The answer was cut." })));
}

/** The error in an answer of Connect. */
async function errorIn(response: Response): Promise<CallError> {
  try {
    return (await response.json()) as CallError;
  } catch {
    return { code: "unknown", message: `The server answered with status ${response.status}.` };
  }
}
