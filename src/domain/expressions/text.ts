/** Text by code points. */

const SURROGATE = /[\ud800-\udfff]/;
/** Characters that Python's `str.strip` removes, as a class of a regular expression. */
const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const LEADING = new RegExp(`^${SPACE}+`);
const TRAILING_CHARACTER = new RegExp(SPACE);

/** The code points of a text, each as text. */
export function codePoints(text: string): readonly string[] {
  return SURROGATE.test(text) ? [...text] : text.split("");
}

/** Number of code points of a text. */
export function textLength(text: string): number {
  return SURROGATE.test(text) ? [...text].length : text.length;
}

/**
 * The part from one code point up to another, by Python's rules for slices: negative positions
 * count from the end, and positions beyond the text are moved to its ends.
 */
export function sliceText(text: string, start: number, end: number | undefined): string {
  return SURROGATE.test(text) ? [...text].slice(start, end).join("") : text.slice(start, end);
}

/** The text without white space at its beginning. */
export function trimStart(text: string): string {
  return text.replace(LEADING, "");
}

/** The text without white space at its end. */
export function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && TRAILING_CHARACTER.test(text[end - 1] as string)) end--;
  return text.slice(0, end);
}

/**
 * Whether a text matches a pattern in which `%` stands for any text and `_` for one code point; `\`
 * before a character makes it stand for itself.
 */
export function isLike(text: string, pattern: string): boolean {
  const wanted: (string | 0 | 1)[] = [];
  const characters = codePoints(pattern);
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index] as string;
    if (character === "\\" && index + 1 < characters.length) wanted.push(characters[++index] as string);
    else wanted.push(character === "%" ? 0 : character === "_" ? 1 : character);
  }
  const given = codePoints(text);
  let [at, step, star, mark] = [0, 0, -1, 0];
  while (at < given.length) {
    const next = wanted[step];
    if (next === 0) {
      star = step++;
      mark = at;
    } else if (next === 1 || (next !== undefined && next === given[at])) {
      at++;
      step++;
    } else if (star >= 0) {
      step = star + 1;
      at = ++mark;
    } else return false;
  }
  while (wanted[step] === 0) step++;
  return step === wanted.length;
}
