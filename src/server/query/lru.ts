/** A bounded map that evicts the least recently used entry. */
export class LruMap<Value> {
  readonly #entries = new Map<string, Value>();
  #newest: string | undefined;

  constructor(readonly limit: number) {}

  /** The entry, which becomes the newest. */
  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined && key !== this.#newest) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
      this.#newest = key;
    }
    return value;
  }

  /** Adds an entry as the newest. */
  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#newest = key;
    if (this.#entries.size <= this.limit) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}
