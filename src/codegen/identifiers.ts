/** Identifiers of generated code: words of a name put together anew, unique, and no keyword. */

import { formatDuration } from "../domain/duration.ts";
import { ALL_WINDOW_MS } from "../domain/name.ts";
import type { Member } from "./feature-model.ts";

/** `created_at` of the words of `createdAt`, `CreatedAt` or `created-at`. */
export function snakeCase(name: string): string {
  return wordsOf(name).join("_");
}

/** `CreatedAt`. */
export function pascalCase(name: string): string {
  return wordsOf(name).map(capitalized).join("");
}

/** `createdAt`. */
export function camelCase(name: string): string {
  const [first = "", ...rest] = wordsOf(name);
  return first + rest.map(capitalized).join("");
}

/** `CREATED_AT`. */
export function screamingCase(name: string): string {
  return snakeCase(name).toUpperCase();
}

function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** The words of a name, in lower case; those of other alphabets stay as they are. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1_$2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1_$2")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .map((word) => word.toLowerCase());
}

/**
 * The name of a member as people say it, for identifiers: `fails_10m` for one window, `code_v2` for
 * a version.
 */
export function spokenName({ name, ...member }: Pick<Member, "name"> & Partial<Member>): string {
  if (member.kind !== "value") return name;
  if (member.window) return `${member.window.base}_${windowText(member.window.seconds)}`;
  return name.includes("@") ? name.replace("@", "_v") : name;
}

/** A window as a user writes it: `10m`, `all`. */
export function windowText(seconds: number): string {
  return seconds * 1000 === ALL_WINDOW_MS ? "all" : formatDuration(seconds * 1000);
}

/** Hands out identifiers of one scope, each once. */
export class Identifiers {
  readonly #taken: Set<string>;
  readonly #fold: (name: string) => string;

  /**
   * @param reserved what is no identifier here, or has a meaning already
   * @param ignoreCase whether names that differ by case alone are one, as on some file systems
   */
  constructor(reserved: Iterable<string>, { ignoreCase = false }: { readonly ignoreCase?: boolean } = {}) {
    this.#fold = ignoreCase ? (name) => name.toLowerCase() : (name) => name;
    this.#taken = new Set([...reserved].map(this.#fold));
  }

  /**
   * The identifier, or one like it when it is taken: a keyword gets an underscore at its end,
   * others
   * the next number. One that would begin with a digit, or be empty, begins with `lead`.
   */
  take(wanted: string, lead = "_"): string {
    const name = /^[\p{L}_$]/u.test(wanted) ? wanted : `${lead}${wanted}`;
    let found = name;
    if (this.#taken.has(this.#fold(found))) found = `${name}_`;
    for (let number = 2; this.#taken.has(this.#fold(found)); number++) found = `${name}${/\d$/.test(name) ? "_" : ""}${number}`;
    this.#taken.add(this.#fold(found));
    return found;
  }
}
