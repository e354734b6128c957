/**
 * Frames on a worker's socket: four bytes of length, big-endian, then one JSON object in UTF-8;
 * when the first bit of the length is set, blocks of doubles follow the object.
 * `svc/_worker/protocol.py` is the other end and documents their layout.
 */

import type { Socket } from "bun";

/** Longest frame that is read, in bytes. */
export const MAX_FRAME = 256 * 1024 * 1024;

const WITH_BLOCKS = 0x80000000;

/** A message as it is on the wire, discriminated by `type`. */
export interface Message {
  readonly type: string;
  /** Columns of numbers that follow the JSON, which refers to them by index. */
  readonly blocks?: readonly Float64Array[];
  readonly [field: string]: unknown;
}

/** The bytes of a frame. */
export function encodeFrame(message: Message, blocks: readonly Float64Array[] = []): Buffer {
  if (blocks.length > 0) return frameWithBlocks(message, blocks);
  const body = JSON.stringify(message);
  const length = Buffer.byteLength(body);
  const frame = Buffer.allocUnsafe(4 + length);
  frame.writeUInt32BE(length, 0);
  frame.write(body, 4, "utf8");
  return frame;
}

function frameWithBlocks(message: Message, blocks: readonly Float64Array[]): Buffer {
  const head = Buffer.from(JSON.stringify({ ...message, blocks: blocks.map(({ length }) => length) }));
  const start = 8 + head.length;
  const frame = Buffer.allocUnsafe(blocks.reduce((size, block) => size + block.byteLength, start));
  frame.writeUInt32BE((frame.length - 4 + WITH_BLOCKS) >>> 0, 0);
  frame.writeUInt32BE(head.length, 4);
  frame.set(head, 8);
  let at = start;
  for (const block of blocks) {
    frame.set(new Uint8Array(block.buffer, block.byteOffset, block.byteLength), at);
    at += block.byteLength;
  }
  return frame;
}

function decodeBody(body: Buffer, hasBlocks: boolean): Message {
  if (!hasBlocks) return JSON.parse(body.toString("utf8")) as Message;
  let at = 4 + body.readUInt32BE(0);
  const message = JSON.parse(body.toString("utf8", 4, at)) as { readonly type: string; readonly blocks: readonly number[] };
  const blocks = message.blocks.map((length) => {
    const block = new Float64Array(length);
    new Uint8Array(block.buffer).set(body.subarray(at, at + block.byteLength));
    at += block.byteLength;
    return block;
  });
  return { ...message, blocks };
}

/** Splits a stream of bytes into messages. */
export class FrameReader {
  private chunks: Buffer[] = [];
  private size = 0;
  private wanted = 4;

  /**
   * Adds a chunk and calls `onMessage` for every complete message. The caller may reuse the chunk
   * afterwards. Throws when a frame is too long.
   */
  push(chunk: Buffer, onMessage: (message: Message) => void): void {
    let rest = chunk;
    if (this.size > 0) {
      this.chunks.push(Buffer.from(chunk));
      this.size += chunk.length;
      if (this.size < this.wanted) return;
      rest = Buffer.concat(this.chunks, this.size);
      this.chunks = [];
      this.size = 0;
      this.wanted = 4;
    }
    let at = 0;
    while (rest.length - at >= 4) {
      const head = rest.readUInt32BE(at);
      const length = head % WITH_BLOCKS;
      if (length > MAX_FRAME) throw new Error(`a frame of ${length} bytes is too long`);
      if (rest.length - at < 4 + length) {
        this.wanted = 4 + length;
        break;
      }
      onMessage(decodeBody(rest.subarray(at + 4, at + 4 + length), head >= WITH_BLOCKS));
      at += 4 + length;
    }
    if (at === rest.length) return;
    this.chunks = [Buffer.from(rest.subarray(at))];
    this.size = rest.length - at;
  }
}

/** Writes frames in order, buffering the bytes that the socket does not accept at once. */
export class FrameWriter {
  private waiting: Buffer[] = [];
  constructor(private readonly socket: Pick<Socket, "write">) {}

  send(frame: Buffer): void {
    if (this.waiting.length > 0) {
      this.waiting.push(frame);
      return;
    }
    const written = Math.max(0, this.socket.write(frame));
    if (written < frame.length) this.waiting.push(frame.subarray(written));
  }

  /** Writes buffered bytes; to be called when the socket is writable again. */
  drain(): void {
    while (this.waiting.length > 0) {
      const frame = this.waiting[0] as Buffer;
      const written = Math.max(0, this.socket.write(frame));
      if (written < frame.length) {
        this.waiting[0] = frame.subarray(written);
        return;
      }
      this.waiting.shift();
    }
  }
}
