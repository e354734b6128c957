/** A search for words in short texts, best matches first. */

/** A text of something that is searched. */
export interface SearchField {
  readonly text: string;
  /** How much a word in it says about the whole; a title more than an example. */
  readonly weight: number;
}

/** Something that is searched, with its texts. */
export interface SearchEntry<T> {
  readonly value: T;
  readonly fields: readonly SearchField[];
}

/** Something that was found. */
export interface SearchHit<T> {
  readonly value: T;
  /** Greater is better; comparable within one search. */
  readonly score: number;
  /** The text that has most of the words. */
  readonly best: string;
}

/** What a word that only begins with a wanted one counts. */
const PREFIX_SHARE = 0.5;
/** Shortest wanted word that may be the beginning of another. */
const LEAST_PREFIX = 3;

/**
 * The entries that have at least half of the words, those with more of them first, then the best;
 * equal ones stay in their order. Case and the endings of plurals do not matter; words that few
 * entries have count for more.
 */
export function rankedSearch<T>(entries: readonly SearchEntry<T>[], query: string): SearchHit<T>[] {
  const wanted = [...new Set(wordsOf(query))];
  if (wanted.length === 0) return [];
  const read = entries.map(({ value, fields }) => {
    const known = fields.map(({ text, weight }) => ({ text, weight, words: new Set(wordsOf(text)) }));
    const values = wanted.map((word) => Math.max(0, ...known.map(({ weight, words }) => weight * share(word, words))));
    return { value, known, values, matched: values.filter((one) => one > 0).length };
  });
  const rarity = wanted.map((_, at) => Math.log(1 + read.length / (1 + read.filter(({ values }) => (values[at] ?? 0) > 0).length)));
  return read
    .filter(({ matched }) => matched > 0 && matched * 2 >= wanted.length)
    .map(({ value, known, matched, values }) => ({
      value,
      matched,
      score: values.reduce((sum, one, at) => sum + one * (rarity[at] ?? 0), 0),
      best: known.reduce((best, field) => (count(wanted, field.words) > count(wanted, best.words) ? field : best), known[0] ?? NOTHING)
        .text,
    }))
    .sort((one, other) => other.matched - one.matched || other.score - one.score)
    .map(({ matched: _, ...hit }) => hit);
}

const NOTHING = { text: "", words: new Set<string>() };

function count(wanted: readonly string[], words: ReadonlySet<string>): number {
  return wanted.reduce((sum, word) => sum + share(word, words), 0);
}

/** 1 when a word is there, less when another one begins with it, else 0. */
function share(wanted: string, words: ReadonlySet<string>): number {
  if (words.has(wanted)) return 1;
  if (wanted.length < LEAST_PREFIX) return 0;
  for (const word of words) if (word.startsWith(wanted)) return PREFIX_SHARE;
  return 0;
}

/** The words of a text in small letters, without the ending of a plural. */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) =>
    word.length > 3 && word.endsWith("ies") ? `${word.slice(0, -3)}y` : word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word,
  );
}
