/**
 * The streams of the process. stdout is written through `Bun.write`, which waits until all bytes
 * are written, reports ENOSPC and EPIPE, and does not load the stream code behind `process.stdout`.
 * Empty output is never passed on: `Bun.write` would truncate a file that stdout goes to.
 */

import { fstatSync, readFileSync, statSync, writeSync } from "node:fs";
import { CliError, OutputClosedError } from "../errors/cli-error.ts";
import { fromSystem } from "../errors/from-system.ts";
import type { Io } from "./io.ts";

/** Longest wait for a stderr whose buffer is full. */
const STDERR_TIMEOUT_MS = 5_000;

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/**
 * Whether a descriptor is a terminal. Pipes, files and the null device are recognized by a stat,
 * without loading the modules of `isatty`.
 */
function isTerminal(fd: number): boolean {
  try {
    const found = fstatSync(fd);
    if (!found.isCharacterDevice() || found.rdev === statSync("/dev/null").rdev) return false;
  } catch (error) {
    if (codeOf(error) === "EBADF") return false;
  }
  const { isatty }: typeof import("node:tty") = require("node:tty");
  return isatty(fd);
}

/**
 * O_CLOEXEC in the `flags` of `/proc/self/fdinfo`; the same on every architecture of the builds.
 */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Whether stdout was closed when the process started (`>&-`). The runtime then opens the null
 * device for it, close-on-exec, which an inherited descriptor cannot be. False where the kernel
 * does not report flags (macOS, Windows).
 */
function stdoutWasClosed(): boolean {
  try {
    if (fstatSync(1).rdev !== statSync("/dev/null").rdev) return false;
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync("/proc/self/fdinfo/1", "utf8"))?.[1] ?? "0";
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    return false;
  }
}

/**
 * Lines of stdin. The reader is released between two reads, so that an unread terminal does not
 * keep the process alive.
 */
class Input {
  private reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  private readonly decoder = new TextDecoder();
  private text = "";
  private ended = false;

  constructor(private readonly signal: AbortSignal) {}

  private async more(): Promise<Uint8Array | undefined> {
    this.signal.throwIfAborted();
    this.reader ??= Bun.stdin.stream().getReader();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const stop = () => reject(this.signal.reason);
    this.signal.addEventListener("abort", stop, { once: true });
    try {
      const { done, value } = await Promise.race([this.reader.read(), aborted]);
      if (done) this.ended = true;
      return value;
    } finally {
      this.signal.removeEventListener("abort", stop);
      aborted.catch(() => {});
    }
  }

  async line(): Promise<string | undefined> {
    for (;;) {
      const end = this.text.indexOf("\n");
      if (end >= 0) {
        const line = this.text.slice(0, end);
        this.text = this.text.slice(end + 1);
        return line.replace(/\r$/, "");
      }
      if (this.ended) {
        const line = this.text;
        this.text = "";
        return line === "" ? undefined : line;
      }
      const bytes = await this.more();
      this.text += bytes ? this.decoder.decode(bytes, { stream: true }) : this.decoder.decode();
    }
  }

  async chunk(): Promise<Uint8Array | undefined> {
    return this.ended ? undefined : this.more();
  }

  async all(): Promise<Uint8Array> {
    const parts: Uint8Array[] = this.text === "" ? [] : [new TextEncoder().encode(this.text)];
    this.text = "";
    while (!this.ended) {
      const bytes = await this.more();
      if (bytes) parts.push(bytes);
    }
    return Buffer.concat(parts);
  }

  /** Stops reading stdin, so that the process can end. */
  async close(): Promise<void> {
    await this.reader?.cancel().catch(() => {});
  }
}

/** The streams of this process. `close` releases stdin at the end. */
export function systemIo(signal: AbortSignal): Io & { close(): Promise<void> } {
  const input = new Input(signal);
  let last: Promise<unknown> = Promise.resolve();
  let closed: boolean | undefined;
  const terminal = new Map<number, boolean>();
  const isTTY = (fd: number): boolean => {
    const known = terminal.get(fd) ?? isTerminal(fd);
    terminal.set(fd, known);
    return known;
  };
  return {
    async writeOut(content) {
      if (content.length === 0) return;
      closed ??= stdoutWasClosed();
      if (closed) throw new CliError("cannot write to stdout: it is closed", { code: "output_lost" });
      const before = last;
      const writing = (async () => {
        await before.catch(() => {});
        await Bun.write(Bun.stdout, content);
      })();
      last = writing;
      try {
        await writing;
      } catch (error) {
        if (codeOf(error) === "EPIPE" || codeOf(error) === "ECONNRESET") throw new OutputClosedError();
        throw fromSystem(error, "write to stdout") ?? error;
      }
    },
    writeErr(text) {
      const bytes = Buffer.from(text);
      const until = performance.now() + STDERR_TIMEOUT_MS;
      for (let at = 0; at < bytes.length; ) {
        try {
          at += writeSync(2, bytes, at);
        } catch (error) {
          if (codeOf(error) !== "EAGAIN" || performance.now() > until) return;
          Bun.sleepSync(2);
        }
      }
    },
    readLine: () => input.line(),
    readChunk: () => input.chunk(),
    readAll: () => input.all(),
    close: () => input.close(),
    get stdoutIsTTY() {
      return isTTY(1);
    },
    get stderrIsTTY() {
      return isTTY(2);
    },
    get stdinIsTTY() {
      return isTTY(0);
    },
    get width() {
      if (!isTTY(1)) return Number.POSITIVE_INFINITY;
      return process.stdout.columns || 80;
    },
    get height() {
      if (!isTTY(1)) return Number.POSITIVE_INFINITY;
      return process.stdout.rows || 24;
    },
  };
}
