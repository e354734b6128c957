/**
 * Capture of output that bypasses Python's logging and reaches file descriptors 1 and 2: from C
 * code, subprocesses, a crashing interpreter. Bounded in rate, size and memory.
 */

/** Bounds of one stream. */
export interface CaptureLimits {
  /** Lines passed on per second; further ones are counted and dropped. */
  readonly linesPerSecond: number;
  /** Bytes read per second; a faster writer blocks on its pipe. */
  readonly bytesPerSecond: number;
  /** Longest line in characters; the rest is cut. */
  readonly lineLength: number;
  /** Lines kept for the message about a crash. */
  readonly keptLines: number;
}

/**
 * Bounds that suit a verbose program, and limit the cost of a flood of output to a few percent of a
 * core.
 */
export const CAPTURE_LIMITS: CaptureLimits = { linesPerSecond: 1_000, bytesPerSecond: 4 * 1024 * 1024, lineLength: 8_192, keptLines: 60 };

/** Reads one stream line by line until it ends or is stopped. */
export class OutputCapture {
  /** Resolves when the stream has ended. Never rejects. */
  readonly ended: Promise<void>;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly decoder = new TextDecoder();
  private kept: string[] = [];
  private partial = "";
  private windowStart = 0;
  private windowLines = 0;
  private windowBytes = 0;
  private dropped = 0;
  private hurried = false;

  /**
   * @param onLine called with each line within the bounds, and with a note when lines were dropped
   */
  constructor(
    stream: ReadableStream<Uint8Array>,
    private readonly onLine: (line: string) => void,
    private readonly limits: CaptureLimits = CAPTURE_LIMITS,
  ) {
    this.reader = stream.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    this.ended = this.read().catch(() => undefined);
  }

  /** The last lines, oldest first. */
  tail(): string {
    return [...this.kept, ...(this.partial ? [this.partial] : [])].join("\n");
  }

  /**
   * Lifts the bound on the rate, for a process that has ended: at most a pipe's content is left.
   */
  hurry(): void {
    this.hurried = true;
  }

  /** Cancels the reading. */
  stop(): void {
    this.reader.cancel().catch(() => undefined);
  }

  private async read(): Promise<void> {
    for (;;) {
      const { done, value } = await this.reader.read();
      if (done) break;
      this.openWindow();
      this.take(this.decoder.decode(value, { stream: true }));
      this.windowBytes += value.length;
      if (this.windowBytes >= this.limits.bytesPerSecond && !this.hurried)
        await Bun.sleep(Math.max(1, this.windowStart + 1000 - performance.now()));
    }
    if (this.partial) this.emit(this.partial);
    this.partial = "";
    this.reportDropped();
  }

  private openWindow(): void {
    const now = performance.now();
    if (now - this.windowStart < 1000) return;
    this.reportDropped();
    this.windowStart = now;
    this.windowLines = 0;
    this.windowBytes = 0;
  }

  private take(text: string): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0 && this.windowLines < this.limits.linesPerSecond; end = text.indexOf("\n", start)) {
      this.emit(this.partial + text.slice(start, end));
      this.partial = "";
      start = end + 1;
    }
    const rest = text.slice(start);
    if (rest.includes("\n")) this.drop(rest);
    else if (this.partial.length < this.limits.lineLength) this.partial = (this.partial + rest).slice(0, this.limits.lineLength);
  }

  /** Counts dropped lines, and keeps the last ones. */
  private drop(text: string): void {
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) this.dropped++;
    const lines = text.slice(-this.limits.lineLength).split("\n");
    this.partial = lines.pop() ?? "";
    this.kept = [...this.kept, ...lines].slice(-this.limits.keptLines);
  }

  private emit(whole: string): void {
    const line = whole.slice(0, this.limits.lineLength).replace(/\r$/, "");
    this.kept.push(line);
    if (this.kept.length > this.limits.keptLines * 2) this.kept = this.kept.slice(-this.limits.keptLines);
    this.windowLines++;
    this.onLine(line);
  }

  private reportDropped(): void {
    if (this.dropped > 0) this.onLine(`[${this.dropped} more lines within a second were dropped]`);
    this.dropped = 0;
  }
}
