/** From the tree of commands as data to the tree that finds and loads them. */

import type { AnyCommand, TreeEntry } from "./command.ts";
import type { Tree } from "./resolve.ts";
import type { TreeFacts } from "./tree-facts.ts";

/** Loads a command by the path of its file relative to the commands folder. */
export type LoadCommand = (file: string) => Promise<{ default: AnyCommand }>;

/**
 * Turns the data into the tree, in place: each entry with a command gets its `load` function.
 * Nothing is loaded and nothing copied, because every start does this.
 */
export function attachLoaders(facts: Readonly<Record<string, TreeFacts>>, load: LoadCommand): Tree {
  for (const name in facts) {
    const entry = facts[name] as TreeFacts & { load?: TreeEntry["load"] };
    const { file, verbs } = entry;
    if (file !== undefined) entry.load = () => load(file);
    if (verbs) attachLoaders(verbs, load);
  }
  return facts;
}
