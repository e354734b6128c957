/** Which partition a message goes to: as Kafka's own clients choose it by the key. */

const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;
const POSITIVE = 0x7fffffff;

/** The partition of a key. */
export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & POSITIVE) % partitions;
}

/** MurmurHash2 with Kafka's seed, as a signed number of 32 bits. */
export function murmur2(bytes: Uint8Array): number {
  const { length } = bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  let hash = SEED ^ length;
  const whole = length - (length % 4);
  for (let at = 0; at < whole; at += 4) {
    let word = Math.imul(view.getInt32(at, true), MULTIPLIER);
    word ^= word >>> 24;
    hash = Math.imul(hash, MULTIPLIER) ^ Math.imul(word, MULTIPLIER);
  }
  const rest = length - whole;
  if (rest === 3) hash ^= view.getUint8(whole + 2) << 16;
  if (rest >= 2) hash ^= view.getUint8(whole + 1) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ view.getUint8(whole), MULTIPLIER);
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return hash ^ (hash >>> 15);
}
