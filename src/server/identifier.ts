/**
 * Ids: a prefix that names the kind, then a UUIDv7 without dashes, so that ids sort by their time
 * of creation.
 */

/** The kinds of things with ids. */
export type IdPrefix =
  | "team"
  | "prj"
  | "env"
  | "client"
  | "login"
  | "ses"
  | "upl"
  | "dpl"
  | "job"
  | "node"
  | "req"
  | "whk"
  | "int"
  | "sec"
  | "cred"
  | "sc"
  | "osc"
  | "st"
  | "flr"
  | "fbk"
  | "prc";

/** A new id, for example `dpl_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c`. */
export function newId(prefix: IdPrefix, now: number): string {
  return `${prefix}_${Bun.randomUUIDv7("hex", now).replaceAll("-", "")}`;
}
