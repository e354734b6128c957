/** What texts for coding agents say of commands, flags and Python names, and whether it is there. */

import type { AnyCommand, FlagSpecs } from "../../src/cli/command.ts";
import { globalFlags } from "../../src/cli/globals.ts";
import { flagName } from "../../src/cli/name.ts";
import { parse } from "../../src/cli/parse.ts";
import { resolve, walk } from "../../src/cli/resolve.ts";
import { commandTree } from "../../src/commands/index.ts";

/** The code of a Markdown text: what stands in backticks, and the lines of blocks. */
function codeOf(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^```.*\n([\s\S]*?)^```$/gm)].flatMap(([, block = ""]) => block.split("\n"));
  const inline = [...text.replaceAll(/^```.*\n[\s\S]*?^```$/gm, "").matchAll(/`([^`]+)`/g)].map(([, code = ""]) =>
    code.replaceAll("\n", " "),
  );
  return [...blocks, ...inline];
}

/** A command's words: blanks separate, quotes keep together. */
function shellWords(line: string): string[] {
  return [...line.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

/** The commands of a text, without `svc`. */
export function commandsOf(text: string): readonly (readonly string[])[] {
  return codeOf(text).flatMap((code) => {
    const line = /^(?:\$ )?svc(?: (.*))?$/.exec(code)?.[1];
    return line === undefined ? [] : [shellWords(line)];
  });
}

/** The first words of a command that name no command, or what its flags and arguments lack. */
export async function commandProblem(words: readonly string[]): Promise<string | undefined> {
  try {
    const found = resolve(commandTree, words);
    const command = (await found.entry?.load?.())?.default;
    if (!found.entry) return `svc ${words.join(" ")}: there is no such command`;
    const named = words.length === found.path.length;
    if (command && !named)
      parse({ path: words.join(" "), args: command.args, flags: command.flags }, found, { now: 0, cwd: "/", homeDir: "/" });
    return undefined;
  } catch (error) {
    return `svc ${words.join(" ")}: ${(error as Error).message}`;
  }
}

/** Every flag of every command, with its other forms. */
export async function allFlags(): Promise<ReadonlySet<string>> {
  const flags = new Set<string>();
  const add = (specs: FlagSpecs) => {
    for (const [key, { aliases }] of Object.entries(specs)) for (const form of [flagName(key), ...aliases]) flags.add(form);
  };
  add(globalFlags);
  for (const { entry } of walk(commandTree)) add((((await entry.load?.())?.default as AnyCommand | undefined)?.flags ?? {}) as FlagSpecs);
  return flags;
}

/** The flags of a text. */
export function flagsOf(text: string): readonly string[] {
  return codeOf(text).flatMap((code) => (code.startsWith("-- ") ? [] : (code.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [])));
}

/** The names that a text imports from the Python package, with their modules. */
export function importsOf(text: string): readonly (readonly [module: string, name: string])[] {
  return codeOf(text).flatMap((code) => {
    const [, module = "", names = ""] = /^from (svc[\w.]*) import (.+)$/.exec(code) ?? [];
    return names === "" ? [] : names.split(",").map((name) => [module, name.trim().split(" as ")[0] as string] as const);
  });
}
