/**
 * Completion of words for shells: `svc __complete <words...>`, where the last word is the one being
 * typed. Prints one candidate per line, with its meaning after a tab; the last line tells the shell
 * what else fits: `:files`, `:dirs` or `:none`. `--empty` as the first word means that the word
 * being typed is still empty (for shells that cannot pass an empty word). Names of features,
 * branches and so on come from the server.
 */

import { escapeControls } from "../domain/name.ts";
import type { ServerNoun } from "../domain/server-noun.ts";
import type { AnyCommand, ArgSpecs, FlagSpecs, TreeEntry } from "./command.ts";
import type { Extension } from "./extension.ts";
import type { Flag } from "./flag.ts";
import { globalFlags } from "./globals.ts";
import { isFlagWord, normalizeFlag } from "./name.ts";
import { type FlagTable, flagTable } from "./parse.ts";
import { mayNameExtension, resolve, type Tree } from "./resolve.ts";

/** A word that fits, and its meaning. */
export interface Candidate {
  readonly value: string;
  readonly meaning: string;
}

/** Global flags before the cursor, by key of `globalFlags`. */
export type GivenGlobals = Readonly<Record<string, string>>;

/** Sources of candidates beyond the tree of commands. */
export interface CompletionSources {
  readonly serverNames?: NamesOf;
  readonly extensions?: () => Promise<readonly Extension[]>;
}

/** The names of one kind that the server knows; empty when the server does not answer in time. */
export type NamesOf = (noun: ServerNoun, globals: GivenGlobals) => Promise<readonly Candidate[]>;

interface Completion {
  readonly candidates: readonly Candidate[];
  readonly otherwise: ":files" | ":dirs" | ":none";
}

const NOTHING: Completion = { candidates: [], otherwise: ":none" };
const FILES: Completion = { candidates: [], otherwise: ":files" };

/** The text that answers a shell's request for completions. */
export async function complete(tree: Tree, given: readonly string[], sources: CompletionSources = {}): Promise<string> {
  const words = given[0] === "--empty" ? [...given.slice(1), ""] : given;
  const current = words.at(-1) ?? "";
  const { candidates, otherwise } = await completeWord(tree, words.slice(0, -1), current, sources);
  const fitting = candidates.filter(({ value }) => value.startsWith(current));
  return [...fitting.map(({ value, meaning }) => `${escapeControls(value)}\t${escapeControls(meaning)}`), otherwise]
    .map((line) => `${line}\n`)
    .join("");
}

async function completeWord(
  tree: Tree,
  before: readonly string[],
  current: string,
  { serverNames = async () => [], extensions = async () => [] }: CompletionSources,
): Promise<Completion> {
  if (before.includes("--")) return FILES;
  const [first] = before;
  if (mayNameExtension(tree, first)) return (await extensions()).some(({ name }) => name === first) ? FILES : NOTHING;
  let found: ReturnType<typeof resolve>;
  try {
    found = resolve(tree, before);
  } catch {
    return NOTHING;
  }
  const { path, entry, after } = found;
  const command = (await entry?.load?.())?.default;
  const table = flagTable(command?.flags as FlagSpecs | undefined);
  const awaiting = awaitedFlag(before.at(-1), table);
  const lookUpNames = (noun: ServerNoun) => serverNames(noun, globalsOf(before, table));
  if (awaiting && !awaiting.joined && !(awaiting.optionalValue && isFlagWord(current)))
    return completeValue(awaiting, "", current, lookUpNames);
  if (current.startsWith("-")) return completeFlag(table, current, lookUpNames);
  if (path[0] === "help") return completeVerbs(descend(tree, after));
  const words = after.filter((word, i) => !isFlagWord(word) && !awaitedFlag(after[i - 1], table));
  if (words.length === 0 && (!entry || entry.verbs)) {
    const verbs = completeVerbs(entry ? (entry.verbs ?? {}) : tree);
    const others = before.length === 0 ? await extensions() : [];
    const named = others.map(({ name, path }) => ({ value: name, meaning: `extension: ${path}` }));
    return { ...verbs, candidates: [...verbs.candidates, ...named, ...(await argumentWords(command, 0, lookUpNames))] };
  }
  return { candidates: await argumentWords(command, words.length, lookUpNames), otherwise: ":none" };
}

/** The global flags that select the server, environment and branch. */
function globalsOf(words: readonly string[], table: FlagTable): GivenGlobals {
  const given: Record<string, string> = {};
  for (const [at, word] of words.entries()) {
    if (!isFlagWord(word)) continue;
    const [name = "", ...rest] = word.split("=");
    const entry = table.get(normalizeFlag(name));
    const key = Object.entries(globalFlags).find(([, flag]) => flag === entry?.flag)?.[0];
    const next = words[at + 1];
    const value = rest.length > 0 ? rest.join("=") : next !== undefined && !isFlagWord(next) ? next : undefined;
    if (key !== undefined && value !== undefined) given[key] = value;
  }
  return given;
}

/** The flag whose value is the word after `word`; undefined when no value is expected. */
function awaitedFlag(word: string | undefined, table: FlagTable): Flag<unknown> | undefined {
  if (word === undefined || !isFlagWord(word) || word.includes("=")) return undefined;
  const flag = table.get(normalizeFlag(word))?.flag;
  return flag && flag.type !== "bool" ? flag : undefined;
}

async function completeFlag(table: FlagTable, current: string, lookUpNames: LookUpNames): Promise<Completion> {
  const at = current.indexOf("=");
  if (at > 0) {
    const flag = table.get(normalizeFlag(current.slice(0, at)))?.flag;
    return flag ? completeValue(flag, current.slice(0, at + 1), current.slice(at + 1), lookUpNames) : NOTHING;
  }
  const candidates = [...table]
    .filter(([name, { flag }]) => !flag.hidden && (name.startsWith("--") || current === "-"))
    .map(([value, { flag }]) => ({ value, meaning: flag.meaning }));
  return { candidates, otherwise: ":none" };
}

type LookUpNames = (noun: ServerNoun) => Promise<readonly Candidate[]>;

/**
 * Values of a flag, each with `prefix` (`--name=`) before it; for a comma list, values of the last
 * item. Keys of a `key=value` flag end in `=`.
 */
async function completeValue(flag: Flag<unknown>, prefix: string, current: string, lookUpNames: LookUpNames): Promise<Completion> {
  if (flag.type === "path") return { candidates: [], otherwise: /director|folder/.test(flag.meaning) ? ":dirs" : ":files" };
  if (flag.names !== undefined) {
    const isKey = flag.type === "key=value";
    if (isKey && current.includes("=")) return NOTHING;
    const before = prefix + (flag.split ? current.slice(0, current.lastIndexOf(",") + 1) : "");
    const names = await lookUpNames(flag.names);
    return {
      candidates: names.map(({ value, meaning }) => ({ value: `${before}${value}${isKey ? "=" : ""}`, meaning })),
      otherwise: ":none",
    };
  }
  const values = flag.type === "bool" ? ["true", "false"] : (flag.values ?? []);
  return { candidates: values.map((value) => ({ value: prefix + value, meaning: flag.meaning })), otherwise: ":none" };
}

function completeVerbs(entries: Tree): Completion {
  const visible = Object.entries(entries).filter(([, entry]) => !entry.hidden);
  return { candidates: visible.map(([value, { summary }]) => ({ value, meaning: summary })), otherwise: ":none" };
}

function descend(tree: Tree, words: readonly string[]): Tree {
  let entries: Tree = tree;
  for (const word of words) entries = (entries[word] as TreeEntry | undefined)?.verbs ?? {};
  return entries;
}

async function argumentWords(command: AnyCommand | undefined, at: number, lookUpNames: LookUpNames): Promise<readonly Candidate[]> {
  const specs = Object.values((command?.args ?? {}) as ArgSpecs);
  const arg = specs[at] ?? (specs.at(-1)?.variadic ? specs.at(-1) : undefined);
  if (arg?.names !== undefined) return lookUpNames(arg.names);
  return (arg?.values ?? []).map((value) => ({ value, meaning: arg?.meaning ?? "" }));
}
