/** Command lines as people paste them into a shell. */

/** A word of a command line, quoted where a shell would read more into it. */
export function shellWord(text: string): string {
  return /^[\w/.,:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A command line of these words; those that are undefined are left out. */
export function commandLine(...words: readonly (string | undefined)[]): string {
  return words.flatMap((word) => (word === undefined ? [] : [shellWord(word)])).join(" ");
}
