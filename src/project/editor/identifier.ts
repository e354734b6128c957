/** Names in a text, as Python writes them: letters of any script. */

/** Longest path that is looked at: a line can have any length. */
const LONGEST = 500;

/** The part of a name that ends where the text ends. */
export function nameBefore(text: string): string {
  return /\p{ID_Continue}*$/u.exec(text.slice(-LONGEST))?.[0] ?? "";
}

/** The part of a name that begins at an offset. */
export function nameFrom(text: string, offset: number): string {
  return /^\p{ID_Continue}*/u.exec(text.slice(offset, offset + LONGEST))?.[0] ?? "";
}

/**
 * The names of the path `a.b.c` that ends where the text ends; the last may be empty or the
 * beginning of one.
 */
export function pathBefore(text: string): string[] {
  return (/[\p{ID_Continue}.]*$/u.exec(text.slice(-LONGEST))?.[0] ?? "").split(".");
}

/** Source of a regular expression (with the flag u) for a name that is no part of a longer one. */
export function wholeName(name: string): string {
  return `(?<!\\p{ID_Continue})${RegExp.escape(name)}(?!\\p{ID_Continue})`;
}
