/** The expressions that wait for their thread, and its time. */

import { Failure } from "../../failure.ts";
import { QueryRefused } from "../../query/refusal.ts";
import { Thread } from "../../thread/rpc.ts";
import type { Evaluator } from "./expression-worker.ts";
import { BodyInvalid } from "./query-body.ts";

/** Milliseconds that a request may take in the thread. */
export const MAX_EVALUATION_MS = 10_000;
/** Most requests that wait for the thread or are in it. */
export const MAX_EVALUATIONS = 32;
/** Milliseconds without requests after which the thread ends. */
const IDLE_MS = 60_000;

/** Computes expressions of classes that are not deployed, one request at a time. */
export class Expressions {
  readonly #thread = new Thread<Evaluator, null>({ entry: "wire/query/expression-worker.ts", settings: null });
  readonly #maxMs: number;
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;
  #idle: Timer | undefined;

  /** @param stopping ends the thread for good */
  constructor(stopping: AbortSignal, { maxMs = MAX_EVALUATION_MS }: { readonly maxMs?: number } = {}) {
    this.#maxMs = maxMs;
    stopping.addEventListener("abort", () => this.#end(), { once: true });
  }

  /**
   * The text of the answer to the body of a request. Throws BodyInvalid, QueryRefused, and Failure
   * resource_exhausted when too many wait, deadline_exceeded when it takes too long.
   * @param now epoch milliseconds at which it was received
   */
  async evaluate(bytes: Uint8Array, now: number, signal: AbortSignal): Promise<string> {
    if (this.#count >= MAX_EVALUATIONS)
      throw new Failure("resource_exhausted", `${MAX_EVALUATIONS} requests wait for their expressions to be computed.`, {
        hint: "Try again in a moment.",
      });
    this.#count++;
    clearTimeout(this.#idle);
    const turn = this.#last.then(() => this.#evaluate(bytes, now, signal));
    this.#last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      this.#count--;
      if (this.#count === 0) this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
    }
  }

  async #evaluate(bytes: Uint8Array, now: number, signal: AbortSignal): Promise<string> {
    const late = AbortSignal.any([signal, AbortSignal.timeout(this.#maxMs)]);
    const end = (): void => this.#end();
    late.throwIfAborted();
    late.addEventListener("abort", end, { once: true });
    try {
      const evaluated = await this.#thread.call("evaluate", [bytes, now]);
      if ("answer" in evaluated) return evaluated.answer;
      if ("errors" in evaluated) throw new QueryRefused(evaluated.errors);
      throw new BodyInvalid(evaluated.invalid);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (!late.aborted) throw error;
      throw new Failure("deadline_exceeded", `The expressions were not computed within ${this.#maxMs / 1000} s.`, {
        hint: "Give fewer rows, or ask for one feature at a time.",
      });
    } finally {
      late.removeEventListener("abort", end);
    }
  }

  #end(): void {
    void this.#thread.terminate();
  }
}
