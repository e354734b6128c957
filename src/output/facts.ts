/** Facts about one thing, one below the other. */

/** The name of a fact, and its text: visible, marked at will, of one line or several. */
export type Fact = readonly [name: string, text: string];

/** Facts with their texts in one column, further lines of a text below its beginning. */
export function factLines(facts: readonly Fact[]): string {
  const width = Math.max(0, ...facts.map(([name]) => name.length)) + 2;
  const indent = `\n${" ".repeat(width)}`;
  return facts.map(([name, text]) => `${name}:`.padEnd(width) + text.replaceAll("\n", indent)).join("\n");
}
