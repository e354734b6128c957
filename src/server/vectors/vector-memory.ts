/**
 * Vectors of rows in memory, and the exact search for those that are nearest to one: a pass over
 * rough copies of all of them, and a look at those that could be among the nearest.
 */

import { BLOCK, bytesOfCopy, centreOf, RoughVectors } from "./rough-vectors.ts";

/** What is small for vectors that are near. */
export type Metric = "cosine" | "l2" | "dot";

/** The form of vectors: how many elements, and whether these need 64 bits. */
export interface VectorForm {
  readonly size: number;
  readonly isDouble: boolean;
}

/** Vectors of some rows, one after another. Times are epoch milliseconds. */
export interface VectorBatch {
  readonly keys: readonly string[];
  /** `size` elements for each key. */
  readonly elements: Float32Array | Float64Array;
  readonly observedAt: Float64Array;
  /** When vectors can be forgotten; Infinity = never. */
  readonly expiresAt: Float64Array;
}

/** What a search asks for. */
export interface VectorSearch {
  /** Vectors that were observed earlier, or later than `until`, do not count. */
  readonly from: number;
  readonly until: number;
  /** The vectors that are searched for, one after another. */
  readonly wanted: Float64Array;
  readonly metric: Metric;
  /** Number of rows for each of them. */
  readonly limit: number;
}

/** The rows that are nearest to one vector, by ascending distance, of equal ones by key. */
export interface FoundVectors {
  readonly keys: readonly string[];
  readonly distances: Float64Array;
  readonly observedAt: Float64Array;
}

/** Options, which tests change. */
export interface VectorMemoryOptions {
  /** Whether to do without rough copies, as on a processor that cannot multiply them. */
  readonly isPlain?: boolean;
}

/** The vectors of one feature of the rows of a scope. */
export class VectorMemory {
  readonly #form: VectorForm;
  /** Null = there is none; undefined = no vector has come yet. */
  #rough: RoughVectors | null | undefined;
  /** Memory grows by blocks, and no vector is ever moved. */
  readonly #blocks: (Float32Array | Float64Array)[] = [];
  readonly #places = new Map<string, number>();
  readonly #free: number[] = [];
  /** By place; empty = the place is free. */
  readonly #keys: string[] = [];
  readonly #observedAt: number[] = [];
  readonly #expiresAt: number[] = [];
  /** Length of the vector, for cosines. */
  readonly #lengths: number[] = [];

  constructor(form: VectorForm, { isPlain = false }: VectorMemoryOptions = {}) {
    this.#form = form;
    this.#rough = isPlain ? null : undefined;
  }

  /** Number of rows. */
  get rows(): number {
    return this.#places.size;
  }

  /** Takes vectors; one that is older than that of its row changes nothing. */
  put({ keys, elements, observedAt, expiresAt }: VectorBatch): void {
    const { size } = this.#form;
    if (this.#rough === undefined && keys.length > 0) this.#rough = RoughVectors.around(centreOf(elements, size)) ?? null;
    for (const [at, key] of keys.entries()) {
      const time = observedAt[at] as number;
      const known = this.#places.get(key);
      if (known !== undefined && (this.#observedAt[known] as number) > time) continue;
      const place = known ?? this.#newPlace(key);
      const vector = elements.subarray(at * size, (at + 1) * size);
      const from = (place % BLOCK) * size;
      (this.#blocks[Math.floor(place / BLOCK)] as Float32Array).set(vector, from);
      this.#observedAt[place] = time;
      this.#expiresAt[place] = expiresAt[at] as number;
      this.#lengths[place] = Math.sqrt(product(vector, 0, vector, 0, size));
      if (this.#rough?.put(place, vector) === false) this.#rough = null;
    }
  }

  /** Removes the vectors of rows that were observed until a time. */
  remove(keys: readonly string[], until: number): void {
    for (const key of keys) {
      const place = this.#places.get(key);
      if (place !== undefined && (this.#observedAt[place] as number) <= until) this.#release(key, place);
    }
  }

  /** Forgets what has expired. */
  expire(now: number): void {
    for (const [key, place] of this.#places) if ((this.#expiresAt[place] as number) <= now) this.#release(key, place);
  }

  /** The nearest rows for each vector that is searched for. */
  search(search: VectorSearch): FoundVectors[] {
    const { size } = this.#form;
    const found: FoundVectors[] = [];
    for (let from = 0; from < search.wanted.length; from += size)
      found.push(this.#searchOne(search, search.wanted.subarray(from, from + size)));
    return found;
  }

  #searchOne({ metric, limit, from, until }: VectorSearch, wanted: Float64Array): FoundVectors {
    const { size } = this.#form;
    const length = Math.sqrt(product(wanted, 0, wanted, 0, size));
    const nearest = new NearestPlaces(limit, this.#keys);
    const places = metric === "cosine" && length === 0 ? 0 : this.#keys.length;
    const rough = this.#rough?.want(wanted, length);
    for (let first = 0; first < places; first += BLOCK) {
      const index = first / BLOCK;
      const block = this.#blocks[index] as Float32Array;
      const rows = Math.min(BLOCK, places - first);
      const most = rough && this.#rough?.most(index, rows, rough);
      for (let at = 0; at < rows; at++) {
        const time = this.#observedAt[first + at] as number;
        if (!(time >= from && time <= until)) continue;
        const own = this.#lengths[first + at] as number;
        if (metric === "cosine" && own === 0) continue;
        if (most && leastDistance(metric, most[at] as number, own, length) > nearest.farthest) continue;
        const start = at * size;
        const distance =
          metric === "l2"
            ? Math.sqrt(squares(block, start, wanted, size))
            : distanceOf(metric, product(block, start, wanted, 0, size), own, length);
        if (!Number.isNaN(distance)) nearest.add(first + at, distance);
      }
    }
    const sorted = nearest.sorted();
    return {
      keys: sorted.places.map((place) => this.#keys[place] as string),
      distances: sorted.distances,
      observedAt: Float64Array.from(sorted.places, (place) => this.#observedAt[place] as number),
    };
  }

  #release(key: string, place: number): void {
    this.#places.delete(key);
    this.#keys[place] = "";
    this.#observedAt[place] = Number.NaN;
    this.#free.push(place);
  }

  #newPlace(key: string): number {
    const place = this.#free.pop() ?? this.#keys.length;
    if (place === this.#blocks.length * BLOCK) {
      const elements = BLOCK * this.#form.size;
      this.#blocks.push(this.#form.isDouble ? new Float64Array(elements) : new Float32Array(elements));
    }
    this.#keys[place] = key;
    this.#places.set(key, place);
    return place;
  }
}

/** Bytes that a row takes: its elements and their rough copy, its key twice, times and length. */
export function bytesOfRow({ size, isDouble }: VectorForm): number {
  return size * (isDouble ? 8 : 4) + bytesOfCopy(size) + 200;
}

/** The distance of two vectors by their product and their lengths. */
function distanceOf(metric: "cosine" | "dot", dot: number, own: number, length: number): number {
  return metric === "dot" ? -dot : 1 - Math.min(1, Math.max(-1, dot / own / length));
}

/** A distance that none is below whose product is at most `most`; NaN when that is not known. */
function leastDistance(metric: Metric, most: number, own: number, length: number): number {
  if (!Number.isFinite(most)) return Number.NaN;
  if (metric === "l2") return Math.sqrt(Math.max(0, (own * own + length * length) * (1 - 1e-9) - 2 * most));
  return distanceOf(metric, most, own, length) - (metric === "cosine" ? 1e-9 : 0);
}

/** The nearest places seen so far, as a heap whose first one is the farthest. */
class NearestPlaces {
  readonly #limit: number;
  readonly #keys: readonly string[];
  readonly #places: number[] = [];
  readonly #distances: number[] = [];

  constructor(limit: number, keys: readonly string[]) {
    this.#limit = limit;
    this.#keys = keys;
  }

  /** The distance beyond which nothing counts any more. */
  get farthest(): number {
    return this.#places.length < this.#limit ? Number.POSITIVE_INFINITY : (this.#distances[0] as number);
  }

  add(place: number, distance: number): void {
    const { length } = this.#places;
    if (length < this.#limit) {
      this.#places.push(place);
      this.#distances.push(distance);
      this.#rise(length);
    } else if (this.#isFarther(this.#places[0] as number, this.#distances[0] as number, place, distance)) {
      this.#places[0] = place;
      this.#distances[0] = distance;
      this.#sink();
    }
  }

  sorted(): { readonly places: readonly number[]; readonly distances: Float64Array } {
    const order = this.#places.map((_, at) => at);
    order.sort((a, b) => (this.#isFartherAt(a, b) ? 1 : -1));
    return {
      places: order.map((at) => this.#places[at] as number),
      distances: Float64Array.from(order, (at) => this.#distances[at] as number),
    };
  }

  #isFartherAt(a: number, b: number): boolean {
    const [places, distances] = [this.#places, this.#distances];
    return this.#isFarther(places[a] as number, distances[a] as number, places[b] as number, distances[b] as number);
  }

  #isFarther(place: number, distance: number, other: number, otherDistance: number): boolean {
    if (distance !== otherDistance) return distance > otherDistance;
    return (this.#keys[place] as string) > (this.#keys[other] as string);
  }

  #rise(from: number): void {
    for (let at = from; at > 0; ) {
      const above = (at - 1) >> 1;
      if (!this.#isFartherAt(at, above)) return;
      this.#swap(at, above);
      at = above;
    }
  }

  #sink(): void {
    const { length } = this.#places;
    for (let at = 0; ; ) {
      let next = at * 2 + 1;
      if (next >= length) return;
      if (next + 1 < length && this.#isFartherAt(next + 1, next)) next++;
      if (!this.#isFartherAt(next, at)) return;
      this.#swap(at, next);
      at = next;
    }
  }

  #swap(a: number, b: number): void {
    for (const list of [this.#places, this.#distances]) {
      const moved = list[a] as number;
      list[a] = list[b] as number;
      list[b] = moved;
    }
  }
}

type Numbers = Float32Array | Float64Array;

/** The sum of the products; four sums, so that no addition waits for the one before. */
function product(a: Numbers, from: number, b: Numbers, start: number, size: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  let at = 0;
  for (; at + 3 < size; at += 4) {
    first += (a[from + at] as number) * (b[start + at] as number);
    second += (a[from + at + 1] as number) * (b[start + at + 1] as number);
    third += (a[from + at + 2] as number) * (b[start + at + 2] as number);
    fourth += (a[from + at + 3] as number) * (b[start + at + 3] as number);
  }
  for (; at < size; at++) first += (a[from + at] as number) * (b[start + at] as number);
  return first + second + (third + fourth);
}

/** The sum of the squares of the differences. */
function squares(a: Numbers, from: number, b: Numbers, size: number): number {
  let [first, second] = [0, 0];
  let at = 0;
  for (; at + 1 < size; at += 2) {
    const one = (a[from + at] as number) - (b[at] as number);
    const other = (a[from + at + 1] as number) - (b[at + 1] as number);
    first += one * one;
    second += other * other;
  }
  if (at < size) first += ((a[from + at] as number) - (b[at] as number)) ** 2;
  return first + second;
}
