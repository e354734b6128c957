/** Pages of commands, made of their tree: one for each first word. */

import type { CommandInfo, FlagInfo, TreeInfo } from "../cli/describe.ts";
import { block, code, literal, type Page, paragraphs, table } from "./page.ts";

/** The pages, and one of the flags that all commands take. */
export function commandPages({ commands, globals }: Pick<TreeInfo, "commands" | "globals">): Page[] {
  const tops = [...new Set(commands.map(({ path }) => firstWord(path)))];
  return [
    flagsPage(globals),
    ...tops.map((top) =>
      pageOf(
        top,
        commands.filter(({ path }) => firstWord(path) === top),
      ),
    ),
  ];
}

function firstWord(path: string): string {
  return path.split(" ")[0] ?? path;
}

function flagsPage(globals: readonly FlagInfo[]): Page {
  const summary = "Flags that every command takes, before or after its name.";
  const markdown = ["# Flags of all commands", summary, flagTable(globals)].join("\n\n");
  return { path: "commands/flags", section: "Commands", title: "Flags of all commands", summary, markdown };
}

function pageOf(top: string, commands: readonly CommandInfo[]): Page {
  const head = commands.find(({ path }) => path === top);
  const runnable = commands.filter((command) => command.runnable);
  const title = `svc ${top}`;
  const summary = `${head?.summary ?? ""}.`;
  const parts = runnable.length === 1 && runnable[0]?.path === top ? [commandText(runnable[0])] : runnable.map(sectionText);
  return {
    path: `commands/${top}`,
    section: "Commands",
    title,
    summary,
    markdown: [`# ${title}`, literal(summary), ...parts].join("\n\n"),
  };
}

function sectionText(command: CommandInfo): string {
  return [`## svc ${command.path}`, `${literal(command.summary)}.`, commandText(command)].join("\n\n");
}

function commandText({ aliases, args, description, examples, flags, path }: CommandInfo): string {
  const shown = flags.filter(({ hidden }) => !hidden);
  const words = args.map(({ name, required, variadic }) => {
    const one = `<${name}>${variadic ? "..." : ""}`;
    return required ? one : `[${one}]`;
  });
  return [
    block("text", ["svc", path, ...words, ...(shown.length > 0 ? ["[flags]"] : [])].join(" ")),
    ...(aliases.length > 0 ? [`Also: ${aliases.map((alias) => code(`svc ${alias}`)).join(", ")}.`] : []),
    ...(description === undefined ? [] : [paragraphs(description)]),
    ...(args.length > 0
      ? [
          table(
            ["Argument", "Meaning"],
            args.map(({ name, meaning }) => [code(`<${name}>`), literal(meaning)]),
          ),
        ]
      : []),
    ...(shown.length > 0 ? [flagTable(shown)] : []),
    ...examples.map(({ run, does }) => [...(does === undefined ? [] : [`${literal(does)}:`]), block("console", `$ ${run}`)].join("\n\n")),
  ].join("\n\n");
}

function flagTable(flags: readonly FlagInfo[]): string {
  return table(
    ["Flag", "Meaning"],
    flags.filter(({ hidden }) => !hidden).map((flag) => [[flag.name, ...flag.aliases].map(code).join(", "), literal(meaningOf(flag))]),
  );
}

function meaningOf({ default: byDefault, meaning, repeatable, required, type, values }: FlagInfo): string {
  const notes = [
    ...(type === "bool" ? [] : [values ? `one of ${values.join(", ")}` : type.replace("[]", "")]),
    ...(byDefault === undefined || byDefault === false ? [] : [`default ${byDefault}`]),
    ...(repeatable ? ["repeatable"] : []),
    ...(required ? ["required"] : []),
  ];
  return notes.length === 0 ? meaning : `${meaning} (${notes.join("; ")})`;
}
