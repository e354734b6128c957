/** A stream of a connection of HTTP/2: one request with its body, and its answer. */

import { DEFAULT_WINDOW, ErrorCode, Flag, FRAME_HEAD, frame, Kind, MAX_PAYLOAD, numbersFrame, putHead } from "./frames.ts";
import type { Field } from "./hpack.ts";

/** A stream that ended before it was read or answered to its end. */
export class StreamEnded extends Error {
  override readonly name = "StreamEnded";
}

/**
 * How a stream ended: with its answer whole, by the client, or reset here, and then more of it may
 * be on its way.
 */
export type StreamEnd = "answered" | "left" | "dropped";

/** The connection of a stream, as the stream uses it. */
export interface StreamOwner {
  /** Bytes of all streams that may be sent now. */
  readonly sendRoom: number;
  /** The window that new streams of the client begin with. */
  readonly streamWindow: number;
  /** Sends frames; `dataBytes` of them count in the connection's window. */
  send(bytes: Uint8Array, dataBytes: number): void;
  /** Resolves when there may be room again, or the stream has ended. */
  room(): Promise<void>;
  /** Notes that bytes of bodies were taken. */
  taken(bytes: number): void;
  /** Notes that a stream is over, and how. */
  closed(stream: Http2Stream, how: StreamEnd): void;
}

/** A body's window once somebody reads it; until then a sender gets the default. */
const READING_WINDOW = 1024 * 1024;

/** A stream. */
export class Http2Stream {
  /** Called once, when the stream ends before it was answered. */
  onEnded: (() => void) | undefined;
  /**
   * When it last waited for room in vain, on the connection's clock; undefined = it does not wait.
   */
  waitingSince: number | undefined;
  /** The window for what is sent. */
  sendWindow: number;

  readonly #owner: StreamOwner;
  /** Length of the body by its header. */
  readonly #announced: number | undefined;
  #chunks: Uint8Array[] = [];
  /** Bytes in `chunks`. */
  #held = 0;
  #received = 0;
  /** Bytes that may still come. */
  #window = DEFAULT_WINDOW;
  #isBodyEnded = false;
  #isAnswered = false;
  #isClosed = false;
  #wake: (() => void) | undefined;

  constructor(
    owner: StreamOwner,
    readonly id: number,
    /** The request's header fields, those of HTTP/2's own included. */
    readonly fields: readonly Field[],
    announced: number | undefined,
  ) {
    this.#owner = owner;
    this.#announced = announced;
    this.sendWindow = owner.streamWindow;
  }

  /** Whether all of the body has come. */
  get isBodyEnded(): boolean {
    return this.#isBodyEnded;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Takes bytes of the body that came; `length` counts in the windows. Returns the code of what is
   * wrong with them.
   */
  receive(bytes: Uint8Array, length: number): ErrorCode | undefined {
    if (this.#isBodyEnded) return ErrorCode.STREAM_CLOSED;
    this.#window -= length;
    if (this.#window < 0) return ErrorCode.FLOW_CONTROL_ERROR;
    this.#received += bytes.length;
    if (this.#announced !== undefined && this.#received > this.#announced) return ErrorCode.PROTOCOL_ERROR;
    if (bytes.length > 0) {
      this.#chunks.push(bytes);
      this.#held += bytes.length;
    }
    const padding = length - bytes.length;
    if (padding > 0) {
      this.#owner.taken(padding);
      this.#window += padding;
    }
    this.#wake?.();
    return undefined;
  }

  /** Notes that the body has ended. Returns the code of what is wrong with that. */
  endBody(): ErrorCode | undefined {
    if (this.#isBodyEnded) return ErrorCode.STREAM_CLOSED;
    if (this.#announced !== undefined && this.#received !== this.#announced) return ErrorCode.PROTOCOL_ERROR;
    this.#isBodyEnded = true;
    this.#wake?.();
    return undefined;
  }

  /**
   * The bytes of the body that have come and were not read yet; undefined at its end. Waits for
   * some. Rejects with StreamEnded.
   */
  async read(): Promise<Uint8Array | undefined> {
    while (this.#chunks.length === 0) {
      if (this.#isClosed) throw new StreamEnded("The stream has ended.");
      if (this.#isBodyEnded) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    return this.take();
  }

  /** The bytes that have come and were not read yet. */
  take(): Uint8Array {
    const [only] = this.#chunks;
    const bytes = only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#owner.taken(this.#held);
    this.#held = 0;
    const used = READING_WINDOW - this.#window;
    if (!this.#isBodyEnded && !this.#isClosed && used >= READING_WINDOW / 2) {
      this.#window = READING_WINDOW;
      this.#owner.send(numbersFrame(Kind.WINDOW_UPDATE, this.id, used), 0);
    }
    return bytes;
  }

  /** Answers at once, or as soon as there is room: header block, body, block of trailers. */
  answer(head: Uint8Array, body: Uint8Array, trailers: Uint8Array): void {
    const room = Math.min(this.sendWindow, this.#owner.sendRoom, MAX_PAYLOAD);
    if (this.#isClosed) return;
    if (body.length > room) {
      this.begin(head);
      this.write(body).then(
        () => this.end(trailers),
        () => undefined,
      );
      return;
    }
    const bytes = Buffer.allocUnsafe(3 * FRAME_HEAD + head.length + body.length + trailers.length);
    let at = putHead(bytes, 0, head.length, Kind.HEADERS, Flag.END_HEADERS, this.id);
    bytes.set(head, at);
    at = putHead(bytes, at + head.length, body.length, Kind.DATA, 0, this.id);
    bytes.set(body, at);
    at = putHead(bytes, at + body.length, trailers.length, Kind.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, this.id);
    bytes.set(trailers, at);
    this.sendWindow -= body.length;
    this.#owner.send(bytes, body.length);
    this.#answered();
  }

  /** Answers with header fields alone. */
  answerHead(head: Uint8Array): void {
    if (this.#isClosed) return;
    this.#owner.send(frame(Kind.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, this.id, head), 0);
    this.#answered();
  }

  /** Begins an answer. */
  begin(head: Uint8Array): void {
    if (!this.#isClosed) this.#owner.send(frame(Kind.HEADERS, Flag.END_HEADERS, this.id, head), 0);
  }

  /** Sends bytes of the answer's body when there is room for them. Rejects with StreamEnded. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#isClosed) throw new StreamEnded("The stream has ended.");
      const length = Math.min(this.sendWindow, this.#owner.sendRoom, MAX_PAYLOAD, bytes.length - at);
      if (length <= 0) {
        this.waitingSince ??= performance.now();
        await this.#owner.room();
        continue;
      }
      this.waitingSince = undefined;
      this.sendWindow -= length;
      this.#owner.send(frame(Kind.DATA, 0, this.id, bytes.subarray(at, at + length)), length);
      at += length;
    }
  }

  /** Ends an answer that was begun, with trailers. */
  end(trailers: Uint8Array): void {
    if (this.#isClosed) return;
    this.#owner.send(frame(Kind.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, this.id, trailers), 0);
    this.#answered();
  }

  /** Ends the stream without an answer. */
  reset(code: ErrorCode): void {
    if (this.#isClosed) return;
    this.#owner.send(numbersFrame(Kind.RST_STREAM, this.id, code), 0);
    this.#end("dropped");
  }

  /** Notes that the client or the connection has ended the stream. */
  close(): void {
    this.#end("left");
  }

  /** A client that still sends is told that it need not: the answer is whole. */
  #answered(): void {
    this.#isAnswered = true;
    if (this.#isBodyEnded) this.#end("answered");
    else this.reset(ErrorCode.NO_ERROR);
  }

  #end(how: StreamEnd): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#owner.taken(this.#held);
    this.#chunks = [];
    this.#held = 0;
    this.#owner.closed(this, how);
    this.#wake?.();
    if (!this.#isAnswered) this.onEnded?.();
  }
}
