/** Offsets in the text of a statement, and comparable columns. */

/** UTF-16 offset of the n-th character (code point, from 0); undefined when the text is shorter. */
export function utf16Offset(text: string, codePoints: number): number | undefined {
  let offset = 0;
  for (const character of text) {
    if (codePoints-- <= 0) return offset;
    offset += character.length;
  }
  return codePoints === 0 ? offset : undefined;
}

/**
 * UTF-16 offset of the first occurrence of a text as a whole word; undefined when there is none.
 */
export function wordOffset(statement: string, text: string): number | undefined {
  const [before, behind] = [/^\w/, /\w$/].map((edge) => (edge.test(text) ? "\\b" : ""));
  const offset = statement.search(new RegExp(`${before}${RegExp.escape(text)}${behind}`));
  return offset < 0 ? undefined : offset;
}

/** Types of comparable columns, by name; a name of several columns is left out. */
export function comparable<T>(names: readonly string[], types: readonly number[], typeOf: (type: number) => T | undefined): Map<string, T> {
  const found = new Map<string, T>();
  for (const [position, name] of names.entries()) {
    const type = typeOf(types[position] as number);
    if (type !== undefined && names.indexOf(name) === names.lastIndexOf(name)) found.set(name, type);
  }
  return found;
}
