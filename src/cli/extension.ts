/**
 * Extensions: `svc foo` runs the program `svc-foo` of PATH in place of this process, with an
 * unchanged environment. A command of svc always wins over an extension. An extension gets its
 * settings from `svc config --json`.
 */

import type { Machine, Program } from "../context/machine.ts";
import { mayNameExtension, type Tree } from "./resolve.ts";

const PREFIX = "svc-";

/** An extension; `name` is the word after `svc`. */
export type Extension = Program;

/** The extensions on this machine, by name. */
export async function listExtensions(tree: Tree, machine: Pick<Machine, "programs">): Promise<readonly Extension[]> {
  return (await machine.programs(PREFIX))
    .map(({ name, path }) => ({ name: name.slice(PREFIX.length), path }))
    .filter(({ name }) => mayNameExtension(tree, name));
}

/** Runs the extension that a word names, with the words after it; undefined when there is none. */
export async function runExtension(
  word: string,
  words: readonly string[],
  machine: Pick<Machine, "programs" | "become">,
): Promise<number | undefined> {
  const found = (await machine.programs(PREFIX + word)).find(({ name }) => name === PREFIX + word);
  return found && machine.become(found.path, words);
}
