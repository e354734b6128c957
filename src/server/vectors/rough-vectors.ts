/**
 * Vectors in a byte for each element, of which a processor multiplies sixteen at a step. What such
 * a copy says of a product is off by no more than a bound that is known of each vector, so a search
 * looks at the vector itself only where that could count, and its answer stays the exact one.
 *
 * A vector x is kept as steps q of a length s, taken from a centre that all vectors share:
 * x = centre + s q + rest. With a vector w in 16 bits, w = t p + rest of w, the product is
 * x w = centre w + s t (q p) + s q (rest of w) + rest w, and the last two are no more than the
 * products of the lengths (Cauchy and Schwarz).
 */

import { type DotExports, dotModule } from "./dot-module.ts";

type Numbers = Float32Array | Float64Array;

/** Rows of a block. */
export const BLOCK = 4_096;
const PAGE = 65_536;
const MOST_STEPS = 127;
/** Fewest steps of a vector that is searched for: with fewer, more is looked at than left out. */
const FEWEST_WANTED_STEPS = 256;
const LARGEST_NUMBER = 2 ** 31 - 1;
/**
 * Part of the product of two lengths by which sums of 64 bits are off at most, with much to spare.
 */
const ROUNDING = 1e-9;
/** What is added to lengths, for the squares that are too small to count. */
const TINY = 1e-140;
/** Shortest step: less has no precise fractions. */
const SHORTEST_STEP = 1e-290;

/** A vector that is searched for. */
interface Wanted {
  readonly length: number;
  /** Product with the centre. */
  readonly ofCentre: number;
  readonly step: number;
  /** Length of what the steps leave. */
  readonly rest: number;
}

/** The copies of the vectors of a memory, by their places. */
export class RoughVectors {
  readonly #stride: number;
  readonly #wantedSteps: number;
  readonly #centre: Float64Array;
  readonly #centreLength: number;
  readonly #memory: WebAssembly.Memory;
  readonly #dots: DotExports["dots"];
  /**
   * Where the first block begins; before it are the vector that is searched for and the products.
   */
  readonly #base: number;
  /** For each place the length of a step, that of the steps together, and of what they leave. */
  readonly #steps: Float64Array[] = [];
  readonly #lengths: Float64Array[] = [];
  readonly #rests: Float64Array[] = [];
  readonly #most = new Float64Array(BLOCK);

  private constructor(module: WebAssembly.Module, centre: Float64Array, stride: number, wantedSteps: number) {
    this.#centre = centre;
    this.#centreLength = Math.sqrt(centre.reduce((sum, element) => sum + element * element, 0));
    this.#stride = stride;
    this.#wantedSteps = wantedSteps;
    this.#base = stride * 2 + BLOCK * 4;
    this.#memory = new WebAssembly.Memory({ initial: Math.ceil(this.#base / PAGE) });
    const { exports } = new WebAssembly.Instance(module, { m: { memory: this.#memory } });
    this.#dots = (exports as unknown as DotExports).dots;
  }

  /**
   * Copies around a centre; undefined where the processor cannot, or for vectors too long for it.
   */
  static around(centre: Float64Array): RoughVectors | undefined {
    const stride = strideOf(centre.length);
    const wantedSteps = Math.min(32_767, Math.floor(LARGEST_NUMBER / (MOST_STEPS * stride)));
    const module = dotModule();
    if (!module || wantedSteps < FEWEST_WANTED_STEPS) return undefined;
    try {
      return new RoughVectors(module, centre, stride, wantedSteps);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /** Copies a vector to a place of any block so far or of the next; false = there is no memory. */
  put(place: number, vector: Numbers): boolean {
    const block = Math.floor(place / BLOCK);
    if (block === this.#steps.length && !this.#addBlock()) return false;
    const at = place % BLOCK;
    const stride = this.#stride;
    const copy = new Int8Array(this.#memory.buffer, this.#base + place * stride, stride);
    const step = roughly(vector, this.#centre, MOST_STEPS, copy);
    let [length, rest] = [0, 0];
    for (let index = 0; index < vector.length; index++) {
      const steps = step * (copy[index] as number);
      length += steps * steps;
      rest += ((vector[index] as number) - (this.#centre[index] as number) - steps) ** 2;
    }
    (this.#steps[block] as Float64Array)[at] = step;
    (this.#lengths[block] as Float64Array)[at] = Math.sqrt(length);
    (this.#rests[block] as Float64Array)[at] = Math.sqrt(rest) + TINY;
    return true;
  }

  /** Takes a vector that is searched for, of a length. */
  want(vector: Float64Array, length: number): Wanted {
    const steps = new Int16Array(this.#memory.buffer, 0, this.#stride);
    const step = roughly(vector, undefined, this.#wantedSteps, steps);
    let [ofCentre, rest] = [0, 0];
    for (let index = 0; index < vector.length; index++) {
      const element = vector[index] as number;
      ofCentre += element * (this.#centre[index] as number);
      rest += (element - step * (steps[index] as number)) ** 2;
    }
    return { length: length + TINY, ofCentre, step, rest: Math.sqrt(rest) + TINY };
  }

  /**
   * The products of a block's first rows with the vector that was wanted last: none is more than
   * what stands for it here, until the next call; no finite number where that is not known.
   */
  most(block: number, rows: number, { length, ofCentre, rest, step }: Wanted): Float64Array {
    const stride = this.#stride;
    const out = stride * 2;
    this.#dots(this.#base + block * BLOCK * stride, rows, stride, 0, out);
    const products = new Int32Array(this.#memory.buffer, out, rows);
    const [steps, lengths, rests] = [this.#steps[block], this.#lengths[block], this.#rests[block]] as [
      Float64Array,
      Float64Array,
      Float64Array,
    ];
    for (let at = 0; at < rows; at++) {
      const [ofSteps, ofRest] = [lengths[at] as number, rests[at] as number];
      const rounding = ROUNDING * length * (this.#centreLength + ofSteps + ofRest);
      this.#most[at] = ofCentre + (steps[at] as number) * step * (products[at] as number) + ofSteps * rest + ofRest * length + rounding;
    }
    return this.#most;
  }

  #addBlock(): boolean {
    const bytes = this.#base + (this.#steps.length + 1) * BLOCK * this.#stride;
    const missing = Math.ceil((bytes - this.#memory.buffer.byteLength) / PAGE);
    try {
      if (missing > 0) this.#memory.grow(missing);
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
    for (const list of [this.#steps, this.#lengths, this.#rests]) list.push(new Float64Array(BLOCK));
    return true;
  }
}

/** Bytes that the copy of a vector takes. */
export function bytesOfCopy(size: number): number {
  return strideOf(size) + 3 * 8;
}

/** The mean of vectors that stand one after another. */
export function centreOf(elements: Numbers, size: number): Float64Array {
  const centre = new Float64Array(size);
  const rows = elements.length / size;
  for (let row = 0; row < rows; row++)
    for (let at = 0; at < size; at++) (centre[at] as number) += (elements[row * size + at] as number) / rows;
  return centre;
}

/** Writes a vector as steps from a centre, `most` at most; returns the length of a step. */
function roughly(vector: Numbers, centre: Float64Array | undefined, most: number, steps: Int8Array | Int16Array): number {
  let largest = 0;
  for (let at = 0; at < vector.length; at++) largest = Math.max(largest, Math.abs((vector[at] as number) - (centre?.[at] ?? 0)));
  const step = largest / most;
  if (step < SHORTEST_STEP) {
    steps.fill(0);
    return 0;
  }
  for (let at = 0; at < vector.length; at++) steps[at] = Math.round(((vector[at] as number) - (centre?.[at] ?? 0)) / step);
  return step;
}

function strideOf(size: number): number {
  return Math.ceil(size / 16) * 16;
}
