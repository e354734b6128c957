/** The patience with an exchange: it ends when nothing has moved for as long as it may. */

/** A watch over one exchange. */
export class Watch {
  readonly #onLate: () => void;
  #limitMs = 0;
  #movedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param onLate called once, when nothing has moved for too long */
  constructor(onLate: () => void) {
    this.#onLate = onLate;
  }

  /** Begins to watch, or goes on with another limit. */
  limit(ms: number): void {
    this.#limitMs = ms;
    this.moved();
    clearTimeout(this.#timer);
    this.#arm(ms);
  }

  /** Notes that something has moved. */
  readonly moved = (): void => {
    this.#movedAt = performance.now();
  };

  stop(): void {
    clearTimeout(this.#timer);
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => {
      const left = this.#movedAt + this.#limitMs - performance.now();
      if (left > 0) this.#arm(left);
      else this.#onLate();
    }, ms);
  }
}
