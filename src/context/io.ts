/**
 * The streams of the process. Only `src/output` calls `writeOut`; notes, warnings and errors go to
 * stderr through `writeErr`.
 */
export interface Io {
  /**
   * Writes to stdout and waits until everything is written. Rejects with the system's error
   * (ENOSPC); `main` ends quietly on EPIPE.
   */
  writeOut(text: string | Uint8Array): Promise<void>;
  /** Writes to stderr, at once. */
  writeErr(text: string): void;
  /** Next line of stdin, without its newline; undefined at the end of file. */
  readLine(): Promise<string | undefined>;
  /** The next bytes of stdin; undefined at its end. Not to be mixed with `readLine`. */
  readChunk(): Promise<Uint8Array | undefined>;
  /** All of stdin. */
  readAll(): Promise<Uint8Array>;
  readonly stdoutIsTTY: boolean;
  readonly stderrIsTTY: boolean;
  readonly stdinIsTTY: boolean;
  /** Columns of the terminal on stdout; Infinity without a terminal. */
  readonly width: number;
  /** Rows of the terminal on stdout; Infinity without a terminal. */
  readonly height: number;
}
