/** The choice of queries whose spans are kept although nobody asked for them. */

import type { SpanSampling } from "../../domain/span-sampling.ts";

/** Share of a second's traces that is left for failed and slow ones. */
const RESERVED = 0.5;
/** How fast the latency that counts as slow follows: up by this share, down by a ninth of it. */
const STEP = 0.05;

/**
 * Chooses queries at random distances, so that a pattern in what comes is not followed. The first
 * is as far away as the others on average.
 */
export class SpanSampler {
  #left = Number.NaN;
  #rate = Number.NaN;
  #second = 0;
  #kept = 0;
  /** About a tenth of the chosen queries take longer, milliseconds. */
  #slowMs = 0;

  /**
   * @param sampling what holds at the moment
   * @param random a number from 0 to below 1
   */
  constructor(
    private readonly sampling: () => SpanSampling,
    private readonly now: () => number,
    private readonly random: () => number = Math.random,
  ) {}

  /** Whether the spans of a query that begins are recorded. */
  begins(): boolean {
    const { rate } = this.sampling();
    if (rate <= 0) return false;
    if (rate !== this.#rate) {
      this.#rate = rate;
      this.#left = 1 / rate;
    }
    if (--this.#left > 0) return false;
    this.#left += 1 + this.random() * (2 / rate - 2);
    return true;
  }

  /**
   * Whether the spans of a chosen query that ended are kept: in each second the first ones, then
   * those that failed or took long.
   */
  keeps(durationMs: number, isFailed: boolean): boolean {
    const { perSecond } = this.sampling();
    const second = Math.floor(this.now() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#kept = 0;
    }
    const isSlow = durationMs > this.#slowMs;
    this.#slowMs = isSlow ? this.#slowMs + Math.max(this.#slowMs, durationMs) * STEP : this.#slowMs * (1 - STEP / 9);
    const room = isFailed || isSlow ? perSecond : perSecond * (1 - RESERVED);
    if (this.#kept >= room) return false;
    this.#kept++;
    return true;
  }
}
