/** Whether a line has the key of a row in it. */

/** A word, a number with a sign, or several joined by what ids and addresses are joined by. */
const WORD = /-?[\p{L}\p{N}_]+/gu;

/** Whether one of the keys is a word of a text, or stands in it when it is more than a word. */
export function mentionsKey(text: string, keys: ReadonlySet<string>): boolean {
  for (const [word] of text.matchAll(WORD)) if (keys.has(word) || (word.startsWith("-") && keys.has(word.slice(1)))) return true;
  for (const key of compound(keys)) if (text.includes(key)) return true;
  return false;
}

const compounds = new WeakMap<ReadonlySet<string>, readonly string[]>();

/** The keys that are more than a word. */
function compound(keys: ReadonlySet<string>): readonly string[] {
  const known = compounds.get(keys) ?? [...keys].filter((key) => key !== "" && !/^-?[\p{L}\p{N}_]+$/u.test(key));
  compounds.set(keys, known);
  return known;
}
