/** From the tree of commands as data to the tree that finds and loads them. */

import type { AnyCommand, TreeEntry } from "./command.ts";
import type { Tree } from "./resolve.ts";
import type { TreeFacts } from "./tree-facts.ts";

/** Loads the command of a file, given from the folder of all commands. */
export type LoadCommand = (file: string) => Promise<{ default: AnyCommand }>;

/**
 * Makes the facts the tree: each entry that has a command gets what loads it. Nothing is loaded,
 * and nothing copied, because every start does this.
 */
export function plantTree(facts: Readonly<Record<string, TreeFacts>>, load: LoadCommand): Tree {
  for (const name in facts) {
    const entry = facts[name] as TreeFacts & { load?: TreeEntry["load"] };
    const { file, verbs } = entry;
    if (file !== undefined) entry.load = () => load(file);
    if (verbs) plantTree(verbs, load);
  }
  return facts;
}
