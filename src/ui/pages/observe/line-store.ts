/** Lines of a tail as they come: the newest are kept, up to a number. */

import type { LogLineJson } from "../../../../gen/svc/v1/log_pb.ts";

/** A line with a key of its own in its list. */
export interface KeptLine {
  readonly key: number | string;
  readonly line: LogLineJson;
}

/** Most lines of a tail that are kept. */
export const MOST_LINES = 2_000;

/** The newest lines, and the number of all that came. */
export class LineStore {
  /** Newest first. */
  #lines: KeptLine[] = [];
  #coming: KeptLine[] = [];
  #next = 0;

  constructor(private readonly most = MOST_LINES) {}

  /** Number of lines that came. */
  get count(): number {
    return this.#next;
  }

  /** Adds lines, oldest first. */
  add(lines: readonly LogLineJson[]): void {
    for (const line of lines) this.#coming.push({ key: this.#next++, line });
    if (this.#coming.length > this.most) this.#coming = this.#coming.slice(-this.most);
  }

  /** The lines, newest first; the same array as long as none came. */
  lines(): readonly KeptLine[] {
    if (this.#coming.length === 0) return this.#lines;
    this.#lines = [...this.#coming.reverse(), ...this.#lines.slice(0, this.most - this.#coming.length)];
    this.#coming = [];
    return this.#lines;
  }
}
