/**
 * The server's side of a connection of HTTP/2 (RFC 9113) with prior knowledge of it: frames, header
 * compression, flow control, and bounds on all that a client can make the server hold or do. Of the
 * runtime's own servers Bun.serve sends no trailers, and node:http2 says little of what it holds
 * before a caller is known.
 */

import {
  DEFAULT_WINDOW,
  ErrorCode,
  Flag,
  FRAME_HEAD,
  frame,
  Kind,
  MAX_PAYLOAD,
  MAX_WINDOW,
  numberAt,
  numbersFrame,
  PREFACE,
  Setting,
  settingsFrame,
} from "./frames.ts";
import { BlockMalformed, BlockTooLarge, type Field, HeaderDecoder } from "./hpack.ts";
import { Http2Stream, type StreamEnd, type StreamOwner } from "./stream.ts";

/** What a connection is on: a socket. */
export interface Wire {
  /**
   * Takes bytes, as many as it can now, and returns their number; `drained` is called when it can
   * take more.
   */
  write(bytes: Uint8Array): number;
  /** Ends after what was written. */
  end(): void;
  /** Ends at once. */
  terminate(): void;
}

/** What a connection calls. */
export interface ConnectionEvents {
  /** Serves a stream whose headers have come. Must not reject. */
  serve(stream: Http2Stream): Promise<void> | undefined;
  /** Handles a client whose first bytes are not HTTP/2's; the connection does nothing more. */
  foreign(bytes: Uint8Array): void;
}

/**
 * Streams that a client may have open, and calls that it may have running: a stream that is reset
 * still runs until it notices.
 */
export const MAX_STREAMS = 128;
/** Most bytes of a request's headers, compressed or not, each field counted with 32 more. */
export const MAX_HEADER_BYTES = 16_384;
const MAX_CONTINUATIONS = 8;
/** Bytes of bodies that a connection may hold unread. */
const CONNECTION_WINDOW = 1024 * 1024;
/**
 * Bytes that wait for the socket, above which no more of bodies are sent, and above which the
 * connection ends: nobody reads.
 */
const HIGH_WATER = 256 * 1024;
const MOST_PENDING = 4 * 1024 * 1024;

/**
 * Patience with a client: each frame costs one, and a reset stream ten; answers, and bytes in
 * either direction, give some back, and so does time. Without it a client could keep the server
 * busy with frames that come of nothing.
 */
const PATIENCE = { most: 10_000, perSecond: 1_000, answer: 30, reset: 10 };

/** Milliseconds after which a connection or a stream is ended. */
const PREFACE_MS = 10_000;
const HEADERS_MS = 10_000;
const IDLE_MS = 300_000;
const QUIET_MS = 60_000;
const PING_MS = 30_000;
const STALLED_MS = 120_000;

/** A wrong use of the protocol, which ends the connection. */
class ConnectionError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}

const EMPTY = new Uint8Array(0);
const GREETING = Buffer.concat([
  settingsFrame([
    [Setting.MAX_CONCURRENT_STREAMS, MAX_STREAMS],
    [Setting.MAX_HEADER_LIST_SIZE, MAX_HEADER_BYTES],
  ]),
  numbersFrame(Kind.WINDOW_UPDATE, 0, CONNECTION_WINDOW - DEFAULT_WINDOW),
]);
const SETTINGS_ACK = frame(Kind.SETTINGS, Flag.ACK, 0, EMPTY);

/** A header block that is not whole yet. */
interface OpenBlock {
  readonly stream: number;
  readonly endsStream: boolean;
  readonly dependsOnItself: boolean;
  readonly parts: Uint8Array[];
  readonly since: number;
  length: number;
}

/** A connection. */
export class Http2Connection implements StreamOwner {
  streamWindow = DEFAULT_WINDOW;

  readonly #wire: Wire;
  readonly #events: ConnectionEvents;
  readonly #decoder = new HeaderDecoder();
  readonly #streams = new Map<number, Http2Stream>();
  /** How the last streams ended. What was on its way to those that were reset here is dropped. */
  readonly #ended = new Map<number, StreamEnd>();
  /** Streams of the bytes that are looked through now, which are served after that. */
  #opened: Http2Stream[] = [];
  #running = 0;
  #lastId = 0;

  #hasPreface = false;
  #hasSettings = false;
  #isLeaving = false;
  #isOver = false;
  #block: OpenBlock | undefined;
  /** The beginning of a frame whose rest has not come. */
  #partial: Uint8Array | undefined;
  #partialLength = 0;

  #sendWindow = DEFAULT_WINDOW;
  #receiveWindow = CONNECTION_WINDOW;
  /** Bytes that were taken since the client was last given room. */
  #taken = 0;

  #queue: Uint8Array[] = [];
  #isFlushing = false;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #waiting: (() => void)[] = [];

  #patience = PATIENCE.most;
  #countedAt = performance.now();
  readonly #beganAt = this.#countedAt;
  #heardAt = this.#countedAt;
  #usedAt = this.#countedAt;
  #sentAt = this.#countedAt;
  #pingedAt: number | undefined;

  constructor(wire: Wire, events: ConnectionEvents) {
    this.#wire = wire;
    this.#events = events;
  }

  get sendRoom(): number {
    return this.#pendingBytes > HIGH_WATER ? 0 : this.#sendWindow;
  }

  /** Takes bytes that came. */
  receive(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.#heardAt = performance.now();
    this.#pingedAt = undefined;
    try {
      this.#consume(bytes);
      this.#spend(0);
    } catch (error) {
      this.#fail(error);
      return;
    }
    const opened = this.#opened;
    if (opened.length === 0) return;
    this.#opened = [];
    for (const stream of opened) if (!stream.isClosed) this.#serve(stream);
  }

  /** Writes what waits: the socket takes more. */
  drained(): void {
    const waiting = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    for (const bytes of waiting) this.#write(bytes);
    this.#wakeAll();
    if (this.#isLeaving) this.#leaveWhenIdle();
  }

  /** Notes that the socket is closed. */
  close(): void {
    this.#isOver = true;
    for (const stream of [...this.#streams.values()]) stream.close();
    this.#wakeAll();
  }

  /** Takes no new streams, and ends when those that are open have ended. */
  leave(): void {
    if (this.#isOver) return;
    if (!this.#hasPreface) {
      this.terminate();
      return;
    }
    if (!this.#isLeaving) this.send(numbersFrame(Kind.GOAWAY, 0, this.#lastId, ErrorCode.NO_ERROR), 0);
    this.#isLeaving = true;
    this.#leaveWhenIdle();
  }

  /** Ends at once. */
  terminate(): void {
    this.#wire.terminate();
    this.close();
  }

  /**
   * Ends what has taken too long, and asks whether a quiet client is still there. Called every few
   * seconds.
   */
  look(now: number): void {
    if (this.#isOver) return;
    const isLate =
      (!this.#hasSettings && now - this.#beganAt > PREFACE_MS) ||
      (this.#block !== undefined && now - this.#block.since > HEADERS_MS) ||
      (this.#pendingBytes > 0 && now - this.#sentAt > STALLED_MS) ||
      (this.#pingedAt !== undefined && now - this.#pingedAt > PING_MS);
    if (isLate) {
      this.terminate();
      return;
    }
    if (this.#streams.size === 0 && now - this.#usedAt > IDLE_MS) {
      this.leave();
      return;
    }
    if (this.#streams.size > 0 && this.#pingedAt === undefined && now - this.#heardAt > QUIET_MS) {
      this.#pingedAt = now;
      this.send(frame(Kind.PING, 0, 0, new Uint8Array(8)), 0);
    }
    for (const stream of this.#streams.values())
      if (stream.waitingSince !== undefined && now - stream.waitingSince > STALLED_MS) stream.reset(ErrorCode.CANCEL);
  }

  send(bytes: Uint8Array, dataBytes: number): void {
    if (this.#isOver) return;
    this.#sendWindow -= dataBytes;
    if (dataBytes > 0) this.#patience += 4;
    this.#queue.push(bytes);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    queueMicrotask(() => this.#flush());
  }

  room(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  taken(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < CONNECTION_WINDOW / 4) return;
    this.#receiveWindow += this.#taken;
    this.send(numbersFrame(Kind.WINDOW_UPDATE, 0, this.#taken), 0);
    this.#taken = 0;
  }

  closed({ id }: Http2Stream, how: StreamEnd): void {
    this.#streams.delete(id);
    this.#usedAt = performance.now();
    if (how === "answered") this.#patience += PATIENCE.answer;
    this.#remember(id, how);
    if (this.#waiting.length > 0) this.#wakeAll();
    if (this.#isLeaving) this.#leaveWhenIdle();
  }

  #serve(stream: Http2Stream): void {
    const serving = this.#events.serve(stream);
    if (!serving) return;
    this.#running++;
    serving.finally(() => this.#running--);
  }

  #flush(): void {
    this.#isFlushing = false;
    const queue = this.#queue;
    this.#queue = [];
    const [only] = queue;
    if (only) this.#write(queue.length === 1 ? only : Buffer.concat(queue));
  }

  #write(bytes: Uint8Array): void {
    if (this.#isOver) return;
    const written = this.#pendingBytes > 0 ? 0 : this.#wire.write(bytes);
    if (written > 0) this.#sentAt = performance.now();
    if (written < 0) {
      this.terminate();
      return;
    }
    if (written === bytes.length) return;
    if (this.#pendingBytes === 0 && written === 0) this.#sentAt = performance.now();
    this.#pending.push(bytes.subarray(written));
    this.#pendingBytes += bytes.length - written;
    if (this.#pendingBytes > MOST_PENDING) this.terminate();
  }

  #wakeAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  #leaveWhenIdle(): void {
    if (this.#streams.size > 0 || this.#isOver) return;
    this.#flush();
    if (this.#pendingBytes > 0) return;
    this.#wire.end();
    this.close();
  }

  #fail(error: unknown): void {
    const [code, message] =
      error instanceof ConnectionError
        ? [error.code, error.message]
        : error instanceof BlockMalformed
          ? [ErrorCode.COMPRESSION_ERROR, error.message]
          : error instanceof BlockTooLarge
            ? [ErrorCode.ENHANCE_YOUR_CALM, error.message]
            : [ErrorCode.INTERNAL_ERROR, ""];
    const text = Buffer.from(message);
    const payload = new Uint8Array(8 + text.length);
    payload.set(numbersFrame(Kind.GOAWAY, 0, this.#lastId, code).subarray(FRAME_HEAD));
    payload.set(text, 8);
    this.send(frame(Kind.GOAWAY, 0, 0, payload), 0);
    this.#flush();
    this.#wire.end();
    this.close();
  }

  /** Takes patience. Throws ConnectionError when there is none left. */
  #spend(cost: number): void {
    this.#patience -= cost;
    if (this.#patience >= 0 && this.#patience <= PATIENCE.most) return;
    if (this.#patience < 0) {
      const now = performance.now();
      this.#patience += ((now - this.#countedAt) / 1_000) * PATIENCE.perSecond;
      this.#countedAt = now;
    }
    this.#patience = Math.min(this.#patience, PATIENCE.most);
    if (this.#patience < 0) throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "Too many frames came of nothing.");
  }

  #consume(given: Uint8Array): void {
    let bytes = given;
    let at = 0;
    while (!this.#isOver) {
      const held = this.#partialLength;
      if (held > 0) {
        const partial = this.#partial as Uint8Array;
        const wanted = this.#wanted(partial, 0, held) - held;
        const length = Math.min(wanted, bytes.length - at);
        partial.set(bytes.subarray(at, at + length), held);
        at += length;
        this.#partialLength += length;
        if (length < wanted) return;
        // With the head whole, the length of the rest is known.
        if (this.#wanted(partial, 0, this.#partialLength) > this.#partialLength) continue;
        const whole = partial.subarray(0, this.#partialLength);
        this.#partialLength = 0;
        this.#take(whole, 0, whole.length);
        continue;
      }
      const left = bytes.length - at;
      if (left === 0) return;
      const wanted = this.#wanted(bytes, at, left);
      if (left < wanted) {
        this.#partial ??= new Uint8Array(FRAME_HEAD + MAX_PAYLOAD);
        this.#partial.set(bytes.subarray(at));
        this.#partialLength = left;
        bytes = EMPTY;
        at = 0;
        return;
      }
      this.#take(bytes, at, wanted);
      at += wanted;
    }
  }

  /**
   * Bytes of the unit that begins at a place: the preface, else a frame, of which the head comes
   * first.
   */
  #wanted(bytes: Uint8Array, at: number, left: number): number {
    if (!this.#hasPreface) {
      for (let i = 0; i < Math.min(left, PREFACE.length); i++) {
        if (bytes[at + i] === PREFACE[i]) continue;
        this.#isOver = true;
        this.#events.foreign(bytes.subarray(at));
        return left;
      }
      return PREFACE.length;
    }
    if (left < FRAME_HEAD) return FRAME_HEAD;
    const length = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    if (length > MAX_PAYLOAD) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "A frame is longer than 16384 bytes.");
    return FRAME_HEAD + length;
  }

  #take(bytes: Uint8Array, at: number, length: number): void {
    if (this.#isOver) return;
    if (!this.#hasPreface) {
      this.#hasPreface = true;
      this.send(GREETING, 0);
      return;
    }
    const kind = bytes[at + 3] ?? 0;
    const flags = bytes[at + 4] ?? 0;
    const stream = numberAt(bytes, at + 5) & 0x7fffffff;
    const payload = bytes.subarray(at + FRAME_HEAD, at + length);
    if (!this.#hasSettings && (kind !== Kind.SETTINGS || (flags & Flag.ACK) !== 0)) throw wrong("The first frame is not SETTINGS.");
    if (this.#block && kind !== Kind.CONTINUATION) throw wrong("A header block is interrupted.");
    this.#spend(1);
    switch (kind) {
      case Kind.DATA:
        this.#data(stream, flags, payload);
        break;
      case Kind.HEADERS:
        this.#headers(stream, flags, payload);
        break;
      case Kind.CONTINUATION:
        this.#continuation(stream, flags, payload);
        break;
      case Kind.SETTINGS:
        this.#settings(stream, flags, payload);
        break;
      case Kind.WINDOW_UPDATE:
        this.#windowUpdate(stream, payload);
        break;
      case Kind.PING:
        this.#ping(stream, flags, payload);
        break;
      case Kind.RST_STREAM:
        this.#reset(stream, payload);
        break;
      case Kind.PRIORITY:
        if (stream === 0) throw wrong("PRIORITY is of no stream.");
        if (payload.length !== 5) throw wrongSize("PRIORITY");
        if ((numberAt(payload, 0) & 0x7fffffff) === stream) this.#refuse(stream, ErrorCode.PROTOCOL_ERROR);
        break;
      case Kind.PUSH_PROMISE:
        throw wrong("A client pushes nothing.");
      case Kind.GOAWAY:
        if (stream !== 0) throw wrong("GOAWAY is of a stream.");
        if (payload.length < 8) throw wrongSize("GOAWAY");
        // It is about streams that this side opens, which are none. The client ends the
        // connection: what is still on its way would be answered with a reset.
        break;
      default:
    }
  }

  #data(id: number, flags: number, payload: Uint8Array): void {
    this.#receiveWindow -= payload.length;
    if (this.#receiveWindow < 0)
      throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "More bytes came than the connection has room for.");
    const bytes = unpadded(flags, payload, 0);
    if (bytes.length > 0) this.#patience += 2;
    const stream = this.#streams.get(id);
    if (!stream) {
      this.taken(payload.length);
      if (id === 0 || id > this.#lastId) throw wrong("DATA is of no open stream.");
      if (this.#ended.get(id) !== "dropped") this.#refuse(id, ErrorCode.STREAM_CLOSED);
      return;
    }
    const problem = stream.receive(bytes.slice(), payload.length) ?? (flags & Flag.END_STREAM ? stream.endBody() : undefined);
    if (problem !== undefined) stream.reset(problem);
  }

  #headers(id: number, flags: number, payload: Uint8Array): void {
    if (id % 2 === 0) throw wrong("HEADERS is of no stream of a client.");
    const hasPriority = (flags & Flag.PRIORITY) !== 0;
    const block = unpadded(flags, payload, hasPriority ? 5 : 0);
    const priorityAt = flags & Flag.PADDED ? 1 : 0;
    const dependsOnItself = hasPriority && (numberAt(payload, priorityAt) & 0x7fffffff) === id;
    const open: OpenBlock = {
      ...{ stream: id, endsStream: (flags & Flag.END_STREAM) !== 0, dependsOnItself, parts: [block], since: this.#heardAt },
      length: block.length,
    };
    if (flags & Flag.END_HEADERS) {
      this.#headersEnded(open, block);
      return;
    }
    open.parts[0] = block.slice();
    this.#block = open;
  }

  #continuation(id: number, flags: number, payload: Uint8Array): void {
    const open = this.#block;
    if (!open || open.stream !== id) throw wrong("CONTINUATION continues nothing.");
    open.parts.push(payload.slice());
    open.length += payload.length;
    if (open.length > MAX_HEADER_BYTES || open.parts.length > MAX_CONTINUATIONS)
      throw new ConnectionError(
        ErrorCode.ENHANCE_YOUR_CALM,
        `The headers have more than ${MAX_HEADER_BYTES} bytes, or come in too many parts.`,
      );
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.#block = undefined;
    this.#headersEnded(open, Buffer.concat(open.parts));
  }

  #headersEnded({ dependsOnItself, endsStream, stream: id }: OpenBlock, block: Uint8Array): void {
    const fields = this.#decoder.decode(block, MAX_HEADER_BYTES);
    const known = this.#streams.get(id);
    if (known) {
      const isTrailer = endsStream && !known.isBodyEnded && fields.every(([name]) => !name.startsWith(":"));
      const problem = isTrailer ? known.endBody() : known.isBodyEnded ? ErrorCode.STREAM_CLOSED : ErrorCode.PROTOCOL_ERROR;
      if (problem !== undefined) known.reset(problem);
      return;
    }
    if (id <= this.#lastId) {
      const ended = this.#ended.get(id);
      if (ended === "dropped") return;
      if (ended) throw new ConnectionError(ErrorCode.STREAM_CLOSED, "HEADERS is of a stream that has ended.");
      throw wrong("The stream's number is not above those before.");
    }
    if (this.#isLeaving) return;
    this.#lastId = id;
    const announced = dependsOnItself ? "malformed" : bodyLength(fields);
    if (announced === "malformed") {
      this.#refuse(id, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    if (this.#streams.size >= MAX_STREAMS || this.#running >= MAX_STREAMS) {
      this.#refuse(id, ErrorCode.REFUSED_STREAM);
      return;
    }
    const stream = new Http2Stream(this, id, fields, announced);
    this.#streams.set(id, stream);
    if (endsStream) {
      const problem = stream.endBody();
      if (problem !== undefined) {
        stream.reset(problem);
        return;
      }
    }
    this.#opened.push(stream);
  }

  #settings(stream: number, flags: number, payload: Uint8Array): void {
    if (stream !== 0) throw wrong("SETTINGS is of a stream.");
    if (payload.length % 6 !== 0 || (flags & Flag.ACK && payload.length > 0)) throw wrongSize("SETTINGS");
    if (flags & Flag.ACK) return;
    this.#hasSettings = true;
    let window = this.streamWindow;
    for (let at = 0; at < payload.length; at += 6) {
      const setting = ((payload[at] ?? 0) << 8) | (payload[at + 1] ?? 0);
      const value = numberAt(payload, at + 2);
      if (setting === Setting.ENABLE_PUSH && value > 1) throw wrong("ENABLE_PUSH is neither 0 nor 1.");
      if (setting === Setting.MAX_FRAME_SIZE && (value < MAX_PAYLOAD || value > 2 ** 24 - 1))
        throw wrong("MAX_FRAME_SIZE is out of its range.");
      if (setting !== Setting.INITIAL_WINDOW_SIZE) continue;
      if (value > MAX_WINDOW) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "INITIAL_WINDOW_SIZE is out of its range.");
      window = value;
    }
    const change = window - this.streamWindow;
    this.streamWindow = window;
    if (change !== 0)
      for (const open of this.#streams.values()) {
        open.sendWindow += change;
        if (open.sendWindow > MAX_WINDOW) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "A window is out of its range.");
      }
    this.send(SETTINGS_ACK, 0);
    if (change > 0) this.#wakeAll();
  }

  #windowUpdate(id: number, payload: Uint8Array): void {
    if (payload.length !== 4) throw wrongSize("WINDOW_UPDATE");
    const more = numberAt(payload, 0) & 0x7fffffff;
    if (id === 0) {
      if (more === 0) throw wrong("WINDOW_UPDATE gives nothing.");
      this.#sendWindow += more;
      if (this.#sendWindow > MAX_WINDOW) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "A window is out of its range.");
    } else {
      const stream = this.#streams.get(id);
      if (!stream) {
        if (id > this.#lastId || id % 2 === 0) throw wrong("WINDOW_UPDATE is of no stream.");
        return;
      }
      if (more === 0) {
        stream.reset(ErrorCode.PROTOCOL_ERROR);
        return;
      }
      stream.sendWindow += more;
      if (stream.sendWindow > MAX_WINDOW) {
        stream.reset(ErrorCode.FLOW_CONTROL_ERROR);
        return;
      }
    }
    this.#wakeAll();
  }

  #ping(stream: number, flags: number, payload: Uint8Array): void {
    if (stream !== 0) throw wrong("PING is of a stream.");
    if (payload.length !== 8) throw wrongSize("PING");
    if ((flags & Flag.ACK) === 0) this.send(frame(Kind.PING, Flag.ACK, 0, payload), 0);
  }

  #reset(id: number, payload: Uint8Array): void {
    if (id === 0 || id > this.#lastId || id % 2 === 0) throw wrong("RST_STREAM is of no stream.");
    if (payload.length !== 4) throw wrongSize("RST_STREAM");
    this.#spend(PATIENCE.reset);
    this.#streams.get(id)?.close();
  }

  /** Resets a stream that was not opened. */
  #refuse(id: number, code: ErrorCode): void {
    const stream = this.#streams.get(id);
    if (stream) {
      stream.reset(code);
      return;
    }
    this.#remember(id, "dropped");
    this.send(numbersFrame(Kind.RST_STREAM, id, code), 0);
  }

  #remember(id: number, how: StreamEnd): void {
    this.#ended.set(id, how);
    if (this.#ended.size > MAX_STREAMS) this.#ended.delete(this.#ended.keys().next().value as number);
  }
}

function wrong(message: string): ConnectionError {
  return new ConnectionError(ErrorCode.PROTOCOL_ERROR, message);
}

function wrongSize(kind: string): ConnectionError {
  return new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `${kind} has a length that it cannot have.`);
}

/** A payload without its padding and without `before` bytes in front of it. */
function unpadded(flags: number, payload: Uint8Array, before: number): Uint8Array {
  const isPadded = (flags & Flag.PADDED) !== 0;
  const from = before + (isPadded ? 1 : 0);
  const to = payload.length - (isPadded ? (payload[0] ?? 0) : 0);
  if (from > payload.length) throw wrongSize("A frame");
  if (to < from) throw wrong("A frame is all padding.");
  return payload.subarray(from, to);
}

/** Header fields that belong to a connection of HTTP/1.1. */
const FOREIGN_FIELDS: ReadonlySet<string> = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]);
const PSEUDO_FIELDS: ReadonlySet<string> = new Set([":method", ":scheme", ":path", ":authority"]);

/**
 * The length that a request's headers state for its body; "malformed" when they are no request's.
 */
function bodyLength(fields: readonly Field[]): number | undefined | "malformed" {
  const pseudo = new Set<string>();
  let announced: number | undefined;
  let isPast = false;
  for (const [name, value] of fields) {
    if (name.startsWith(":")) {
      if (isPast || pseudo.has(name) || !PSEUDO_FIELDS.has(name)) return "malformed";
      pseudo.add(name);
      continue;
    }
    isPast = true;
    if (FOREIGN_FIELDS.has(name) || name === "" || /[A-Z]/.test(name) || (name === "te" && value !== "trailers")) return "malformed";
    if (name === "content-length") {
      if (!/^\d{1,15}$/.test(value)) return "malformed";
      announced = Number(value);
    }
  }
  const [path] = fields.filter(([name]) => name === ":path");
  return pseudo.has(":method") && pseudo.has(":scheme") && path !== undefined && path[1] !== "" ? announced : "malformed";
}
