/**
 * Typed calls of a process that this one starts: a program serves an object over its stdin and
 * stdout (`serveProcess`), and the code that started it calls the object's methods. For native code
 * that may crash, and whose memory is bounded by ending it.
 */

import { existsSync, readFileSync } from "node:fs";
import { killGroup, withPrivateUmask } from "../../python/subprocess.ts";
import { encodeMessage, MessageReader } from "./process-messages.ts";
import type { MethodArguments, MethodName, MethodResult, ThrownError } from "./rpc.ts";
import type { FromChild, ToChild } from "./serve-process.ts";

/** Milliseconds between two looks at the child's memory, while calls are pending. */
const MEMORY_LOOK_MS = 200;
/** Milliseconds that a child has to end after its stdin was closed. */
const END_MS = 2_000;
/** Bytes kept of the end of what a child says. */
const LAST_WORDS_BYTES = 8_192;

/** The limits of a child. */
export interface ChildLimits {
  /** Resident memory beyond which it is killed, where the system tells it: Linux. */
  readonly residentBytes: number;
  /** Bytes of data segments and private maps (RLIMIT_DATA), on Linux with a shell. */
  readonly dataBytes: number;
}

/** Options with which a child is started. */
export interface ChildOptions<S> {
  /** What it is, for messages: `the table engine`. */
  readonly name: string;
  /** Program and arguments. */
  readonly argv: readonly string[];
  /** All environment variables of the child. */
  readonly env: Readonly<Record<string, string>>;
  /** Its working directory. */
  readonly cwd: string;
  /** Settings of the object. */
  readonly settings: S;
  readonly limits: ChildLimits;
  /**
   * Makes the error for one thrown in the child; default: an `Error` with its message and fields.
   */
  readonly revive?: (thrown: ThrownError) => Error;
  /** Called when a child was started, with its process id. */
  readonly onStart?: (pid: number) => void;
  /** Called when a child has ended by itself, or was killed for its memory. */
  readonly onEnd?: (ended: ChildEnded) => void;
}

/** The error of calls in which the child died. */
export class ChildEnded extends Error {
  override readonly name = "ChildEnded";
  constructor(
    message: string,
    /** Whether it was killed for its memory. */
    readonly isMemory: boolean,
  ) {
    super(message);
  }
}

/**
 * A child that serves an object of type `T`. It starts with the first call; when it dies, the calls
 * that it died in are repeated once in a new one, and the next call starts one.
 */
export class ChildProcess<T extends object, S> {
  readonly #options: ChildOptions<S>;
  #running: RunningChild | undefined;
  #generation = 0;
  #isClosed = false;
  /** Repeated calls run one after the other: one of them may be what kills it. */
  #repeats: Promise<unknown> = Promise.resolve();

  constructor(options: ChildOptions<S>) {
    this.#options = options;
  }

  /** Number of the child that runs, or of the next one. What a child holds is lost with it. */
  get generation(): number {
    return this.#running ? this.#generation : this.#generation + 1;
  }

  /** Process id of the child; undefined when none runs. */
  get pid(): number | undefined {
    return this.#running?.pid;
  }

  /**
   * Calls a method; rejects with what it throws, or ChildEnded when it died in it twice. Arguments
   * and results are JSON, and byte arrays.
   */
  async call<M extends MethodName<T>>(method: M, ...args: MethodArguments<T, M>): Promise<MethodResult<T, M>> {
    try {
      return await this.#once(method, args);
    } catch (error) {
      if (!(error instanceof ChildEnded) || this.#isClosed) throw error;
      const repeat = this.#repeats.then(() => this.#once<M>(method, args));
      this.#repeats = repeat.catch(() => undefined);
      return await repeat;
    }
  }

  /**
   * Calls a method of the child with this generation: for what is continued there. Rejects with
   * ChildEnded when that one has died.
   */
  async callIn<M extends MethodName<T>>(generation: number, method: M, ...args: MethodArguments<T, M>): Promise<MethodResult<T, M>> {
    if (generation !== this.#generation || !this.#running) throw new ChildEnded(`${this.#options.name} was started anew meanwhile`, false);
    return this.#once(method, args);
  }

  /** Starts the child unless it runs, and returns its generation. */
  start(): number {
    this.#child();
    return this.#generation;
  }

  /** Kills the child; pending calls are rejected, or repeated. */
  kill(): void {
    this.#running?.kill();
  }

  /** Ends the child. Pending calls are rejected; later ones too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running?.end();
  }

  #once<M extends MethodName<T>>(method: M, args: MethodArguments<T, M>): Promise<MethodResult<T, M>> {
    return this.#child().request(method, args as readonly unknown[]) as Promise<MethodResult<T, M>>;
  }

  #child(): RunningChild {
    if (this.#isClosed) throw new ChildEnded(`${this.#options.name} is closed`, false);
    if (this.#running) return this.#running;
    const running: RunningChild = new RunningChild(this.#options as ChildOptions<unknown>, (ended) => {
      if (this.#running === running) this.#running = undefined;
      if (!this.#isClosed) this.#options.onEnd?.(ended);
    });
    this.#generation++;
    this.#running = running;
    this.#options.onStart?.(running.pid);
    return running;
  }
}

interface PendingCall {
  resolve(result: unknown): void;
  reject(reason: unknown): void;
}

/** A child from its start to its end. */
class RunningChild {
  readonly #options: ChildOptions<unknown>;
  readonly #child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  readonly #pending = new Map<number, PendingCall>();
  readonly #lived: Promise<void>;
  #lastCall = 0;
  #words = "";
  #watch: Timer | undefined;
  #isOverMemory = false;
  #fault: string | undefined;

  /** @param onEnd called before its pending calls are rejected */
  constructor(options: ChildOptions<unknown>, onEnd: (ended: ChildEnded) => void) {
    this.#options = options;
    this.#child = withPrivateUmask(() =>
      Bun.spawn(limited(options.argv, options.limits.dataBytes), {
        cwd: options.cwd,
        env: { ...options.env },
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
        detached: process.platform !== "win32",
      }),
    );
    this.#lived = this.#live(onEnd);
    this.#send({ settings: options.settings });
  }

  get pid(): number {
    return this.#child.pid;
  }

  request(method: string, args: readonly unknown[]): Promise<unknown> {
    const id = ++this.#lastCall;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, { resolve, reject });
    this.#watch ??= setInterval(() => this.#lookAtMemory(), MEMORY_LOOK_MS);
    try {
      this.#send({ id, method, args });
    } catch (error) {
      if (error instanceof RangeError) this.#settle(id)?.reject(error);
      else this.kill(); // It reads no more; its end rejects the call.
    }
    return promise;
  }

  kill(): void {
    killGroup(this.#child.pid, "SIGKILL");
  }

  async end(): Promise<void> {
    const timer = setTimeout(() => this.kill(), END_MS);
    void Promise.resolve(this.#child.stdin.end()).catch(() => undefined);
    await this.#lived;
    clearTimeout(timer);
  }

  #send(message: ToChild): void {
    for (const part of encodeMessage(message)) this.#child.stdin.write(part);
    void Promise.resolve(this.#child.stdin.flush()).catch(() => undefined);
  }

  async #live(onEnd: (ended: ChildEnded) => void): Promise<void> {
    const said = this.#listen();
    await Promise.all([this.#receive(), said]);
    await this.#child.exited;
    const ended = this.#ending();
    onEnd(ended);
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(ended);
  }

  async #receive(): Promise<void> {
    const reader = new MessageReader();
    try {
      for await (const piece of this.#child.stdout)
        reader.push(piece, (value) => {
          const message = value as FromChild;
          const call = this.#settle(message.id);
          if ("thrown" in message) call?.reject(this.#revived(message.thrown));
          else call?.resolve(message.result);
        });
    } catch (error) {
      this.#fault = `it answered with what is no message (${error instanceof Error ? error.message : error})`;
      this.kill();
    }
  }

  async #listen(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const piece of this.#child.stderr)
      this.#words = (this.#words + decoder.decode(piece, { stream: true })).slice(-LAST_WORDS_BYTES);
  }

  #settle(id: number): PendingCall | undefined {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) {
      clearInterval(this.#watch);
      this.#watch = undefined;
    }
    return call;
  }

  #revived(thrown: ThrownError): Error {
    return this.#options.revive?.(thrown) ?? Object.assign(new Error(thrown.message), thrown.fields);
  }

  #ending(): ChildEnded {
    const { name } = this.#options;
    if (this.#isOverMemory) return new ChildEnded(`${name} needed more memory than it may have, and was ended`, true);
    const { signalCode, exitCode } = this.#child;
    const how = this.#fault ?? (signalCode ? `it was killed by ${signalCode}` : `it exited with code ${exitCode}`);
    const words = this.#words.trim().split("\n").slice(-8).join("\n");
    return new ChildEnded(`${name} ended: ${how}${words && `; its last words:\n${words}`}`, false);
  }

  #lookAtMemory(): void {
    const resident = residentBytes(this.#child.pid);
    if (resident === undefined || resident <= this.#options.limits.residentBytes) return;
    this.#isOverMemory = true;
    this.kill();
  }
}

/** Bytes of memory that a process holds; undefined where the system does not tell. */
function residentBytes(pid: number): number | undefined {
  try {
    const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  } catch {
    return undefined;
  }
}

/**
 * The command that runs a program with RLIMIT_DATA, without core dumps, and as the first one that
 * the system ends when memory is short.
 */
function limited(argv: readonly string[], dataBytes: number): string[] {
  if (process.platform !== "linux" || !existsSync("/bin/sh")) return [...argv];
  const script = 'ulimit -c 0; ulimit -d "$1"; echo 1000 2>/dev/null >/proc/self/oom_score_adj; shift; exec "$@"';
  return ["/bin/sh", "-c", script, "sh", String(Math.ceil(dataBytes / 1024)), ...argv];
}
