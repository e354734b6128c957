/**
 * Ids: a prefix that names the kind, then a UUIDv7 without dashes, so that ids sort by their time
 * of creation.
 */

/**
 * A new id, for example `dpl_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c`. The prefix is a few lower-case
 * letters.
 */
export function newId(prefix: string, now: number): string {
  return `${prefix}_${Bun.randomUUIDv7("hex", now).replaceAll("-", "")}`;
}
