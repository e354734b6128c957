/**
 * Child processes that end by themselves or are ended: bounded output, a time limit, and no process
 * left behind.
 */

/** How to run a program. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Longest run; the whole process group is killed after it. */
  readonly timeoutMs?: number;
  /**
   * Sent to the group at the time limit, before it is killed, to make the program say where it is;
   * it gets 500 ms to do so.
   */
  readonly timeoutSignal?: NodeJS.Signals;
  readonly signal?: AbortSignal;
  /**
   * Gives the program a stdin that nothing is written to, and that is closed when this process
   * ends, however it does.
   */
  readonly heldOpen?: boolean;
  /** Called with every line of stdout and stderr. */
  readonly onLine?: (line: string) => void;
  /** How much of the end of each stream is kept, in bytes; default 64 KiB. */
  readonly keepBytes?: number;
}

/** How a program ended. */
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

/** Time that output may still take to arrive after the program itself has ended. */
const OUTPUT_GRACE_MS = 500;

/**
 * Runs a program in a process group of its own, with no stdin. Whatever it started and left in that
 * group is killed when it ends. Throws the system's error when it cannot be started, and the
 * signal's reason when aborted.
 */
export async function runProgram(argv: readonly string[], options: RunOptions): Promise<RunResult> {
  options.signal?.throwIfAborted();
  const child = privately(() =>
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
        timers.push(setTimeout(kill, 500));
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
 * Runs what starts a process so that the files which that makes are its owner's alone, whatever the
 * umask is here.
 */
export function privately<T>(spawn: () => T): T {
  const before = process.umask(0o077);
  try {
    return spawn();
  } finally {
    process.umask(before);
  }
}

/**
 * Sends a signal to a process group; one that has ended is left alone. On Windows only the process
 * itself is ended.
 */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && (error.code === "ESRCH" || error.code === "EPERM"))) throw error;
  }
}

/** Waits for work to end, but no longer than that. Rejects when the work does. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Last lines of a text, without empty ones at its end. */
export function lastLines(text: string, count: number): string[] {
  return text.trimEnd().split("\n").slice(-count);
}

/** Reads a stream to its end and keeps the last bytes of it. */
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
