/** A connection as bytes each way, with a bound on what is held of either. */

/** The other side has ended the connection, or this one did. */
export class PipeClosed extends Error {
  override readonly name = "PipeClosed";
}

/** A socket, as a pipe uses it. */
export interface PipeSocket {
  /** Takes bytes, as many as it can now, and returns their number; negative = it is closed. */
  write(bytes: Uint8Array): number;
  /** Ends at once. */
  terminate(): unknown;
  /** Ends this direction after what was written. */
  shutdown(): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** Unread bytes above which the other side is held back, and below which it is not. */
const HIGH_WATER = 256 * 1024;
const LOW_WATER = 64 * 1024;
/** Longest time and most bytes that are still taken of a client that was answered. */
const LINGER_MS = 2_000;
const LINGER_BYTES = 1024 * 1024;

/** A connection. One reader and one writer at a time. */
export class Pipe {
  /** Called once, when the connection is over. */
  onClosed: (() => void) | undefined;

  readonly #socket: PipeSocket;
  #chunks: Uint8Array[] = [];
  #held = 0;
  #isPaused = false;
  #isClosed = false;
  #wakeReader: (() => void) | undefined;
  #wakeWriter: (() => void) | undefined;
  /** Bytes that are still dropped before the connection ends; undefined = it is in use. */
  #lingering: number | undefined;

  constructor(socket: PipeSocket) {
    this.#socket = socket;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether bytes came that nobody has read. */
  get hasUnread(): boolean {
    return this.#held > 0;
  }

  /** Takes bytes that came. */
  received(bytes: Uint8Array): void {
    if (this.#lingering !== undefined) {
      this.#lingering -= bytes.length;
      if (this.#lingering < 0) this.destroy();
      return;
    }
    this.#chunks.push(bytes);
    this.#held += bytes.length;
    if (this.#held > HIGH_WATER && !this.#isPaused) {
      this.#isPaused = true;
      this.#socket.pause();
    }
    this.#wakeReader?.();
  }

  /** Notes that the socket takes more. */
  drained(): void {
    this.#wakeWriter?.();
  }

  /** Notes that the socket is closed. */
  closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#wakeReader?.();
    this.#wakeWriter?.();
    this.onClosed?.();
  }

  /** The bytes that came next; undefined at the end. */
  async read(): Promise<Uint8Array | undefined> {
    while (this.#chunks.length === 0) {
      if (this.#isClosed) return undefined;
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
      this.#wakeReader = undefined;
    }
    const bytes = this.#chunks.shift() as Uint8Array;
    this.#held -= bytes.length;
    if (this.#isPaused && this.#held < LOW_WATER) {
      this.#isPaused = false;
      this.#socket.resume();
    }
    return bytes;
  }

  /** Gives back bytes that were read; they are read next. */
  unread(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#chunks.unshift(bytes);
    this.#held += bytes.length;
  }

  /** Writes bytes; resolves when the socket has taken them. Rejects with PipeClosed. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#isClosed) throw new PipeClosed("The connection is closed.");
      const written = this.#socket.write(at === 0 ? bytes : bytes.subarray(at));
      if (written < 0) {
        this.destroy();
        continue;
      }
      at += written;
      if (at === bytes.length) return;
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
      this.#wakeWriter = undefined;
    }
  }

  /**
   * Ends after what was written. What the other side still sends is dropped for a while, so that it
   * gets that.
   */
  finish(): void {
    if (this.#isClosed || this.#lingering !== undefined) return;
    this.#chunks = [];
    this.#held = 0;
    this.#lingering = LINGER_BYTES;
    if (this.#isPaused) this.#socket.resume();
    this.#socket.shutdown();
    setTimeout(() => this.destroy(), LINGER_MS).unref();
  }

  /** Ends at once. */
  destroy(): void {
    if (this.#isClosed) return;
    this.#socket.terminate();
    this.closed();
  }
}
