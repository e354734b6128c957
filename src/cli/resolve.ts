/** Finding the command that argv names in the static tree; loads nothing. */

import { closestNames, didYouMean } from "../domain/closest.ts";
import { UsageError } from "../errors/cli-error.ts";
import type { TreeEntry } from "./command.ts";
import { isFlagWord } from "./name.ts";
import { type FlagTable, flagSpan, flagTable } from "./parse.ts";
import { quoted } from "./value.ts";

/** Entries by name, as declared in `src/commands/index.ts`. */
export type Tree = Readonly<Record<string, TreeEntry>>;

/** The result of resolving argv. */
export interface Resolved {
  /** Canonical words of the path; empty for the root. */
  readonly path: readonly string[];
  /** The entry; undefined for the root. */
  readonly entry: TreeEntry | undefined;
  /** Global flags and their values that stood before the end of the path. */
  readonly before: readonly string[];
  /** Everything after the path. */
  readonly after: readonly string[];
}

/** The plural of a singular group name, or the singular of a plural one: both are accepted. */
function singularOrPlural(name: string): string[] {
  if (name.endsWith("ies")) return [`${name.slice(0, -3)}y`];
  if (/(s|x|z|ch|sh)es$/.test(name)) return [name.slice(0, -2), name.slice(0, -1)];
  if (name.endsWith("s")) return [name.slice(0, -1)];
  if (/[^aeiou]y$/.test(name)) return [`${name.slice(0, -1)}ies`];
  return [/(s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`];
}

const isGroup = (entry: TreeEntry): boolean => entry.verbs !== undefined || entry.selfVerbs !== undefined;

/**
 * The entry that a word names among `entries`: by name, by alias, or a group by its singular or
 * plural.
 */
export function findEntry(entries: Tree, word: string): { name: string; entry: TreeEntry } | undefined {
  if (Object.hasOwn(entries, word)) return { name: word, entry: entries[word] as TreeEntry };
  for (const [name, entry] of Object.entries(entries)) if (entry.aliases?.includes(word)) return { name, entry };
  for (const [name, entry] of Object.entries(entries)) {
    if (isGroup(entry) && singularOrPlural(name).includes(word)) return { name, entry };
  }
  return undefined;
}

/** The entry that words mean at another place of the tree, with its own path. */
function findElsewhere(tree: Tree, above: readonly string[], word: string): { path: readonly string[]; entry: TreeEntry } | undefined {
  const words = [...above, word].join(" ");
  return above.length === 0 ? undefined : walk(tree).find(({ entry }) => entry.alsoAt?.includes(words));
}

/**
 * Whether a word can name an extension (`extension.ts`): not a command of svc, a path or a flag,
 * and without control characters.
 */
export function mayNameExtension(tree: Tree, word: string | undefined): word is string {
  return word !== undefined && /^[a-z0-9]+([_-][a-z0-9]+)*$/.test(word) && findEntry(tree, word) === undefined;
}

/**
 * Follows words down the tree; flags are not allowed. For `svc help <path>`. Throws UsageError for
 * a word that names nothing.
 */
export function followPath(tree: Tree, words: readonly string[]): Pick<Resolved, "path" | "entry"> {
  let path: string[] = [];
  let entry: TreeEntry | undefined;
  for (const word of words) {
    if (entry?.selfVerbs?.includes(word)) continue;
    const found = findEntry(entry ? (entry.verbs ?? {}) : tree, word);
    const elsewhere = found ? undefined : findElsewhere(tree, path, word);
    if (!found && !elsewhere) throw unknownCommand(tree, path, word);
    path = elsewhere ? [...elsewhere.path] : [...path, found?.name ?? ""];
    entry = (found ?? elsewhere)?.entry;
  }
  return { path, entry };
}

/**
 * The command that argv names. Throws UsageError when the first word that is not a flag names no
 * command.
 */
export function resolve(tree: Tree, argv: readonly string[]): Resolved {
  const globals = flagTable();
  let path: string[] = [];
  let entry: TreeEntry | undefined;
  let entries: Tree | undefined = tree;
  let end = 0;
  const before: string[] = [];
  const pending: string[] = [];
  for (let i = 0; i < argv.length; ) {
    const word = argv[i] as string;
    if (word === "--") break;
    if (isFlagWord(word)) {
      const span = flagSpan(argv, i, globals);
      if (span === 0) break;
      pending.push(...argv.slice(i, i + span));
      i += span;
      continue;
    }
    const isSelf = entry?.selfVerbs?.includes(word) ?? false;
    const found: ReturnType<typeof findEntry> = isSelf || !entries ? undefined : findEntry(entries, word);
    const elsewhere = found || isSelf ? undefined : findElsewhere(tree, path, word);
    if (!found && !elsewhere && !isSelf) {
      if (entry?.load) break;
      throw unknownCommand(tree, path, word, commandTakenAsValue(argv.slice(0, i), tree, globals));
    }
    if (found || elsewhere) {
      path = elsewhere ? [...elsewhere.path] : [...path, found?.name ?? ""];
      entry = (found ?? elsewhere)?.entry as TreeEntry;
      entries = isGroup(entry) ? (entry.verbs ?? {}) : undefined;
    }
    before.push(...pending.splice(0));
    end = ++i;
    if (isSelf || !entries) break;
  }
  return { path, entry, before, after: argv.slice(end) };
}

/**
 * A command's name that a flag took as its value, as in `svc --branch apply`; undefined when there
 * is none.
 */
export function commandTakenAsValue(words: readonly string[], tree: Tree, globals: FlagTable = flagTable()): string | undefined {
  for (let i = 0; i < words.length; i++) {
    if (!isFlagWord(words[i] as string)) continue;
    if (flagSpan(words, i, globals) === 2 && findEntry(tree, words[i + 1] as string)) return `${words[i]} ${words[i + 1]}`;
  }
  return undefined;
}

/** Every path of the tree with its entry, groups included, in order. */
export function* walk(tree: Tree, above: readonly string[] = []): Generator<{ path: readonly string[]; entry: TreeEntry }> {
  for (const [name, entry] of Object.entries(tree)) {
    const path = [...above, name];
    yield { path, entry };
    if (entry.verbs) yield* walk(entry.verbs, path);
  }
}

/** The error for a word that names no command below `path`. */
export function unknownCommand(tree: Tree, path: readonly string[], word: string, swallowed?: string): UsageError {
  const parent = path.length === 0 ? undefined : followPath(tree, path).entry;
  const siblings = Object.entries(parent ? (parent.verbs ?? {}) : tree).filter(([, entry]) => !entry.hidden);
  const names = siblings.flatMap(([name, entry]) => [name, ...(entry.aliases ?? [])]);
  const full = (name: string) => `'svc ${[...path, name].join(" ")}'`;
  let close = didYouMean(word, names, full);
  if (!close && path.length === 0) {
    const sameVerb = [...walk(tree)].filter(({ path: words }) => words.length > 1 && closestNames(word, words.slice(-1)).length > 0);
    const found = sameVerb.slice(0, 3).map(({ path: words }) => full(words.join(" ")));
    if (found.length > 0) close = `did you mean ${found.join(" or ")}?`;
  }
  const hint = swallowed
    ? `${swallowed} was read as a flag and its value; put the flag after the command.`
    : `Run \`svc ${[...path, "--help"].join(" ")}\` to see the commands.`;
  return new UsageError(`unknown command ${quoted(["svc", ...path, word].join(" "))}${close && `; ${close}`}`, { hint });
}
