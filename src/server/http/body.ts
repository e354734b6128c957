/** Reading request bodies: each has a longest length and a deadline, and all together have the server's budget. */

import type { BodyShare } from "./body-budget.ts";

/** Why a body is refused: it did not come in time, is longer than it may be, or there is no room for it now. */
export type BodyStatus = 408 | 413 | 503;

const CODES: Readonly<Record<BodyStatus, string>> = { 408: "body_too_slow", 413: "body_too_large", 503: "server_busy" };

/** A body that was not read to its end. */
export class BodyRefused extends Error {
  override readonly name = "BodyRefused";
  constructor(
    message: string,
    readonly status: BodyStatus,
  ) {
    super(message);
  }

  /** For programs. */
  get code(): string {
    return CODES[this.status];
  }
}

/** Longest time that a body of a call may take to come. */
export const BODY_DEADLINE_MS = 30_000;

/** Room that a body takes whose length is not announced, at least: the runtime has about so much of one before it makes the sender wait. */
const UNANNOUNCED_BYTES = 4 * 1024 * 1024;

/**
 * Longest body that takes no room: it is read as it comes, so a sender who takes his time holds no more than he sent. Whoever has no credentials, or some that open
 * nothing with longer bodies, keeps nobody waiting.
 */
export const SHORT_BODY_BYTES = 16 * 1024;

/** How a body is read. */
export interface BodyOptions {
  /** Where its bytes are counted, if it may be longer than a short one. */
  readonly share?: BodyShare;
  readonly deadlineMs?: number;
}

/** Whether a request comes with a body of which nothing was read. */
export function hasUnreadBody(request: Request): boolean {
  const { headers } = request;
  const announced = headers.get("content-length");
  return (announced === null ? headers.has("transfer-encoding") : announced !== "0") && !request.bodyUsed;
}

/**
 * Reads a whole body. A length that is announced, and a body for which there is no room, is refused before a byte is read.
 * @throws BodyRefused when it exceeds `maxBytes`, the deadline, or what the server has room for
 */
export async function readBody(request: Request, maxBytes: number, options: BodyOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
  const { share, deadlineMs = BODY_DEADLINE_MS } = options;
  const announced = request.headers.get("content-length");
  if (announced === null && !request.body) return new Uint8Array(0);
  const length = announced === null ? undefined : Number(announced);
  if (length !== undefined && length > maxBytes) throw tooLong(maxBytes);
  const taken = maxBytes <= SHORT_BODY_BYTES || !share || share.take(length ?? Math.max(maxBytes, UNANNOUNCED_BYTES));
  if (taken !== true && !(await taken)) throw noRoom();
  return length === undefined ? readUpTo(request, maxBytes, deadlineMs) : inTime(request.bytes(), deadlineMs);
}

async function readUpTo(request: Request, maxBytes: number, deadlineMs: number): Promise<Uint8Array<ArrayBuffer>> {
  const reader = (request.body as ReadableStream<Uint8Array>).getReader();
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
      if (length > maxBytes) {
        reader.cancel().catch(() => undefined);
        throw tooLong(maxBytes);
      }
    }
  } finally {
    clearTimeout(timer);
    for (const chunk of chunks) free(chunk);
  }
}

/** Gives memory back at once: bodies come faster than the collector looks for garbage. */
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

/** What `work` gives; most bodies are there already. */
function inTime<T>(work: Promise<T>, deadlineMs: number): T | Promise<T> {
  if (Bun.peek.status(work) === "fulfilled") return work;
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
  return new BodyRefused("The server has no room for the body now: it is busy with other requests. Send it again in a moment.", 503);
}
