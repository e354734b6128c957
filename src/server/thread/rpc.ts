/**
 * Remote procedure calls to worker threads: a thread serves an object, and the code that started
 * the thread calls the object's methods. A thread answers calls in order, but those of methods that
 * return a promise when that is settled. `serve` is for the worker's module, `Thread` for its
 * starter.
 */

import { workerEntry } from "./worker-entry.ts";

/** Names of an object's methods. */
export type MethodName<T> = { [M in keyof T]: T[M] extends (...args: never[]) => unknown ? M : never }[keyof T] & string;

/** Arguments of a method. */
export type MethodArguments<T, M extends keyof T> = T[M] extends (...args: infer A) => unknown ? A : never;

/** Result of a method, or what its promise resolves with. */
export type MethodResult<T, M extends keyof T> = T[M] extends (...args: never[]) => infer R ? Awaited<R> : never;

/** Arguments of a thread's events, by the event's name. */
export type ThreadEvents = Readonly<Record<string, readonly unknown[]>>;

/** Listeners to a thread's events. */
export type ThreadListeners<E extends ThreadEvents> = { readonly [Name in keyof E]: (...args: E[Name]) => void };

/**
 * An error as it travels between threads: the name of its class, and its own fields that are
 * strings or numbers.
 */
export interface ThrownError {
  readonly name: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number>>;
}

/**
 * A message to a thread. The first one has the settings, all others are calls; `close` ends the
 * thread.
 */
type ToThread =
  | { readonly settings: unknown }
  | { readonly id: number; readonly method: string; readonly args: readonly unknown[] }
  | { readonly id: number; readonly close: true };

type FromThread =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly thrown: ThrownError }
  | { readonly event: string; readonly args: readonly unknown[] };

/** Sends an event to the starter of this thread. */
export type Emit<E extends ThreadEvents> = <Name extends keyof E & string>(event: Name, ...args: E[Name]) => void;

/** Options with which a worker's module serves an object. */
export interface Served<T, S, E extends ThreadEvents> {
  /** Makes the served object, at the first call; when it throws, again at the next one. */
  readonly make: (settings: S, emit: Emit<E>) => T;
  /** Closes the object; the thread ends when that is done. */
  readonly close: (served: T) => void | Promise<void>;
  /** The error that the caller gets for a thrown one; default: the same. */
  readonly explain?: (error: unknown, settings: S) => unknown;
  /**
   * Replacement of the object after some errors that `make` or a method throws: it is closed,
   * `prepare` runs, and the call is repeated on a new object. Promises that reject are no such
   * errors.
   */
  readonly renewal?: {
    isFor(error: unknown): boolean;
    prepare(error: unknown, settings: S, emit: Emit<E>): void;
  };
}

/** Serves an object to the starter of this thread. Called once, by the worker's module. */
export function serve<T extends object, S, E extends ThreadEvents = Record<never, never>>(options: Served<T, S, E>): void {
  const { make, close, explain, renewal } = options;
  const thread = globalThis as unknown as Worker & { close(): void };
  const send = (message: FromThread): void => thread.postMessage(message);
  const emit: Emit<E> = (event, ...args) => send({ event, args });
  let settings: S;
  let served: T | undefined;

  const call = (method: string, args: readonly unknown[]): unknown => {
    served ??= make(settings, emit);
    const methods = served as Record<string, ((...args: readonly unknown[]) => unknown) | undefined>;
    if (!methods[method]) throw new TypeError(`the thread serves no method ${method}`);
    return methods[method](...args);
  };
  const end = (): unknown => {
    const ending = served;
    served = undefined;
    return ending && close(ending);
  };
  const renewAndCall = (error: unknown, method: string, args: readonly unknown[]): unknown => {
    if (!renewal?.isFor(error)) throw error;
    end();
    renewal.prepare(error, settings, emit);
    return call(method, args);
  };
  const answer = async (id: number, work: () => unknown): Promise<void> => {
    try {
      const result = work();
      send({ id, result: result instanceof Promise ? await result : result });
    } catch (error) {
      send({ id, thrown: thrownForm(explain ? explain(error, settings) : error) });
    }
  };

  thread.onmessage = ({ data }: MessageEvent<ToThread>): void => {
    if ("settings" in data) settings = data.settings as S;
    else if ("close" in data) {
      answer(data.id, end).then(() => thread.close());
    } else {
      const { id, method, args } = data;
      answer(id, () => {
        try {
          return call(method, args);
        } catch (error) {
          return renewAndCall(error, method, args);
        }
      });
    }
  };
}

/** Options with which a thread is started. */
export interface ThreadOptions<S, E extends ThreadEvents> {
  /** The worker's module, from `src/server`. */
  readonly entry: string;
  /** Settings of the object; they are copied to the thread. */
  readonly settings: S;
  /**
   * Makes the error for one thrown in the thread; default: an `Error` with the same message and
   * fields.
   */
  readonly revive?: (thrown: ThrownError) => Error;
  /**
   * Makes the error for pending calls when the thread ends by itself; default: an `Error` with the
   * reason.
   */
  readonly ended?: (reason: string) => Error;
  /** Called when the thread has ended by itself and its pending calls were rejected. */
  readonly onEnd?: (error: Error) => void;
  readonly listeners?: ThreadListeners<E>;
  /** Whether pending calls keep the process alive; default: false. */
  readonly holdsProcess?: boolean;
}

/**
 * A thread that serves an object of type `T`. It starts with the first call; when it ends by
 * itself, pending calls are rejected, and the next call starts it again.
 */
export class Thread<T extends object, S, E extends ThreadEvents = Record<never, never>> {
  readonly #options: ThreadOptions<S, E>;
  #running: RunningThread | undefined;

  constructor(options: ThreadOptions<S, E>) {
    this.#options = options;
  }

  /**
   * Calls a method; rejects with what it throws.
   * @param transfer buffers to transfer instead of copying
   */
  async call<M extends MethodName<T>>(method: M, args: MethodArguments<T, M>, transfer?: ArrayBuffer[]): Promise<MethodResult<T, M>> {
    this.#running ??= this.#start();
    return (await this.#running.request({ method, args }, transfer)) as MethodResult<T, M>;
  }

  /**
   * Ends the thread after the pending calls; resolves when its object is closed. Another call would
   * start it again.
   */
  async close(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.request({ close: true });
  }

  /**
   * Ends the thread without waiting for calls, which are rejected; a native call in progress still
   * finishes first. Resolves when the thread has ended.
   */
  async terminate(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.terminate();
  }

  #start(): RunningThread {
    const running: RunningThread = new RunningThread(this.#options as ThreadOptions<unknown, ThreadEvents>, (error) => {
      if (this.#running !== running) return;
      this.#running = undefined;
      this.#options.onEnd?.(error);
    });
    return running;
  }
}

type Call = { readonly method: string; readonly args: readonly unknown[] } | { readonly close: true };

interface PendingCall {
  resolve(result: unknown): void;
  reject(reason: unknown): void;
}

/** A thread from its start to its end. */
class RunningThread {
  readonly #options: ThreadOptions<unknown, ThreadEvents>;
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingCall>();
  readonly #ended = Promise.withResolvers<void>();
  #lastCall = 0;

  /** @param onEnd called when it ends by itself, with the error of its pending calls */
  constructor(options: ThreadOptions<unknown, ThreadEvents>, onEnd: (error: Error) => void) {
    this.#options = options;
    this.#worker = new Worker(workerEntry(options.entry), { smol: true, ref: false });
    this.#worker.onmessage = ({ data }: MessageEvent<FromThread>) => this.#receive(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      onEnd(this.#reject(event.message));
      this.#worker.terminate();
    };
    this.#worker.addEventListener("close", () => {
      this.#ended.resolve();
      onEnd(this.#reject("it ended by itself"));
    });
    this.#worker.postMessage({ settings: options.settings } satisfies ToThread);
  }

  request(call: Call, transfer: ArrayBuffer[] = []): Promise<unknown> {
    const id = ++this.#lastCall;
    this.#worker.postMessage({ id, ...call } satisfies ToThread, transfer);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, { resolve, reject });
    if (this.#pending.size === 1) this.#hold(true);
    return promise;
  }

  terminate(): Promise<void> {
    this.#reject("it was terminated");
    this.#worker.terminate();
    return this.#ended.promise;
  }

  #receive(message: FromThread): void {
    if ("event" in message) {
      this.#options.listeners?.[message.event]?.(...message.args);
      return;
    }
    const call = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (this.#pending.size === 0) this.#hold(false);
    if ("thrown" in message) call?.reject(this.#revived(message.thrown));
    else call?.resolve(message.result);
  }

  #revived(thrown: ThrownError): Error {
    return this.#options.revive?.(thrown) ?? Object.assign(new Error(thrown.message), thrown.fields);
  }

  /** Rejects every pending call; returns the error. */
  #reject(reason: string): Error {
    const error = this.#options.ended?.(reason) ?? new Error(`the thread ${this.#options.entry} ended: ${reason}`);
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    this.#hold(false);
    return error;
  }

  /** Sets whether the thread keeps the process alive. */
  #hold(isHeld: boolean): void {
    if (!this.#options.holdsProcess) return;
    const handle = this.#worker as Worker & { ref(): void; unref(): void };
    if (isHeld) handle.ref();
    else handle.unref();
  }
}

/** An error as it travels. */
export function thrownForm(error: unknown): ThrownError {
  if (!(error instanceof Error)) return { name: "Error", message: String(error), fields: {} };
  const fields = Object.entries(error).filter(([, value]) => typeof value === "string" || typeof value === "number");
  return { name: error.name, message: error.message, fields: Object.fromEntries(fields) as ThrownError["fields"] };
}
