/** The little that must be known of a statement's text: how many parameters it has, and where a database's position lies in it. */

const SKIPPED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|\/\*[\s\S]*?\*\/|(\$[A-Za-z_]\w*\$|\$\$)[\s\S]*?\1|\$(\d+)|(\?)/g;

/** Number of parameters: the highest `$n`, or how many `?` there are. Strings, quoted names and comments are passed over. */
export function countParameters(statement: string): number {
  let count = 0;
  for (const match of statement.matchAll(SKIPPED)) {
    if (match[2] !== undefined) count = Math.max(count, Number(match[2]));
    else if (match[3] !== undefined) count++;
  }
  return count;
}

/** The statement without blanks and semicolons at its end, so that it can stand in parentheses. */
export function withoutTerminator(statement: string): string {
  return statement.replace(/[\s;]+$/, "");
}

/** UTF-16 offset of the n-th character (code point, from 0); undefined when the text is shorter. */
export function utf16Offset(text: string, codePoints: number): number | undefined {
  let offset = 0;
  for (const character of text) {
    if (codePoints-- <= 0) return offset;
    offset += character.length;
  }
  return codePoints === 0 ? offset : undefined;
}

/** Where a text first stands that is no part of a longer word; undefined when it does not. */
export function wordOffset(statement: string, text: string): number | undefined {
  const [before, behind] = [/^\w/, /\w$/].map((edge) => (edge.test(text) ? "\\b" : ""));
  const offset = statement.search(new RegExp(`${before}${RegExp.escape(text)}${behind}`));
  return offset < 0 ? undefined : offset;
}

/** Columns that can be compared, by name; of a name that stands for several columns nothing is known. */
export function comparable<T>(names: readonly string[], types: readonly number[], typeOf: (type: number) => T | undefined): Map<string, T> {
  const found = new Map<string, T>();
  for (const [position, name] of names.entries()) {
    const type = typeOf(types[position] as number);
    if (type !== undefined && names.indexOf(name) === names.lastIndexOf(name)) found.set(name, type);
  }
  return found;
}
