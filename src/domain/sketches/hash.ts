/**
 * Hashes of values, the same in every process and for ever: states that are kept depend on them.
 * MurmurHash3 by Austin Appleby, in its variant of 32 bits.
 */

import { identity } from "../expressions/compare.ts";
import type { FeatureValue } from "../value.ts";

const [FIRST, SECOND] = [0xcc9e2d51, 0x1b873593];
const [HIGH_SEED, LOW_SEED] = [0x2f0b4c47, 0x9747b28c];
const floats = new DataView(new ArrayBuffer(8));

/** The bits of a hash of `hashOf`. */
export const HASH_BITS = 53;

/**
 * A hash of 53 bits: the same for equal values of a type, where NaN equals itself. Decimals are
 * given in their canonical form.
 */
export function hashOf(value: FeatureValue): number {
  if (typeof value === "number") {
    floats.setFloat64(0, value === 0 ? 0 : value);
    const [high, low] = [floats.getUint32(0), floats.getUint32(4)];
    return joined(ofWords(high, low, HIGH_SEED), ofWords(high, low, LOW_SEED));
  }
  if (typeof value === "string") return joined(ofText(value, HIGH_SEED), ofText(value, LOW_SEED));
  const text = identity(value);
  return joined(ofText(text, ~HIGH_SEED), ofText(text, ~LOW_SEED));
}

/** The hash of bytes. */
export function hash32(bytes: Uint8Array, seed: number): number {
  let hash = seed;
  const whole = bytes.length - (bytes.length % 4);
  for (let at = 0; at < whole; at += 4)
    hash = mixed(
      hash,
      (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 24),
    );
  let rest = 0;
  for (let at = bytes.length - 1; at >= whole; at--) rest = (rest << 8) | (bytes[at] as number);
  return finished(hash ^ scrambled(rest), bytes.length);
}

function joined(high: number, low: number): number {
  return high * 2 ** 21 + (low >>> 11);
}

function ofWords(high: number, low: number, seed: number): number {
  return finished(mixed(mixed(seed, low), high), 8);
}

function ofText(text: string, seed: number): number {
  let hash = seed;
  const whole = text.length & ~1;
  for (let at = 0; at < whole; at += 2) hash = mixed(hash, text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16));
  if (whole < text.length) hash ^= scrambled(text.charCodeAt(whole));
  return finished(hash, 2 * text.length);
}

function scrambled(block: number): number {
  const product = Math.imul(block, FIRST);
  return Math.imul((product << 15) | (product >>> 17), SECOND);
}

function mixed(hash: number, block: number): number {
  const next = hash ^ scrambled(block);
  return (Math.imul((next << 13) | (next >>> 19), 5) + 0xe6546b64) | 0;
}

function finished(hash: number, length: number): number {
  let bits = hash ^ length;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
