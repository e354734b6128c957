/**
 * The manual: `svc.1`, one page per command with its verbs, made from the tree of commands, and the
 * page of lint rules.
 */

import { EXIT_CODE_MEANINGS } from "../errors/exit-codes.ts";
import { bold, italic, item, type ManualEdition, page, paragraphs, section, sentence, subsection, text } from "../output/roff.ts";
import { RULES_PAGE, rulesPage } from "../output/rules-page.ts";
import type { CommandInfo, FlagInfo, TreeInfo } from "./describe.ts";

/** The parts of the tree that the pages show; extensions belong to a machine, not to a release. */
type SvcTree = Pick<TreeInfo, "globals" | "commands">;

/** Pages by file name. */
export function manualPages(tree: SvcTree, categories: readonly string[], edition: ManualEdition): Map<string, string> {
  const tops = [...new Set(tree.commands.map(({ path }) => firstWord(path)))];
  const pages = new Map([["svc.1", rootPage(tree, categories, edition)]]);
  for (const top of tops) {
    const commands = tree.commands.filter(({ path }) => firstWord(path) === top);
    pages.set(`svc-${top}.1`, commandPage(top, commands, edition));
  }
  return pages.set(RULES_PAGE, rulesPage(edition));
}

const FILES: readonly (readonly [string, string])[] = [
  ["~/.config/svc.yml", "credentials and settings"],
  ["~/.svc", "state: installed builds, caches, and the data of the embedded server; $SVC_HOME names another folder"],
  ["svc.yaml", "the project, in its folder"],
];

function rootPage({ globals, commands }: SvcTree, categories: readonly string[], edition: ManualEdition): string {
  const tops = commands.filter(({ path }) => !path.includes(" "));
  return page("svc", "a feature platform for real-time machine learning in one file", edition, [
    section("SYNOPSIS", [".B svc", ".I command", "[\\fIflag\\fR...]"]),
    section("DESCRIPTION", [
      text(
        "The command line and the platform are one file: `svc server start` gives a machine everything that the other commands talk to. Data goes to the standard output, everything else to the standard error.",
      ),
    ]),
    ...categories.map((category) =>
      section(
        category.toUpperCase(),
        tops.filter((one) => one.category === category).flatMap((one) => item(bold(`svc-${one.path}(1)`), one.summary)),
      ),
    ),
    section("GLOBAL FLAGS", flagItems(globals)),
    section(
      "EXIT STATUS",
      Object.entries(EXIT_CODE_MEANINGS).flatMap(([code, meaning]) => item(bold(code), meaning)),
    ),
    section(
      "FILES",
      FILES.flatMap(([path, meaning]) => item(italic(path), meaning)),
    ),
  ]);
}

function commandPage(top: string, commands: readonly CommandInfo[], edition: ManualEdition): string {
  const head = commands.find(({ path }) => path === top);
  const runnable = commands.filter((command) => command.runnable);
  return page(`svc-${top}`, head?.summary ?? "", edition, [
    section(
      "SYNOPSIS",
      runnable.flatMap((command, index) => [...(index > 0 ? [".br"] : []), synopsis(command)]),
    ),
    ...runnable.flatMap((command) => commandSections(command, runnable.length > 1)),
    section("SEE ALSO", [".BR svc (1)"]),
  ]);
}

function commandSections(command: CommandInfo, several: boolean): string[] {
  const title = several ? `svc ${command.path}`.toUpperCase() : "DESCRIPTION";
  const examples = command.examples.flatMap(({ run, does }) => [
    ".PP",
    ...(does ? [text(`${does}:`)] : []),
    ".nf",
    ...run.split("\n").map((line) => text(`  ${line}`)),
    ".fi",
  ]);
  const flags = flagItems(command.flags);
  const parts = [
    text(sentence(command.summary)),
    ...(command.description ? paragraphs(command.description) : []),
    ...(command.aliases.length > 0 ? [".PP", text(`Also: ${command.aliases.map((alias) => `svc ${alias}`).join(", ")}`)] : []),
    ...(command.args.length > 0
      ? [subsection("Arguments"), ...command.args.flatMap((arg) => item(italic(arg.name), withValues(arg)))]
      : []),
    ...(flags.length > 0 ? [subsection("Flags"), ...flags] : []),
    ...(examples.length > 0 ? [subsection("Examples"), ...examples] : []),
  ];
  return [section(title, parts)];
}

function synopsis(command: CommandInfo): string {
  const args = command.args.map(({ behindDashes, name, required, variadic }) => {
    const word = `${behindDashes ? "-- " : ""}${italic(name)}${variadic ? "..." : ""}`;
    return required ? word : `[${word}]`;
  });
  return [bold(`svc ${command.path}`), ...args, ...(command.flags.length > 0 ? [`[${italic("flag")}...]`] : [])].join(" ");
}

function flagItems(flags: readonly FlagInfo[]): string[] {
  return flags
    .filter(({ hidden }) => !hidden)
    .flatMap((flag) => {
      const value = flag.type === "bool" ? "" : italic(flag.placeholder ?? `<${flag.type.replace("[]", "")}>`);
      const names = [...flag.aliases.filter((alias) => !alias.startsWith("--")), flag.name].map(bold).join(", ");
      const label = value === "" ? names : flag.optional_value ? `${names} [${value}]` : `${names} ${value}`;
      return item(label, withNotes(flag));
    });
}

function withNotes(flag: FlagInfo): string {
  const notes = [
    flag.values ? `one of ${flag.values.join(", ")}` : "",
    flag.default !== undefined && flag.default !== false ? `default ${flag.default}` : "",
    flag.repeatable ? "repeatable" : "",
    flag.required ? "required" : "",
  ].filter((note) => note !== "");
  return notes.length > 0 ? `${flag.meaning} (${notes.join("; ")})` : flag.meaning;
}

function withValues({ meaning, values }: { readonly meaning: string; readonly values?: readonly string[] }): string {
  return values ? `${meaning} (one of ${values.join(", ")})` : meaning;
}

const firstWord = (path: string): string => path.split(" ")[0] ?? "";
