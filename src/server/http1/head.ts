/**
 * Heads of messages of HTTP/1.1 (RFC 9112), read strictly: what two readers could take for two
 * things is refused, so that nobody hides a request in another one.
 */

import type { Pipe } from "./pipe.ts";

/** A field: its name in lower case, and its value. */
export type HeadField = readonly [name: string, value: string];

/** The head of a request. */
export interface RequestHead {
  readonly method: string;
  /** From its slash; with the query. */
  readonly target: string;
  /** Whether it is of HTTP/1.1, and not of 1.0. */
  readonly isModern: boolean;
  readonly fields: readonly HeadField[];
}

/** The head of an answer. */
export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly isModern: boolean;
  readonly fields: readonly HeadField[];
}

/** How long the body of a message is. */
export type Framing = { readonly is: "none" | "chunked" | "until-close" } | { readonly is: "length"; readonly bytes: number };

/** Why a message is not taken, with the status for who sent it as a request. */
export class Malformed extends Error {
  override readonly name = "Malformed";
  constructor(
    readonly status: 400 | 408 | 431 | 501 | 505,
    message: string,
  ) {
    super(message);
  }
}

/** Most bytes and fields of a head. */
export const MAX_HEAD_BYTES = 32 * 1024;
export const MAX_HEAD_FIELDS = 100;

const END = Buffer.from("\r\n\r\n");
const TOKEN = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const TARGET = /^\/[\x21-\x7e\x80-\xff]*$/;
const NONE: Framing = { is: "none" };

/**
 * The bytes of a head, without the empty line; undefined when the connection ended before it began.
 * `begun` is called with its first bytes. Rejects with Malformed.
 */
export async function readHead(pipe: Pipe, begun?: () => void): Promise<string | undefined> {
  let held: Uint8Array | undefined;
  for (;;) {
    const piece = await pipe.read();
    if (piece === undefined) {
      if (held === undefined || held.length === 0) return undefined;
      throw new Malformed(400, "The head of the message was cut.");
    }
    if (held === undefined) begun?.();
    let bytes: Uint8Array = held === undefined ? piece : Buffer.concat([held, piece]);
    // An empty line before a head is what some clients send after the body before.
    if (held === undefined) while (bytes[0] === 13 && bytes[1] === 10) bytes = bytes.subarray(2);
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const end = view.indexOf(END, Math.max(0, (held?.length ?? 0) - END.length));
    if (end > MAX_HEAD_BYTES || (end < 0 && bytes.length > MAX_HEAD_BYTES))
      throw new Malformed(431, `The head of the message has more than ${MAX_HEAD_BYTES} bytes.`);
    if (end >= 0) {
      pipe.unread(bytes.subarray(end + END.length));
      return view.toString("latin1", 0, end);
    }
    held = bytes;
  }
}

/** Reads a request's head. Throws Malformed. */
export function parseRequest(text: string): RequestHead {
  const [first = "", ...lines] = text.split("\r\n");
  const [method = "", target = "", version = "", ...more] = first.split(" ");
  if (more.length > 0 || !TOKEN.test(method)) throw new Malformed(400, "The first line of the request is not one of HTTP/1.1.");
  if (!/^HTTP\/\d\.\d$/.test(version)) throw new Malformed(400, "The first line of the request is not one of HTTP/1.1.");
  if (version !== "HTTP/1.1" && version !== "HTTP/1.0") throw new Malformed(505, "This port takes HTTP/1.1, 1.0 and 2.");
  if (method === "CONNECT") throw new Malformed(501, "This is no forward proxy.");
  if (!TARGET.test(target)) throw new Malformed(400, "The target of the request is no path: this is no forward proxy.");
  const head: RequestHead = { method, target, isModern: version === "HTTP/1.1", fields: fieldsOf(lines) };
  if (valuesOf(head.fields, "host").length !== 1) throw new Malformed(400, "The request has no Host header, or several.");
  return head;
}

/** Reads an answer's head. Throws Malformed. */
export function parseResponse(text: string): ResponseHead {
  const [first = "", ...lines] = text.split("\r\n");
  const [, minor, status, reason = ""] = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: (.*))?$/s.exec(first) ?? [];
  if (status === undefined || !VALUE.test(reason)) throw new Malformed(400, "The first line of the answer is not one of HTTP/1.1.");
  return { status: Number(status), reason, isModern: minor === "1", fields: fieldsOf(lines) };
}

function fieldsOf(lines: readonly string[]): HeadField[] {
  if (lines.length > MAX_HEAD_FIELDS) throw new Malformed(431, `The head of the message has more than ${MAX_HEAD_FIELDS} fields.`);
  return lines.map((line) => {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1);
    if (colon < 0 || !TOKEN.test(name) || !VALUE.test(value)) throw new Malformed(400, "A header of the message is malformed.");
    return [name.toLowerCase(), value.replace(/^[ \t]+|[ \t]+$/g, "")];
  });
}

/** The values of a field. @param name in lower case */
export function valuesOf(fields: readonly HeadField[], name: string): string[] {
  return fields.filter((field) => field[0] === name).map(([, value]) => value);
}

/** The members of a field that is a list, in lower case. */
export function listOf(fields: readonly HeadField[], name: string): string[] {
  return valuesOf(fields, name)
    .flatMap((value) => value.split(","))
    .map((one) => one.trim().toLowerCase())
    .filter((one) => one !== "");
}

/** How long a request's body is. Throws Malformed for what is said twice or in two ways. */
export function requestFraming({ fields, isModern }: RequestHead): Framing {
  return statedFraming(fields, isModern) ?? NONE;
}

/** How long the body of an answer is. Throws Malformed. */
export function responseFraming({ fields, isModern, status }: ResponseHead, method: string): Framing {
  const stated = statedFraming(fields, isModern);
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return NONE;
  return stated ?? { is: "until-close" };
}

function statedFraming(fields: readonly HeadField[], isModern: boolean): Framing | undefined {
  const lengths = valuesOf(fields, "content-length");
  const encodings = valuesOf(fields, "transfer-encoding");
  if (encodings.length > 0) {
    if (lengths.length > 0 || encodings.length > 1 || !isModern)
      throw new Malformed(400, "The message says in two ways how long its body is.");
    if (encodings[0]?.toLowerCase() !== "chunked") throw new Malformed(501, "The only Transfer-Encoding that is taken is chunked.");
    return { is: "chunked" };
  }
  const [length] = lengths;
  if (length === undefined) return undefined;
  if (lengths.length > 1 || !/^\d{1,15}$/.test(length)) throw new Malformed(400, "The Content-Length of the message is no length.");
  return Number(length) === 0 ? NONE : { is: "length", bytes: Number(length) };
}

/** A head as bytes. */
export function headBytes(first: string, fields: Iterable<HeadField>): Buffer {
  let text = `${first}\r\n`;
  for (const [name, value] of fields) text += `${name}: ${value}\r\n`;
  return Buffer.from(`${text}\r\n`, "latin1");
}
