/** The state of some rows of a series, an error of a row among them. */

import type { Accumulator } from "../../domain/expressions/accumulators.ts";
import { EvaluationError } from "../../domain/expressions/evaluation-error.ts";
import type { TileSeries } from "../../domain/expressions/tile-series.ts";
import type { FeatureValue } from "../../domain/value.ts";

/** First byte of a state whose rows have no aggregate; the versions of others are less. */
const FAILED = 0xff;
/** Characters of an error's message that are kept. */
const MOST_MESSAGE = 500;

/**
 * An accumulator that an error of a row can fail: then the rows have no aggregate, as when they are
 * aggregated at once.
 */
export class TileState {
  readonly #accumulator: Accumulator;
  #error: string | undefined;

  constructor({ accumulator }: TileSeries) {
    this.#accumulator = accumulator.make();
  }

  /** Adds a row's value, already of the accumulator's type. */
  add(value: FeatureValue, order: FeatureValue, ...by: FeatureValue[]): void {
    this.#accumulator.add(value, order, ...by);
  }

  /** Adds a row that has no value. */
  fail(message: string): void {
    this.#error ??= message.slice(0, MOST_MESSAGE);
  }

  /** Adds the rows of a state. Throws DamagedState for other bytes. */
  merge(encoded: Uint8Array): void {
    if (encoded[0] === FAILED) this.fail(new TextDecoder().decode(encoded.subarray(1)));
    else this.#accumulator.merge(encoded);
  }

  /** The bytes of the state. */
  encode(): Uint8Array {
    if (this.#error !== undefined) return failed(this.#error);
    try {
      return this.#accumulator.encode();
    } catch (error) {
      if (error instanceof EvaluationError) return failed(error.message);
      throw error;
    }
  }

  /** The aggregate. Throws EvaluationError where there is none. */
  result(): FeatureValue {
    if (this.#error !== undefined) throw new EvaluationError(this.#error);
    return this.#accumulator.result();
  }
}

function failed(message: string): Uint8Array {
  return Uint8Array.of(FAILED, ...new TextEncoder().encode(message));
}
