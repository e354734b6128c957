/**
 * How many different values there are: the hashes themselves as long as they are few, then
 * HyperLogLog.
 *
 * Flajolet, Fusy, Gandouet, Meunier: "HyperLogLog: the analysis of a near-optimal cardinality
 * estimation algorithm" (2007), with the estimator of Ertl: "New cardinality estimation algorithms
 * for HyperLogLog sketches" (2017, algorithm 6), which needs neither tables nor a change of
 * formulas.
 *
 * The state is a function of the set of values alone, so that values may come in any order, be
 * repeated, and be merged in any grouping. Up to `FEW` values the count is exact; beyond, its
 * standard error is 1.04 / sqrt(2048) = 2.3%.
 */

import { DamagedState } from "../expressions/state-bytes.ts";
import type { FeatureValue } from "../value.ts";
import { HASH_BITS, hashOf } from "./hash.ts";
import { opened, SKETCH_KINDS, sealed, stateOf } from "./sealed.ts";

/** Most different values that are counted exactly. */
export const FEW = 256;

/** The standard error of larger counts, relative to the count. */
export const DISTINCT_ERROR = 1.04 / Math.sqrt(2048);

const INDEX_BITS = 11;
const REGISTERS = 2 ** INDEX_BITS;
/** Bits of a hash that a register counts leading zeros of. */
const RANK_BITS = HASH_BITS - INDEX_BITS;
const RANK_RANGE = 2 ** RANK_BITS;

/** A count of different values. */
export class DistinctSketch {
  /** The hashes; undefined once they are more than `FEW`. */
  #few: Set<number> | undefined = new Set();
  /** By the first bits of hashes, the most leading zeros of the others, plus one. */
  #registers = new Uint8Array(0);

  add(value: FeatureValue): void {
    this.#addHash(hashOf(value));
  }

  /** Throws DamagedState. */
  merge(state: Uint8Array): void {
    const reader = opened(SKETCH_KINDS.distinct, state);
    const form = reader.byte();
    if (form > 1) throw new DamagedState("the form of a state is none");
    if (form === 0) {
      const hashes = Array.from({ length: bounded(reader.count(), FEW) }, () => reader.float());
      reader.end();
      if (hashes.some((hash, at) => !Number.isSafeInteger(hash) || hash < 0 || hash <= (hashes[at - 1] ?? -1)))
        throw new DamagedState("the hashes of a state are none");
      for (const hash of hashes) this.#addHash(hash);
      return;
    }
    const registers = reader.bytes();
    reader.end();
    if (registers.length !== REGISTERS) throw new DamagedState("a state has other registers");
    this.#toRegisters();
    for (let index = 0; index < REGISTERS; index++) {
      const rank = registers[index] as number;
      if (rank > RANK_BITS + 1) throw new DamagedState("a register of a state is too large");
      if (rank > (this.#registers[index] as number)) this.#registers[index] = rank;
    }
  }

  encode(): Uint8Array {
    const writer = stateOf(SKETCH_KINDS.distinct);
    writer.byte(this.#few ? 0 : 1);
    if (this.#few) {
      writer.natural(this.#few.size);
      for (const hash of [...this.#few].sort((a, b) => a - b)) writer.float(hash);
    } else writer.bytes(this.#registers);
    return sealed(writer);
  }

  /** The count, rounded. */
  result(): number {
    return this.#few ? this.#few.size : Math.round(estimate(this.#registers));
  }

  #addHash(hash: number): void {
    if (this.#few) {
      this.#few.add(hash);
      if (this.#few.size > FEW) this.#toRegisters();
    } else this.#register(hash);
  }

  #toRegisters(): void {
    if (!this.#few) return;
    const hashes = this.#few;
    this.#few = undefined;
    this.#registers = new Uint8Array(REGISTERS);
    for (const hash of hashes) this.#register(hash);
  }

  #register(hash: number): void {
    const index = Math.floor(hash / RANK_RANGE);
    const rank = rankOf(hash % RANK_RANGE);
    if (rank > (this.#registers[index] as number)) this.#registers[index] = rank;
  }
}

/** The number of leading zeros among `RANK_BITS`, plus one. */
function rankOf(bits: number): number {
  const high = Math.floor(bits / 2 ** 32);
  const zeros = high > 0 ? Math.clz32(high) - (64 - RANK_BITS) : RANK_BITS - 32 + Math.clz32(bits >>> 0);
  return zeros + 1;
}

function bounded(length: number, most: number): number {
  if (length > most) throw new DamagedState("a state has too many values");
  return length;
}

function estimate(registers: Uint8Array): number {
  const counts = new Array<number>(RANK_BITS + 2).fill(0);
  for (const rank of registers) counts[rank] = (counts[rank] as number) + 1;
  let sum = REGISTERS * tau(1 - (counts[RANK_BITS + 1] as number) / REGISTERS);
  for (let rank = RANK_BITS; rank >= 1; rank--) sum = 0.5 * (sum + (counts[rank] as number));
  sum += REGISTERS * sigma((counts[0] as number) / REGISTERS);
  return REGISTERS ** 2 / (2 * Math.LN2) / sum;
}

/** The sum over registers that no value has reached; `x` is their share. */
function sigma(x: number): number {
  if (x === 1) return Number.POSITIVE_INFINITY;
  let [power, weight, sum] = [x, 1, x];
  for (let before = Number.NaN; sum !== before; ) {
    before = sum;
    power *= power;
    sum += power * weight;
    weight *= 2;
  }
  return sum;
}

/** The sum over registers that are full; `x` is the share of the others. */
function tau(x: number): number {
  if (x === 0 || x === 1) return 0;
  let [root, weight, sum] = [x, 1, 1 - x];
  for (let before = Number.NaN; sum !== before; ) {
    before = sum;
    root = Math.sqrt(root);
    weight *= 0.5;
    sum -= (1 - root) ** 2 * weight;
  }
  return sum / 3;
}
