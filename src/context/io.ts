/**
 * The process's streams. Only `src/output` calls `writeOut`; notes, warnings and errors go to
 * stderr through `writeErr`.
 */
export interface Io {
  /**
   * Writes to stdout and waits until it is taken. Rejects with the system's error (ENOSPC); EPIPE
   * ends quietly in `main`.
   */
  writeOut(text: string | Uint8Array): Promise<void>;
  /** Writes to stderr, at once. */
  writeErr(text: string): void;
  /** Next line of stdin, without its newline; undefined at the end of file. */
  readLine(): Promise<string | undefined>;
  /** What comes next on stdin, as bytes; undefined at its end. Not to be mixed with `readLine`. */
  readChunk(): Promise<Uint8Array | undefined>;
  /** All of stdin. */
  readAll(): Promise<Uint8Array>;
  readonly stdoutIsTTY: boolean;
  readonly stderrIsTTY: boolean;
  readonly stdinIsTTY: boolean;
  /** Columns of the terminal on stdout; Infinity when it is none. */
  readonly width: number;
  /** Rows of the terminal on stdout; Infinity when it is none. */
  readonly height: number;
}
