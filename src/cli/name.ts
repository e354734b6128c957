/**
 * Names of flags: `dryRun` in a command's declaration is `--dry-run` on the command line, and
 * `--dry_run` means the same.
 */

/** The long form of a flag declared under `key`. */
export function flagName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The normal form of a flag as typed: underscores after the dashes become dashes. */
export function normalizeFlag(typed: string): string {
  const dashes = typed.startsWith("--") ? 2 : 1;
  return typed.slice(0, dashes) + typed.slice(dashes).replaceAll("_", "-");
}

/**
 * Whether a word can be a value although it starts with a dash: `-` itself, a negative number, or a
 * negative duration such as `-24h`.
 */
export function isDashedValue(word: string): boolean {
  return word === "-" || /^-(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(word) || /^-(\d+(\.\d+)?\s*(ms|us|w|d|h|m|s)\s*)+(ago)?$/i.test(word);
}

/** Whether a word is a flag: it starts with a dash and is not a value. */
export function isFlagWord(word: string): boolean {
  return word.startsWith("-") && !isDashedValue(word);
}
