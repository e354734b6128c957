/** Printing help, as text or as data. */

import type { Machine } from "../context/machine.ts";
import { UsageError } from "../errors/cli-error.ts";
import { exitCodes } from "../errors/exit-codes.ts";
import { render } from "../output/render.ts";
import { textView } from "../output/view.ts";
import type { AnyCommand } from "./command.ts";
import { type CommandInfo, describeCommand, describeEntry, describeLoadedTree, describeTree, type TreeInfo } from "./describe.ts";
import { type Extension, listExtensions } from "./extension.ts";
import { toGlobalFlags } from "./globals.ts";
import { commandHelp, listHelp, rootHelp } from "./help.ts";
import { parse } from "./parse.ts";
import { commandTakenAsValue, type Resolved, type Tree } from "./resolve.ts";
import { asksForJson, type Deps, hasFlag, machineOf } from "./run.ts";

/**
 * The subject of help: the whole program, or one command or group. The texts of the whole program
 * need the tree only with `all`.
 */
export type HelpTopic =
  | { readonly all: boolean; readonly extensions: readonly Extension[]; readonly tree: () => TreeInfo }
  | { readonly command: CommandInfo };

/**
 * The subject of a path; an empty path is the whole program with the machine's extensions. `all`
 * loads every command.
 */
export async function helpTopic(
  tree: Tree,
  path: readonly string[],
  { all, machine }: { readonly all: boolean; readonly machine: () => Promise<Pick<Machine, "programs">> },
): Promise<HelpTopic> {
  if (path.length === 0) {
    const extensions = await listExtensions(tree, await machine());
    const loaded = all ? await describeLoadedTree(tree, extensions) : undefined;
    return { all, extensions, tree: () => loaded ?? describeTree(tree, extensions) };
  }
  let entries = tree;
  let entry = tree[path[0] as string];
  for (const name of path) {
    entry = entries[name];
    entries = entry?.verbs ?? {};
  }
  return { command: entry?.load ? describeCommand(tree, path, (await entry.load()).default) : describeEntry(tree, path) };
}

/** The view of help, for a tree of commands. */
export function helpView(tree: Tree, categories: readonly string[]) {
  return textView<HelpTopic>(
    (topic, style) => {
      if ("command" in topic) return commandHelp(tree, topic.command, style);
      return topic.all ? listHelp(topic.tree(), style) : rootHelp(tree, categories, topic.extensions, style);
    },
    (topic) => ("command" in topic ? topic.command : topic.tree()),
    { long: true },
  );
}

/**
 * Shows help for the root or for a group that runs nothing itself. Throws UsageError for flags that
 * are not global.
 */
export async function showGroup(resolved: Resolved, argv: readonly string[], deps: Deps): Promise<number> {
  const { path, before, after } = resolved;
  if (!hasFlag(argv, ["--help", "-h"])) {
    parse({ path: path.join(" ") }, { before, after }, { now: deps.now(), cwd: deps.cwd, homeDir: deps.surroundings.homeDir });
    const swallowed = path.length === 0 ? commandTakenAsValue(argv, deps.tree) : undefined;
    if (swallowed) {
      throw new UsageError(`no command given: '${swallowed}' was read as a flag and its value`, {
        hint: "Put the flag after the command.",
      });
    }
  }
  await showHelp(path, undefined, argv, deps);
  return exitCodes.ok;
}

/** Shows help for a path; `command` is given when it is loaded already. */
export async function showHelp(
  path: readonly string[],
  command: AnyCommand | undefined,
  argv: readonly string[],
  deps: Deps,
): Promise<void> {
  const { tree, categories, io } = deps;
  const json = asksForJson(argv);
  const given = {
    ...(hasFlag(argv, ["--no-color", "--no_color"]) ? { noColor: true } : {}),
    ...(hasFlag(argv, ["--no-pager", "--no_pager"]) ? { noPager: true } : {}),
  };
  const flags = toGlobalFlags(given, { env: deps.surroundings.env, dir: "/" });
  const topic: HelpTopic = command
    ? { command: describeCommand(tree, path, command) }
    : await helpTopic(tree, path, { all: false, machine: () => machineOf(deps) });
  const page = async (text: string) => (await deps.createContext({ ...flags, updateCheck: false })).page(text);
  await render(topic, helpView(tree, categories), io, { json, color: flags.color, page });
}
