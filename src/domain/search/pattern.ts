/**
 * Texts that consist of literal parts in order, with anything between them. In any case, a letter
 * is itself, its small and its capital letter, where those are one character each: what SQLite can
 * be told to do too.
 */

/** Whether all of a text is the parts in order; takes the product of the lengths in steps. */
export function fits(text: string, parts: readonly string[], anyCase: boolean): boolean {
  const letters = [...text];
  const wanted = parts.map((part) => [...part].map((letter) => (anyCase ? formsOf(letter) : [letter])));
  const [first = [], ...others] = wanted;
  const last = others.pop();
  if (!last) return letters.length === first.length && isAt(letters, first, 0);
  const end = letters.length - last.length;
  if (end < first.length || !isAt(letters, first, 0) || !isAt(letters, last, end)) return false;
  let at = first.length;
  for (const part of others) {
    while (at + part.length <= end && !isAt(letters, part, at)) at++;
    if (at + part.length > end) return false;
    at += part.length;
  }
  return true;
}

/** A letter with its small and its capital one, each once. */
export function formsOf(letter: string): string[] {
  const others = [letter.toLowerCase(), letter.toUpperCase()].filter((form) => [...form].length === 1);
  return [...new Set([letter, ...others])];
}

function isAt(letters: readonly string[], part: readonly (readonly string[])[], at: number): boolean {
  return part.every((forms, nth) => forms.includes(letters[at + nth] as string));
}
