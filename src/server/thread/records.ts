/**
 * Records on their way to another thread: all their numbers as one array, which is transferred, and
 * their texts. Objects would have to be kept until they are sent, and copied one by one.
 */

/** Records that were written one after the other. */
export interface PackedRecords {
  readonly numbers: Float64Array<ArrayBuffer>;
  /** JSON of the texts that the numbers stand for by their place. */
  readonly texts: string;
}

/** Numbers for which there is room at first, and room that is kept between batches. */
const FIRST_NUMBERS = 4_096;
const MOST_KEPT_NUMBERS = 65_536;
const MOST_KEPT_TEXTS = 16_384;

/** Writes records. They are read in the order in which they were written, by `RecordReader`. */
export class RecordWriter {
  #numbers = new Float64Array(FIRST_NUMBERS);
  #used = 0;
  /** The texts, and behind them room of former batches: an array that grows anew costs more. */
  #texts: string[] = [];
  #textCount = 0;
  /** The last text of each column, and its place. */
  #last: string[] = [];
  #places: number[] = [];

  number(value: number): void {
    if (this.#used === this.#numbers.length) {
      const grown = new Float64Array(this.#used * 2);
      grown.set(this.#numbers);
      this.#numbers = grown;
    }
    this.#numbers[this.#used++] = value;
  }

  /**
   * Writes a text. One that the column had last is not repeated.
   * @param column a small number; records have few columns, and those of a kind the same
   */
  text(column: number, value: string): void {
    this.number(this.#place(column, value));
  }

  /** Writes a text that records hardly share, which is not compared with the last one. */
  ownText(value: string): void {
    this.number(this.#add(value));
  }

  /** Writes a text that may be absent. */
  optionalText(column: number, value: string | undefined): void {
    if (value === undefined) this.number(ABSENT);
    else this.text(column, value);
  }

  /**
   * Writes a text that few records have, with its column; an absent or empty one is left out. What
   * is written so ends with `endOfGiven`.
   */
  given(column: number, value: string | undefined): void {
    if (value === undefined || value === "") return;
    this.number(column);
    this.number(this.#place(column, value));
  }

  /** Ends the texts that `given` wrote. */
  endOfGiven(): void {
    this.number(END);
  }

  /** Writes numbers and texts by their names; those that are neither are left out. */
  attributes(column: number, given: Readonly<Record<string, string | number>>): void {
    let next = column;
    for (const name in given) {
      const value = given[name];
      if (typeof value === "number") {
        this.number(this.#place(next, name));
        this.number(value);
      } else if (typeof value === "string") {
        this.number(TEXT - this.#place(next, name));
        this.number(this.#place(next + 1, value));
      }
      next += 2;
    }
    this.number(END);
  }

  /** What was written. Another batch begins. */
  take(): PackedRecords {
    const packed = { numbers: this.#numbers.slice(0, this.#used), texts: JSON.stringify(this.#texts.slice(0, this.#textCount)) };
    if (this.#numbers.length > MOST_KEPT_NUMBERS) this.#numbers = new Float64Array(FIRST_NUMBERS);
    this.#used = 0;
    if (this.#texts.length > MOST_KEPT_TEXTS) this.#texts = [];
    else this.#texts.fill("", 0, this.#textCount);
    this.#textCount = 0;
    this.#last = [];
    this.#places = [];
    return packed;
  }

  #place(column: number, value: string): number {
    if (this.#last[column] === value) return this.#places[column] as number;
    const place = this.#add(value);
    this.#last[column] = value;
    this.#places[column] = place;
    return place;
  }

  #add(value: string): number {
    this.#texts[this.#textCount] = value;
    return this.#textCount++;
  }
}

/** Stands for a text that is absent. */
const ABSENT = -1;
/** Behind the attributes and the given texts of a record; names of texts stand as numbers below. */
const END = -1;
const TEXT = -2;

/** Reads records. Every method throws RangeError when nothing is left. */
export class RecordReader {
  readonly #numbers: Float64Array;
  readonly #texts: readonly string[];
  #at = 0;

  constructor({ numbers, texts }: PackedRecords) {
    this.#numbers = numbers;
    this.#texts = JSON.parse(texts) as string[];
  }

  /** Whether everything was read. */
  get isAtEnd(): boolean {
    return this.#at === this.#numbers.length;
  }

  number(): number {
    if (this.isAtEnd) throw new RangeError("the records are cut off");
    return this.#numbers[this.#at++] as number;
  }

  text(): string {
    return this.#textAt(this.number());
  }

  optionalText(): string | undefined {
    const place = this.number();
    return place === ABSENT ? undefined : this.#textAt(place);
  }

  /**
   * The texts that `RecordWriter.given` wrote, by the names of their columns; others are empty.
   * @param empty all of them as they are when none was written
   */
  given<Name extends string>(names: readonly Name[], empty: Readonly<Record<Name, string>>): Record<Name, string> {
    const record: Record<Name, string> = { ...empty };
    for (let column = this.number(); column !== END; column = this.number()) {
      const name = names[column];
      if (name === undefined) throw new RangeError("the records name a column that there is not");
      record[name] = this.text();
    }
    return record;
  }

  attributes(): Record<string, string | number> {
    const read = Object.create(null) as Record<string, string | number>;
    for (let name = this.number(); name !== END; name = this.number())
      if (name >= 0) read[this.#textAt(name)] = this.number();
      else read[this.#textAt(TEXT - name)] = this.text();
    return read;
  }

  #textAt(place: number): string {
    const text = this.#texts[place];
    if (text === undefined) throw new RangeError("the records name a text that there is not");
    return text;
  }
}

/** Empty texts by these names. */
export function emptyTexts<Name extends string>(names: readonly Name[]): Readonly<Record<Name, string>> {
  return Object.fromEntries(names.map((name) => [name, ""])) as Record<Name, string>;
}
