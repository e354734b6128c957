/** Lists of what uses something, in messages. */

const MAX_SHOWN = 5;

/** The names of things with what they are: `the environments 'a', 'b'`. */
export function named(noun: string, things: readonly { readonly name: string }[]): string {
  const shown = things.slice(0, MAX_SHOWN).map(({ name }) => `'${name}'`);
  const more = things.length > shown.length ? [`${things.length - shown.length} more`] : [];
  return `the ${noun}${things.length > 1 ? "s" : ""} ${[...shown, ...more].join(", ")}`;
}
