/**
 * Reading request bodies: each has a length limit and a deadline, and all together have the
 * server's budget.
 */

import type { BodyShare } from "./body-budget.ts";
import { ENCODINGS, type Encoding, encodingOf, inflated } from "./content-encoding.ts";

/**
 * The HTTP status of a refused body: 400 its compressed bytes are broken, 408 it was too slow, 413
 * it is too long, 415 its encoding is unknown, 503 there is no room for it now.
 */
export type BodyStatus = 400 | 408 | 413 | 415 | 503;

const CODES: Readonly<Record<BodyStatus, string>> = {
  400: "body_broken",
  408: "body_too_slow",
  413: "body_too_large",
  415: "unknown_encoding",
  503: "server_busy",
};

/** A body that was not read to its end. */
export class BodyRefused extends Error {
  override readonly name = "BodyRefused";
  constructor(
    message: string,
    readonly status: BodyStatus,
    /** Further headers of the answer. */
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }

  /** The error code for programs. */
  get code(): string {
    return CODES[this.status];
  }
}

/** Longest time that a body of a call may take to come. */
export const BODY_DEADLINE_MS = 30_000;

/**
 * Least room that a body without a Content-Length takes: the runtime reads about so much of one
 * before it makes the sender wait.
 */
const UNANNOUNCED_BYTES = 4 * 1024 * 1024;

/**
 * Longest body that takes no room. It is read as it comes, so a slow sender holds no more than was
 * sent; and callers who may only send short bodies never make others wait.
 */
export const SHORT_BODY_BYTES = 16 * 1024;

/** Options of reading a body. */
export interface BodyOptions {
  /** The share that counts its bytes; absent for bodies that are always short. */
  readonly share?: BodyShare;
  readonly deadlineMs?: number;
  /** Whether it may be compressed, which only authenticated endpoints permit. */
  readonly inflates?: boolean;
}

/** Whether a request has a body of which nothing was read. */
export function hasUnreadBody(request: Request): boolean {
  const { headers } = request;
  const announced = headers.get("content-length");
  return (announced === null ? headers.has("transfer-encoding") : announced !== "0") && !request.bodyUsed;
}

/**
 * Reads and inflates a whole body, and removes the headers that name its encoding; `maxBytes` and
 * the room taken count inflated bytes. A Content-Length that is too great, and a body for which
 * there is no room, are refused before a byte is read.
 * @throws BodyRefused when it exceeds `maxBytes`, the deadline, or what the server has room for,
 * and when its encoding is unknown or broken
 */
export async function readBody(request: Request, maxBytes: number, options: BodyOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
  const { share, deadlineMs = BODY_DEADLINE_MS } = options;
  const encoding = contentEncoding(request.headers, options);
  const announced = request.headers.get("content-length");
  if (encoding) for (const name of [ENCODING, "content-length"]) request.headers.delete(name);
  if (announced === null && !request.body) return new Uint8Array(0);
  const length = announced === null ? undefined : Number(announced);
  if (length !== undefined && length > maxBytes) throw tooLong(maxBytes);
  if (encoding && request.body) return inflateBody(request.body, encoding, maxBytes, options);
  const taken = maxBytes <= SHORT_BODY_BYTES || !share || share.take(length ?? Math.max(maxBytes, UNANNOUNCED_BYTES));
  if (taken !== true && !(await taken)) throw noRoom();
  return length === undefined
    ? readUpTo(request.body as ReadableStream<Uint8Array>, maxBytes, deadlineMs)
    : inTime(request.bytes(), deadlineMs);
}

const ENCODING = "content-encoding";

/** The encoding of a body; undefined = not compressed. */
function contentEncoding(headers: Headers, { inflates }: BodyOptions): Encoding | undefined {
  const name = headers.get(ENCODING) ?? "identity";
  if (name === "identity") return undefined;
  const encoding = inflates ? encodingOf(name) : undefined;
  if (encoding) return encoding;
  const taken = inflates ? ENCODINGS : ["identity"];
  const message = `The body comes with a Content-Encoding that is not taken here. Use ${taken.join(" or ")}.`;
  throw new BodyRefused(message, 415, { "accept-encoding": taken.join(", ") });
}

/** The inflated bytes of a compressed stream. Throws BodyRefused. */
export async function inflateBody(
  stream: ReadableStream<Uint8Array>,
  encoding: Encoding,
  maxBytes: number,
  { share, deadlineMs = BODY_DEADLINE_MS }: BodyOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  let room = SHORT_BODY_BYTES;
  const makeRoom = async (length: number): Promise<void> => {
    while (share && room < length) {
      const next = Math.min(room * ROOM_GROWTH, maxBytes);
      if (!(await share.take(next - room))) throw noRoom();
      room = next;
    }
  };
  try {
    return await readUpTo(inflated(stream, encoding), maxBytes, deadlineMs, makeRoom);
  } catch (error) {
    throw error instanceof TypeError ? new BodyRefused(`The body is not whole ${encoding}.`, 400) : error;
  }
}

/**
 * Factor by which a compressed body's room grows whenever it turns out to hold more: no header
 * tells its inflated length reliably.
 */
const ROOM_GROWTH = 4;

async function readUpTo(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  deadlineMs: number,
  makeRoom?: (length: number) => Promise<void>,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    reader.cancel().catch(() => undefined);
  }, deadlineMs);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (late) throw tooSlow(deadlineMs);
      if (done) return joined(chunks, length);
      chunks.push(value);
      length += value.length;
      if (length > maxBytes) throw tooLong(maxBytes);
      await makeRoom?.(length);
    }
  } catch (error) {
    reader.cancel().catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
    for (const chunk of chunks) free(chunk);
  }
}

/** Frees memory at once: bodies arrive faster than the garbage collector runs. */
function free({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

/**
 * The result of `work`, at once when it is there already, as it is for most bodies. Rejects with
 * BodyRefused after the deadline.
 */
function inTime<T>(work: Promise<T>, deadlineMs: number): T | Promise<T> {
  if (Bun.peek.status(work) === "fulfilled") return Bun.peek(work) as T;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(tooSlow(deadlineMs)), deadlineMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function tooLong(maxBytes: number): BodyRefused {
  return new BodyRefused(`The body is longer than ${maxBytes} bytes, the most that is read here. Send it in parts.`, 413);
}

function tooSlow(deadlineMs: number): BodyRefused {
  return new BodyRefused(`The body did not come within ${deadlineMs / 1000} s.`, 408);
}

function noRoom(): BodyRefused {
  return new BodyRefused("The server has no room for the body now: it is busy with other requests. Send it again in a moment.", 503, {
    "retry-after": "1",
  });
}
