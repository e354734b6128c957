/** Cells that wait for something, by the number of what they wait for. */
export class Waiters {
  readonly #cells = new Map<number, number[]>();

  add(at: number, cell: number): void {
    const cells = this.#cells.get(at);
    if (cells) cells.push(cell);
    else this.#cells.set(at, [cell]);
  }

  /** The cells that wait, which wait no longer. */
  take(at: number): readonly number[] {
    const cells = this.#cells.get(at);
    if (!cells) return [];
    this.#cells.delete(at);
    return cells;
  }
}
