/**
 * Completing words for shells: `svc __complete <words...>`, where the last word is the one being typed. One candidate a line, a tab, its meaning;
 * the last line tells the shell what else fits: `:files`, `:dirs` or `:none`. With `--empty` first, nothing of the word was typed yet (shells that
 * cannot pass an empty word).
 */

import type { AnyCommand, ArgSpecs, FlagSpecs, TreeEntry } from "./command.ts";
import type { Flag } from "./flag.ts";
import { isFlagWord, normalizeFlag } from "./name.ts";
import { type FlagTable, flagTable } from "./parse.ts";
import { resolve, type Tree } from "./resolve.ts";

interface Candidate {
  readonly value: string;
  readonly meaning: string;
}

interface Completion {
  readonly candidates: readonly Candidate[];
  readonly otherwise: ":files" | ":dirs" | ":none";
}

const NOTHING: Completion = { candidates: [], otherwise: ":none" };

/** Answers a shell. */
export async function complete(tree: Tree, given: readonly string[]): Promise<string> {
  const words = given[0] === "--empty" ? [...given.slice(1), ""] : given;
  const current = words.at(-1) ?? "";
  const { candidates, otherwise } = await completeWord(tree, words.slice(0, -1), current);
  const fitting = candidates.filter(({ value }) => value.startsWith(current));
  return [...fitting.map(({ value, meaning }) => `${value}\t${meaning}`), otherwise].map((line) => `${line}\n`).join("");
}

async function completeWord(tree: Tree, before: readonly string[], current: string): Promise<Completion> {
  if (before.includes("--")) return { candidates: [], otherwise: ":files" };
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
  if (awaiting) return completeValue(awaiting, "");
  if (current.startsWith("-")) return completeFlag(table, current);
  if (path[0] === "help") return completeVerbs(descend(tree, after));
  const words = after.filter((word, i) => !isFlagWord(word) && !awaitedFlag(after[i - 1], table));
  if (words.length === 0 && (!entry || entry.verbs)) {
    const verbs = completeVerbs(entry ? (entry.verbs ?? {}) : tree);
    return { ...verbs, candidates: [...verbs.candidates, ...argumentWords(command, 0)] };
  }
  return { candidates: argumentWords(command, words.length), otherwise: ":none" };
}

/** The flag that a word leaves waiting for its value. */
function awaitedFlag(word: string | undefined, table: FlagTable): Flag<unknown> | undefined {
  if (word === undefined || !isFlagWord(word) || word.includes("=")) return undefined;
  const flag = table.get(normalizeFlag(word))?.flag;
  return flag && flag.type !== "bool" && !flag.optionalValue ? flag : undefined;
}

function completeFlag(table: FlagTable, current: string): Completion {
  const at = current.indexOf("=");
  if (at > 0) {
    const flag = table.get(normalizeFlag(current.slice(0, at)))?.flag;
    return flag ? completeValue(flag, current.slice(0, at + 1)) : NOTHING;
  }
  const candidates = [...table]
    .filter(([name, { flag }]) => !flag.hidden && (name.startsWith("--") || current === "-"))
    .map(([value, { flag }]) => ({ value, meaning: flag.meaning }));
  return { candidates, otherwise: ":none" };
}

function completeValue(flag: Flag<unknown>, prefix: string): Completion {
  if (flag.type === "path") return { candidates: [], otherwise: /director|folder/.test(flag.meaning) ? ":dirs" : ":files" };
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

function argumentWords(command: AnyCommand | undefined, at: number): Candidate[] {
  const specs = Object.values((command?.args ?? {}) as ArgSpecs);
  const arg = specs[at] ?? (specs.at(-1)?.variadic ? specs.at(-1) : undefined);
  return (arg?.values ?? []).map((value) => ({ value, meaning: arg?.meaning ?? "" }));
}
