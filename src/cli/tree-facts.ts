/** The tree of commands, from their files; the binary has the result, not this file. */

import { join, resolve } from "node:path";
import type { Group, TreeMetadata } from "./command.ts";
import { commandFile } from "./command-files.ts";

/**
 * An entry of the tree of commands as data: `TreeEntry` with the path of the command's file instead
 * of the function that loads it.
 */
export interface TreeFacts extends TreeMetadata {
  readonly examples?: Group["examples"];
  /**
   * Path of the command's file relative to the commands folder; absent for a group that runs
   * nothing itself.
   */
  readonly file?: string;
  readonly verbs?: Readonly<Record<string, TreeFacts>>;
}

/** The same with mutable properties, for building it. */
type Draft = { -readonly [K in keyof TreeFacts]: TreeFacts[K] } & { verbs?: Record<string, Draft> };

/** The order in which help lists commands: `order.json` in their folder. */
interface TreeOrder {
  /** Headings of the root help. */
  readonly categories: readonly string[];
  /** First words of paths that come before the others of their heading, in this order. */
  readonly nouns: readonly string[];
  /** Second words of paths that come before the others, in this order. */
  readonly verbs: readonly string[];
}

/**
 * The tree of the commands in a folder, whose path is relative to this file's: sorted by heading,
 * then by the given order, then by name. Commands are read as text, because importing all of them
 * takes longer than most commands run, and a run from source does this at every start. Throws when
 * a command or a group lacks its metadata.
 */
export async function treeFacts(
  folder: string,
): Promise<{ readonly categories: readonly string[]; readonly tree: Readonly<Record<string, TreeFacts>> }> {
  const root = resolve(import.meta.dir, folder);
  const order = (await Bun.file(join(root, "order.json")).json()) as TreeOrder;
  const tree: Draft = { summary: "", verbs: {} };
  for (const file of [...new Bun.Glob("**/*.ts").scanSync(root)].map((path) => path.replaceAll("\\", "/")).sort()) {
    const { role, path } = commandFile(file);
    if (role === "command") Object.assign(entryAt(tree, path), metadataOf(file, await Bun.file(join(root, file)).text()), { file });
    else if (role === "group") Object.assign(entryAt(tree, path), ((await import(join(root, file))) as { default: Group }).default);
  }
  for (const [path, entry] of drafts(tree))
    if (entry.summary === undefined)
      throw new Error(`src/commands/${path} has neither group.ts nor index.ts, and ${path}.ts is no command`);
  const heading = ([, { category = "" }]: readonly [string, TreeFacts]) => order.categories.indexOf(category);
  const nouns = sorted(Object.entries(tree.verbs ?? {}), order.nouns).sort((one, other) => heading(one) - heading(other));
  return { categories: order.categories, tree: Object.fromEntries(nouns.map(([name, entry]) => [name, inOrder(entry, order.verbs)])) };
}

/** The entry with its verbs in order. */
function inOrder({ verbs, ...entry }: TreeFacts, order: readonly string[]): TreeFacts {
  if (!verbs) return entry;
  return { ...entry, verbs: Object.fromEntries(sorted(Object.entries(verbs), order).map(([name, verb]) => [name, inOrder(verb, order)])) };
}

/** Entries with those of `first` in front, in that order; the others by name. */
function sorted<T>(entries: readonly (readonly [string, T])[], first: readonly string[]): (readonly [string, T])[] {
  const rank = (name: string) => (first.includes(name) ? first.indexOf(name) : first.length);
  return [...entries].sort(([one], [other]) => rank(one) - rank(other) || (one < other ? -1 : 1));
}

function entryAt(tree: Draft, path: readonly string[]): Draft {
  let entry = tree;
  for (const word of path) {
    entry.verbs ??= {};
    entry.verbs[word] ??= {} as Draft;
    entry = entry.verbs[word] as Draft;
  }
  return entry;
}

function* drafts(entry: Draft, above = ""): Generator<readonly [path: string, entry: Draft]> {
  for (const [name, below] of Object.entries(entry.verbs ?? {})) {
    const path = above === "" ? name : `${above}/${name}`;
    yield [path, below];
    yield* drafts(below, path);
  }
}

/** The metadata of a command: the properties of its declaration that are literals on one line. */
function metadataOf(file: string, text: string): TreeMetadata {
  const declaration = /^export default defineCommand\(\{\n(.*?)^\}\);/ms.exec(text)?.[1];
  const found = (declaration ?? "").matchAll(/^ {2}(summary|category|aliases|selfVerbs|alsoAt|hidden):\s+(.+),$/gm);
  const words = Object.fromEntries([...found].map(([, key, literal]) => [key, JSON.parse(literal as string)]));
  if (typeof words.summary !== "string") throw new Error(`src/commands/${file} has no \`export default defineCommand({ summary: "..."\``);
  return words as unknown as TreeMetadata;
}
