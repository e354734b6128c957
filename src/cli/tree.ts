/** From the tree of commands as data to the tree that finds and loads them. */

import type { AnyCommand, TreeEntry } from "./command.ts";
import type { Tree } from "./resolve.ts";
import type { TreeFacts } from "./tree-facts.ts";

/** In which order help lists commands. */
export interface TreeOrder {
  /** Headings of the root help. */
  readonly categories: readonly string[];
  /** First words that come before the others of their heading, in this order. */
  readonly nouns: readonly string[];
  /** Words behind them that come before the others, in this order. */
  readonly verbs: readonly string[];
}

/** Loads the command of a file, given from the folder of all commands. */
export type LoadCommand = (file: string) => Promise<{ default: AnyCommand }>;

/** The tree: by heading, then by the order given, then by name. Nothing is loaded. */
export function plantTree(facts: Readonly<Record<string, TreeFacts>>, order: TreeOrder, load: LoadCommand): Tree {
  const heading = ({ category = "" }: TreeFacts) => order.categories.indexOf(category);
  const nouns = sorted(Object.entries(facts), order.nouns).sort(([, one], [, other]) => heading(one) - heading(other));
  return Object.fromEntries(nouns.map(([name, entry]) => [name, plant(entry, order.verbs, load)]));
}

function plant({ file, verbs, ...entry }: TreeFacts, order: readonly string[], load: LoadCommand): TreeEntry {
  return {
    ...entry,
    ...(file === undefined ? {} : { load: () => load(file) }),
    ...(verbs && {
      verbs: Object.fromEntries(sorted(Object.entries(verbs), order).map(([name, verb]) => [name, plant(verb, order, load)])),
    }),
  };
}

/** Entries with those of `first` in front, in its order; the others by name. */
function sorted<T>(entries: readonly (readonly [string, T])[], first: readonly string[]): (readonly [string, T])[] {
  const rank = (name: string) => (first.includes(name) ? first.indexOf(name) : first.length);
  return [...entries].sort(([one], [other]) => rank(one) - rank(other) || (one < other ? -1 : 1));
}
