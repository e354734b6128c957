/** Output that comes in pieces, by lines of a bounded length. */

/** Longest line of output; what is longer is cut. */
const MAX_LINE = 16_384;

/** Takes pieces of one stream and gives its lines. */
export class OutputLines {
  readonly #decoder = new TextDecoder();
  #begun = "";

  /** The lines that end in a piece. */
  read(bytes: Uint8Array): Iterable<string> {
    return this.take(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The lines that end in a piece of text. */
  *take(text: string): Iterable<string> {
    const [first = "", ...others] = text.split("\n");
    this.#begun += first.slice(0, MAX_LINE - this.#begun.length);
    for (const next of others) {
      yield this.#begun.replace(/\r$/, "");
      this.#begun = next.slice(0, MAX_LINE);
    }
  }

  /** A last line that has no end; empty = there is none. */
  rest(): string {
    return this.#begun;
  }
}
