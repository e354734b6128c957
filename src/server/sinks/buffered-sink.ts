/**
 * A sink's rows until its function takes them. One call runs at a time, so that rows arrive in the
 * order in which they became known. A call that fails is repeated with the same rows, with longer
 * and longer pauses; after the last attempt they are dropped and counted. What waits is bounded in
 * rows and bytes, and lost when the process is killed.
 */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { errorText } from "../../domain/error-text.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { PythonPool, ResolverCall } from "../python/pool.ts";
import type { RowSink } from "./row-sinks.ts";

/** Most rows that wait for a sink; as many as ten calls take, if that is more. */
const MAX_ROWS = 10_000;
/** Most bytes of values that wait for a sink, approximately. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Milliseconds before the second and later attempts. */
const PAUSES_MS = [200, 800, 3_200, 6_400] as const;
/** Milliseconds for what waits when the deployment stops. */
const DRAIN_MS = 5_000;

/** Why rows were dropped. */
export type DropReason = "full" | "failed" | "stopped";

/** What becomes of rows. */
export interface SinkObserver {
  /** A call has ended; `error` is absent when it took its rows. */
  called(call: {
    /** The call's id, which its lines in the log name. */
    readonly id: string;
    readonly rows: number;
    readonly ms: number;
    readonly error?: { readonly code: ErrorCode; readonly message: string };
  }): void;
  dropped(rows: number, reason: DropReason): void;
}

/** What a sink is made of. */
export interface BufferedSinkOptions {
  readonly fqn: string;
  readonly parameter: string;
  readonly columns: readonly string[];
  readonly tags: readonly string[];
  readonly bufferSize: number;
  readonly debounceMs: number;
  readonly maxDelayMs: number;
  readonly timeoutMs: number;
  readonly pool: Pick<PythonPool, "call">;
  readonly observer: SinkObserver;
  /** What a call passes on beside its rows. */
  readonly callContext: () => Pick<ResolverCall, "context" | "origin" | "now">;
}

interface Waiting {
  readonly values: readonly FeatureValue[];
  readonly bytes: number;
  /** Milliseconds of `performance.now`. */
  readonly at: number;
}

/** The sink. */
export class BufferedSink implements RowSink {
  readonly columns: readonly string[];
  #waiting: Waiting[] = [];
  #bytes = 0;
  #lastAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sending: Promise<void> | undefined;
  #isDraining = false;
  #isOver = false;
  /** Ends the pause before an attempt. */
  #wake: (() => void) | undefined;

  constructor(readonly options: BufferedSinkOptions) {
    this.columns = options.columns;
  }

  takesTags(tags: readonly string[]): boolean {
    return this.options.tags.every((tag) => tags.includes(tag));
  }

  add(values: readonly FeatureValue[]): void {
    const { bufferSize, observer } = this.options;
    const bytes = values.reduce<number>((sum, value) => sum + roughBytes(value), 64);
    const isFull = this.#waiting.length >= Math.max(MAX_ROWS, 10 * bufferSize) || this.#bytes + bytes > MAX_BYTES;
    if (this.#isOver || isFull) {
      observer.dropped(1, this.#isOver ? "stopped" : "full");
      return;
    }
    this.#lastAt = performance.now();
    this.#waiting.push({ values, bytes, at: this.#lastAt });
    this.#bytes += bytes;
    this.#arm();
  }

  /** Hands over what waits, at most in `DRAIN_MS`. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#wake?.();
    clearTimeout(this.#timer);
    this.#send();
    let over: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([
      this.#sending,
      new Promise<void>((resolve) => {
        over = setTimeout(resolve, DRAIN_MS);
      }),
    ]);
    clearTimeout(over);
    this.#isOver = true;
    const left = this.#waiting.length;
    this.#waiting = [];
    if (left > 0) this.options.observer.dropped(left, "stopped");
  }

  /** Milliseconds until rows are due; 0 or less = they are. */
  #due(): number {
    const { bufferSize, debounceMs, maxDelayMs } = this.options;
    const [first] = this.#waiting;
    if (!first) return Number.POSITIVE_INFINITY;
    if (this.#isDraining || this.#waiting.length >= bufferSize) return 0;
    return Math.min(first.at + maxDelayMs, this.#lastAt + debounceMs) - performance.now();
  }

  /** Sends in time; not within the call of who knows the row. */
  #arm(): void {
    if (this.#sending || (this.#timer && this.#waiting.length !== this.options.bufferSize)) return;
    clearTimeout(this.#timer);
    const due = this.#due();
    if (due === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (this.#due() <= 0) this.#send();
        else this.#arm();
      },
      Math.max(0, Math.ceil(due)),
    );
    this.#timer.unref();
  }

  #send(): void {
    this.#sending ??= this.#sendDue().finally(() => {
      this.#sending = undefined;
      this.#arm();
    });
  }

  async #sendDue(): Promise<void> {
    while (!this.#isOver && this.#due() <= 0) {
      const batch = this.#waiting.splice(0, this.options.bufferSize);
      this.#bytes -= batch.reduce((sum, { bytes }) => sum + bytes, 0);
      await this.#deliver(batch.map(({ values }) => values));
    }
  }

  async #deliver(rows: readonly (readonly FeatureValue[])[]): Promise<void> {
    for (const pause of [...PAUSES_MS, undefined]) {
      if (await this.#call(rows)) return;
      if (pause === undefined || this.#isDraining) break;
      await this.#pause(pause);
    }
    this.options.observer.dropped(rows.length, "failed");
  }

  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  /** Whether the function took the rows. */
  async #call(rows: readonly (readonly FeatureValue[])[]): Promise<boolean> {
    const { callContext, columns, fqn, observer, parameter, pool, timeoutMs } = this.options;
    const began = performance.now();
    const table = Object.fromEntries(columns.map((column, at) => [column, rows.map((row) => row[at] ?? null)]));
    const given = callContext();
    const error = await pool
      .call({ ...given, resolver: fqn, rows: rows.length, columns: {}, tables: { [parameter]: table }, deadlineMs: timeoutMs })
      .then(
        ({ errors: [first] }) => first,
        (reason: unknown) => ({ code: ErrorCode.RESOLVER_FAILED, message: errorText(reason) }),
      );
    observer.called({
      id: given.context.queryId,
      rows: rows.length,
      ms: performance.now() - began,
      ...(error && { error: { code: error.code, message: error.message } }),
    });
    return !error;
  }
}

/** About the memory that a value takes. */
function roughBytes(value: FeatureValue): number {
  if (typeof value === "string") return 2 * value.length + 16;
  if (typeof value !== "object" || value === null) return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  return Object.values(value).reduce<number>((sum, inner) => sum + roughBytes(inner as FeatureValue), 32);
}
