/** Worker thread of `rpc.test.ts`. */

import { type Emit, serve } from "../../../src/server/thread/rpc.ts";

/** What it tells. */
export type TallyEvents = { readonly added: readonly [amount: number, sum: number] };

/** What it is made with: where it counts from. */
export interface TallySettings {
  readonly from: number;
}

/** An error with facts of its own. */
export class TallyError extends Error {
  override readonly name = "TallyError";
  constructor(
    message: string,
    readonly code: string,
    readonly offset: number,
  ) {
    super(message);
  }
}

let made = 0;

/** Adds numbers up. */
export class Tally {
  #sum: number;
  readonly #going = Promise.withResolvers<void>();

  constructor(
    { from }: TallySettings,
    readonly emit: Emit<TallyEvents>,
  ) {
    made++;
    if (from < 0 && made === 1) throw new Error("not yet");
    this.#sum = from;
  }

  add(...amounts: number[]): number {
    for (const amount of amounts) {
      this.#sum += amount;
      this.emit("added", amount, this.#sum);
    }
    return this.#sum;
  }

  sizeOf(bytes: Uint8Array): number {
    return bytes.length;
  }

  /** The sum, once the thread was told to go on. */
  async later(): Promise<number> {
    await this.#going.promise;
    return this.#sum;
  }

  goOn(): void {
    this.#going.resolve();
  }

  async refuseLater(): Promise<never> {
    throw new TallyError("no more", "full", 7);
  }

  refuse(): never {
    throw new TallyError("no more", "full", 7);
  }

  /** Needs a new tally: the sum is forgotten. */
  spoil(): number {
    if (this.#sum !== 0) throw new Error("spoilt");
    return made;
  }

  /** Ends the thread behind the back of whoever called. */
  die(): void {
    process.exit(3);
  }

  throwLater(): void {
    setTimeout(() => {
      throw new Error("out of nowhere");
    }, 0);
  }

  /** Keeps the thread busy until it is terminated. */
  hang(): void {
    while (true) Bun.sleepSync(10);
  }

  close(): void {
    this.emit("added", 0, Number.NaN);
  }
}

serve<Tally, TallySettings, TallyEvents>({
  make: (settings, emit) => new Tally(settings, emit),
  close: (tally) => tally.close(),
  explain: (error) => (error instanceof Error && error.message === "spoilt" ? new Error("spoilt beyond repair") : error),
  renewal: {
    isFor: (error) => error instanceof Error && error.message === "spoilt",
    prepare: (_, __, emit) => emit("added", -1, -1),
  },
});
