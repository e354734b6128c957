/** The time that rows are answered as of. */

import { formatMicros } from "../../../domain/timestamp.ts";

/** An instant in the forms in which the steps of a plan take it. */
export class QueryTime {
  #text: string | undefined;

  constructor(
    /** Microseconds since 1970. */
    readonly micros: bigint,
    /** Epoch milliseconds, with a fraction where there is one. */
    readonly ms = Number(micros) / 1000,
  ) {}

  /** A canonical datetime. */
  get text(): string {
    this.#text ??= formatMicros(this.micros);
    return this.#text;
  }
}

/** The earliest and the latest of some times, in microseconds since 1970. */
export interface TimeRange {
  readonly earliest: bigint;
  readonly latest: bigint;
}

/** The range of some times, of which there is at least one. */
export function rangeOf([first, ...others]: readonly QueryTime[]): TimeRange {
  let earliest = first?.micros ?? 0n;
  let latest = earliest;
  for (const { micros } of others) {
    if (micros < earliest) earliest = micros;
    if (micros > latest) latest = micros;
  }
  return { earliest, latest };
}
