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
