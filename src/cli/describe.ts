/** The tree of commands as data: the output of `svc help --json`, and the input of help texts. */

import { formatDuration } from "../domain/duration.ts";
import type { AnyCommand, ArgSpecs, Example, FlagSpecs } from "./command.ts";
import type { Extension } from "./extension.ts";
import type { Flag } from "./flag.ts";
import { globalFlags } from "./globals.ts";
import { flagName } from "./name.ts";
import { type Tree, walk } from "./resolve.ts";

/** A flag's description. The keys are those of the JSON. */
export interface FlagInfo {
  readonly name: string;
  readonly aliases: readonly string[];
  /** The type, with `[]` when the flag may be repeated. */
  readonly type: string;
  readonly values?: readonly string[];
  /** The default as text, or described in words; absent when there is none. */
  readonly default?: string | number | boolean;
  readonly repeatable: boolean;
  readonly required: boolean;
  readonly optional_value: boolean;
  readonly meaning: string;
  readonly placeholder?: string;
  readonly group?: string;
  readonly hidden: boolean;
}

/** An argument's description. */
export interface ArgInfo {
  readonly name: string;
  readonly required: boolean;
  readonly variadic: boolean;
  readonly meaning: string;
  readonly values?: readonly string[];
  /** Whether it stands behind `--`. */
  readonly behindDashes?: true;
}

/** A command's or a group's description. */
export interface CommandInfo {
  /** Words after `svc`, joined by blanks. */
  readonly path: string;
  /** Other full paths of the same entry. */
  readonly aliases: readonly string[];
  readonly summary: string;
  readonly category?: string;
  /** False for a group that only prints its help. */
  readonly runnable: boolean;
  readonly description?: string;
  readonly args: readonly ArgInfo[];
  readonly flags: readonly FlagInfo[];
  readonly examples: readonly { readonly run: string; readonly does?: string }[];
}

/** The whole tree. */
export interface TreeInfo {
  readonly globals: readonly FlagInfo[];
  readonly commands: readonly CommandInfo[];
  /** Programs on PATH that also work as commands of svc. */
  readonly extensions: readonly Extension[];
}

function defaultOf(flag: Flag<unknown>): FlagInfo["default"] {
  if (flag.defaultText !== undefined) return flag.defaultText;
  const value = flag.default;
  if (flag.type === "duration" && typeof value === "number") return formatDuration(value);
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : undefined;
}

/** Descriptions of a command's flags. */
export function describeFlags(flags: FlagSpecs = {}): FlagInfo[] {
  return Object.entries(flags).map(([key, flag]) => ({
    name: flagName(key),
    aliases: flag.aliases,
    type: flag.repeatable ? `${flag.type}[]` : flag.type,
    values: flag.values,
    default: defaultOf(flag),
    repeatable: flag.repeatable,
    required: flag.required,
    optional_value: flag.optionalValue,
    meaning: flag.meaning,
    placeholder: flag.placeholder,
    group: flag.group,
    hidden: flag.hidden,
  }));
}

/** Descriptions of the global flags. */
export function describeGlobals(): FlagInfo[] {
  return describeFlags(globalFlags);
}

function describeArgs({ args = {}, takesRest }: AnyCommand): ArgInfo[] {
  return [
    ...Object.entries(args as ArgSpecs).map(([name, { required, variadic, meaning, values }]) => ({
      name,
      required,
      variadic,
      meaning,
      values,
    })),
    ...(takesRest === undefined ? [] : [{ name: "arg", required: false, variadic: true, meaning: takesRest, behindDashes: true as const }]),
  ];
}

function describeExample(example: Example): { run: string; does?: string } {
  return typeof example === "string" ? { run: example } : example;
}

/**
 * Other full paths of the entry at `path`: every combination of aliases along it, its self verbs,
 * and other places of the tree.
 */
export function pathAliases(tree: Tree, path: readonly string[]): string[] {
  let paths: string[] = [""];
  let entries: Tree = tree;
  let selfVerbs: readonly string[] = [];
  let elsewhere: readonly string[] = [];
  for (const name of path) {
    const entry = entries[name];
    if (!entry) return [];
    const words = [name, ...(entry.aliases ?? [])];
    elsewhere = [...elsewhere.map((above) => `${above} ${name}`), ...(entry.alsoAt ?? [])];
    paths = paths.flatMap((above) => words.map((word) => (above === "" ? word : `${above} ${word}`)));
    selfVerbs = entry.selfVerbs ?? [];
    entries = entry.verbs ?? {};
  }
  const selves = paths.flatMap((alias) => selfVerbs.map((verb) => `${alias} ${verb}`));
  return [...paths.slice(1), ...selves, ...elsewhere];
}

/** The description of an entry from the static tree alone, without loading its command. */
export function describeEntry(tree: Tree, path: readonly string[]): CommandInfo {
  let entries: Tree = tree;
  let category: string | undefined;
  let found = entries[path[0] ?? ""];
  for (const name of path) {
    found = entries[name];
    category ??= found?.category;
    entries = found?.verbs ?? {};
  }
  return {
    path: path.join(" "),
    aliases: pathAliases(tree, path),
    summary: found?.summary ?? "",
    category,
    runnable: found?.load !== undefined,
    args: [],
    flags: [],
    examples: (found?.examples ?? []).map(describeExample),
  };
}

/** The description of an entry whose command is loaded. */
export function describeCommand(tree: Tree, path: readonly string[], command: AnyCommand): CommandInfo {
  return {
    ...describeEntry(tree, path),
    description: command.description,
    args: describeArgs(command),
    flags: describeFlags(command.flags as FlagSpecs | undefined),
    examples: command.examples.map(describeExample),
  };
}

/** The description of the whole tree and of the machine's extensions, without loading commands. */
export function describeTree(tree: Tree, extensions: readonly Extension[] = []): TreeInfo {
  return { globals: describeGlobals(), commands: visible(tree).map(({ path }) => describeEntry(tree, path)), extensions };
}

/** The description of the whole tree with arguments and flags; loads every command. */
export async function describeLoadedTree(tree: Tree, extensions: readonly Extension[] = []): Promise<TreeInfo> {
  const commands = await Promise.all(
    visible(tree).map(async ({ path, entry }) =>
      entry.load ? describeCommand(tree, path, (await entry.load()).default) : describeEntry(tree, path),
    ),
  );
  return { globals: describeGlobals(), commands, extensions };
}

function visible(tree: Tree) {
  return [...walk(tree)].filter(({ entry }) => !entry.hidden);
}
