/** Similarity of two texts or sets, texts by code points. */

import { codePoints } from "./text.ts";

/**
 * The Levenshtein distance: the fewest insertions, deletions and substitutions that turn one text
 * into the other.
 */
export function levenshtein(a: string, b: string): number {
  const [left, right] = [codePoints(a), codePoints(b)];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = (previous[j - 1] as number) + (left[i - 1] === right[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] as number) + 1, (row[j - 1] as number) + 1));
    }
    previous = row;
  }
  return previous[right.length] as number;
}

function jaro(left: readonly string[], right: readonly string[]): number {
  if (left.length === 0 && right.length === 0) return 1;
  const reach = Math.max(0, Math.floor(Math.max(left.length, right.length) / 2) - 1);
  const takenLeft = new Array<boolean>(left.length).fill(false);
  const takenRight = new Array<boolean>(right.length).fill(false);
  let matches = 0;
  for (const [i, character] of left.entries())
    for (let j = Math.max(0, i - reach); j <= Math.min(right.length - 1, i + reach); j++) {
      if (takenRight[j] || right[j] !== character) continue;
      takenLeft[i] = true;
      takenRight[j] = true;
      matches++;
      break;
    }
  if (matches === 0) return 0;
  const matchedRight = right.filter((_, index) => takenRight[index]);
  const swapped = left.filter((_, index) => takenLeft[index]).filter((character, index) => character !== matchedRight[index]).length;
  return (matches / left.length + matches / right.length + (matches - swapped / 2) / matches) / 3;
}

/**
 * Jaro-Winkler similarity, 0 to 1: each of up to four equal characters at the beginning adds a
 * tenth of what is missing.
 */
export function jaroWinkler(a: string, b: string): number {
  const [left, right] = [codePoints(a), codePoints(b)];
  const similarity = jaro(left, right);
  let prefix = 0;
  while (prefix < 4 && prefix < left.length && left[prefix] === right[prefix]) prefix++;
  return similarity + prefix * 0.1 * (1 - similarity);
}

/**
 * The Jaccard similarity, 0 to 1: how many elements both have, of those that either has; 1 when
 * both are empty.
 */
export function jaccard(a: readonly string[], b: readonly string[]): number {
  const [left, right] = [new Set(a), new Set(b)];
  const common = [...left].filter((element) => right.has(element)).length;
  const all = left.size + right.size - common;
  return all === 0 ? 1 : common / all;
}

/** 100 times twice the longest common subsequence of two texts by the sum of their lengths. */
function ratio(left: readonly string[], right: readonly string[]): number {
  const total = left.length + right.length;
  if (total === 0) return 100;
  let previous = new Array<number>(right.length + 1).fill(0);
  for (const character of left) {
    const row = [0];
    for (let j = 1; j <= right.length; j++)
      row.push(character === right[j - 1] ? (previous[j - 1] as number) + 1 : Math.max(previous[j] as number, row[j - 1] as number));
    previous = row;
  }
  return (200 * (previous[right.length] as number)) / total;
}

/**
 * The best similarity, 0 to 100, of the shorter text with a part of the longer one that is as long,
 * or shorter at the ends.
 */
export function partialRatio(a: string, b: string): number {
  const [x, y] = [codePoints(a), codePoints(b)];
  const best = (short: readonly string[], long: readonly string[]): number => {
    if (short.length === 0) return long.length === 0 ? 100 : 0;
    let found = 0;
    for (let end = 1; end < long.length + short.length && found < 100; end++) {
      const part = long.slice(Math.max(0, end - short.length), Math.min(end, long.length));
      found = Math.max(found, ratio(short, part));
    }
    return found;
  };
  if (x.length === y.length) return Math.max(best(x, y), best(y, x));
  return x.length < y.length ? best(x, y) : best(y, x);
}
