/** Child processes with bounded output and a time limit, none of which outlives its run. */

/** Options of a run. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Time limit, after which the whole process group is killed. */
  readonly timeoutMs?: number;
  /**
   * Signal sent to the group at the time limit, before it is killed, so that the program can print
   * where it is; it has two seconds for that.
   */
  readonly timeoutSignal?: NodeJS.Signals;
  readonly signal?: AbortSignal;
  /**
   * Whether the program gets a stdin to which nothing is written, and which is closed when this
   * process ends, however it ends.
   */
  readonly heldOpen?: boolean;
  /** Called with every line of stdout and stderr. */
  readonly onLine?: (line: string) => void;
  /** Bytes kept of the end of each stream; default 64 KiB. */
  readonly keepBytes?: number;
}

/** The outcome of a run. */
export interface RunResult {
  /** Undefined when a signal ended it. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  /** End of stdout. */
  readonly stdout: string;
  /** End of stderr. */
  readonly stderr: string;
}

/** Time between the signal at the time limit and the kill. */
const LAST_WORDS_MS = 2_000;
/** Time for which output may still arrive after the program itself has ended. */
const OUTPUT_GRACE_MS = 500;

/**
 * Runs a program in a process group of its own, without stdin. When it ends, its remaining
 * processes in the group are killed. Throws the system's error when it cannot be started, and the
 * signal's reason when aborted.
 */
export async function runProgram(argv: readonly string[], options: RunOptions): Promise<RunResult> {
  options.signal?.throwIfAborted();
  const child = withPrivateUmask(() =>
    Bun.spawn([...argv], {
      cwd: options.cwd,
      env: options.env,
      stdin: options.heldOpen ? "pipe" : "ignore",
      stdout: "pipe",
      stderr: "pipe",
      detached: process.platform !== "win32",
    }),
  );
  let timedOut = false;
  const kill = () => killGroup(child.pid, "SIGKILL");
  const timers: Timer[] = [];
  if (options.timeoutMs !== undefined)
    timers.push(
      setTimeout(() => {
        timedOut = true;
        if (!options.timeoutSignal) return kill();
        killGroup(child.pid, options.timeoutSignal);
        timers.push(setTimeout(kill, LAST_WORDS_MS));
      }, options.timeoutMs),
    );
  options.signal?.addEventListener("abort", kill, { once: true });
  const keep = options.keepBytes ?? 65_536;
  const stdout = new StreamTail(child.stdout, keep, options.onLine);
  const stderr = new StreamTail(child.stderr, keep, options.onLine);
  try {
    await child.exited;
    killGroup(child.pid, "SIGKILL");
    await within(OUTPUT_GRACE_MS, Promise.all([stdout.ended, stderr.ended]));
  } finally {
    for (const timer of timers) clearTimeout(timer);
    options.signal?.removeEventListener("abort", kill);
    stdout.stop();
    stderr.stop();
    if (typeof child.stdin === "object") void child.stdin.end();
  }
  options.signal?.throwIfAborted();
  return {
    exitCode: child.signalCode ? undefined : (child.exitCode ?? undefined),
    signal: child.signalCode === null ? undefined : String(child.signalCode),
    timedOut,
    stdout: stdout.text(),
    stderr: stderr.text(),
  };
}

/**
 * Runs `spawn` with a umask of 077, so that files which the started process makes are private to
 * its owner.
 */
export function withPrivateUmask<T>(spawn: () => T): T {
  const before = process.umask(0o077);
  try {
    return spawn();
  } finally {
    process.umask(before);
  }
}

/**
 * Sends a signal to a process group; does nothing when it has ended. On Windows only the process
 * itself is ended.
 */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && (error.code === "ESRCH" || error.code === "EPERM"))) throw error;
  }
}

/** Waits for some work, but no longer than `ms`. Rejects when the work does. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, ms);
  try {
    await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Last lines of a text, without trailing empty ones. */
export function lastLines(text: string, count: number): string[] {
  return text.trimEnd().split("\n").slice(-count);
}

/** Reads a stream to its end and keeps its last bytes. */
class StreamTail {
  readonly ended: Promise<void>;
  private chunks: Uint8Array[] = [];
  private size = 0;
  private partial = "";
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  constructor(
    stream: ReadableStream<Uint8Array>,
    private readonly keep: number,
    private readonly onLine: ((line: string) => void) | undefined,
  ) {
    this.reader = stream.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    this.ended = this.read().catch(() => undefined);
  }

  private async read(): Promise<void> {
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await this.reader.read();
      if (done) break;
      this.chunks.push(value);
      this.size += value.length;
      while (this.chunks.length > 1 && this.size - (this.chunks[0]?.length ?? 0) >= this.keep)
        this.size -= this.chunks.shift()?.length ?? 0;
      if (!this.onLine) continue;
      const lines = (this.partial + decoder.decode(value, { stream: true })).split(/\r?\n/);
      this.partial = (lines.pop() ?? "").slice(-this.keep);
      for (const line of lines) this.onLine(line);
    }
    if (this.onLine && this.partial) this.onLine(this.partial);
  }

  text(): string {
    return new TextDecoder().decode(Buffer.concat(this.chunks).subarray(-this.keep));
  }

  stop(): void {
    this.reader.cancel().catch(() => undefined);
  }
}
