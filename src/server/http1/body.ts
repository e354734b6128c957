/** Bodies of messages of HTTP/1.1: pieces as they come, framed anew as they are passed on. */

import { type Framing, Malformed } from "./head.ts";
import { type Pipe, PipeClosed } from "./pipe.ts";

/** Longest line of a chunk's size, and most bytes of trailers. */
const MAX_LINE = 256;
const MAX_TRAILERS = 8 * 1024;

/**
 * The pieces of a body; what follows it stays in the pipe. Extensions of chunks and trailers are
 * left out. Rejects with Malformed, or with PipeClosed when it was cut.
 */
export async function* readBody(pipe: Pipe, framing: Framing): AsyncGenerator<Uint8Array, void> {
  switch (framing.is) {
    case "none":
      return;
    case "length":
      yield* exactly(pipe, framing.bytes);
      return;
    case "until-close":
      for (;;) {
        const bytes = await pipe.read();
        if (bytes === undefined) return;
        yield bytes;
      }
    case "chunked":
      for (;;) {
        const size = chunkSize(await line(pipe, MAX_LINE));
        if (size === 0) break;
        yield* exactly(pipe, size);
        if ((await line(pipe, 0)) !== "") throw new Malformed(400, "A chunk of the body is longer than it says.");
      }
      for (let left = MAX_TRAILERS; ; ) {
        const trailer = await line(pipe, left);
        if (trailer === "") return;
        left -= trailer.length + 2;
      }
  }
}

async function* exactly(pipe: Pipe, length: number): AsyncGenerator<Uint8Array, void> {
  for (let left = length; left > 0; ) {
    const bytes = await pipe.read();
    if (bytes === undefined) throw new PipeClosed("The body was cut.");
    if (bytes.length > left) pipe.unread(bytes.subarray(left));
    const piece = bytes.length > left ? bytes.subarray(0, left) : bytes;
    left -= piece.length;
    yield piece;
  }
}

function chunkSize(text: string): number {
  const digits = /^([\da-fA-F]{1,12})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?$/.exec(text)?.[1];
  if (digits === undefined) throw new Malformed(400, "The size of a chunk of the body is no number.");
  return Number.parseInt(digits, 16);
}

/** A line without its end. */
async function line(pipe: Pipe, most: number): Promise<string> {
  let held: Uint8Array = new Uint8Array(0);
  for (;;) {
    const piece = await pipe.read();
    if (piece === undefined) throw new PipeClosed("The body was cut.");
    const bytes = held.length === 0 ? piece : Buffer.concat([held, piece]);
    const end = bytes.indexOf(10);
    if (end < 0 ? bytes.length > most + 1 : end > most + 1) throw new Malformed(400, "A line in the body is too long.");
    if (end < 0) {
      held = bytes;
      continue;
    }
    if (bytes[end - 1] !== 13) throw new Malformed(400, "A line in the body does not end as one of HTTP does.");
    pipe.unread(bytes.subarray(end + 1));
    return Buffer.from(bytes.buffer, bytes.byteOffset, end - 1).toString("latin1");
  }
}

/**
 * Writes a body with the head before it, in as few pieces as it comes in; `moved` is called with
 * each.
 */
export async function writeBody(
  pipe: Pipe,
  head: Uint8Array,
  pieces: AsyncIterable<Uint8Array>,
  isChunked: boolean,
  moved: () => void,
): Promise<number> {
  let bytes = 0;
  // The head goes at once: whoever waits for it may say something that the body waits for.
  await pipe.write(head);
  for await (const piece of pieces) {
    moved();
    bytes += piece.length;
    await pipe.write(isChunked ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, CRLF]) : piece);
    moved();
  }
  if (isChunked) await pipe.write(LAST_CHUNK);
  return bytes;
}

const CRLF = Buffer.from("\r\n");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");
