/** Work that nobody waits for: what is recorded of requests that were answered. */

/** Work that is done when the answers of the event loop's turn have been sent. */
export class AfterAnswers {
  #waiting: (() => void)[] = [];

  /** @param onError told what some work threw; the rest of it is done */
  constructor(private readonly onError: (error: unknown) => void) {}

  /**
   * Has work done, in the order in which it is handed in, before anything else is read from a
   * client.
   */
  later(work: () => void): void {
    if (this.#waiting.push(work) === 1) setImmediate(this.#doWaiting);
  }

  readonly #doWaiting = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const work of waiting)
      try {
        work();
      } catch (error) {
        this.onError(error);
      }
  };
}
