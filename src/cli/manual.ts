/** Manual pages in the man macros (man-pages(7)), made of the tree of commands: `svc.1`, and one for each command with its verbs. */

import { EXIT_CODE_MEANINGS } from "../errors/exit-codes.ts";
import type { CommandInfo, FlagInfo, TreeInfo } from "./describe.ts";

/** What stands at the foot of every page. */
export interface ManualEdition {
  /** `v<major>.<minor>.<patch>`. */
  readonly version: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
}

/** What the pages are made of; extensions are a machine's, not a release's. */
type SvcTree = Pick<TreeInfo, "globals" | "commands">;

/** Pages by file name. */
export function manualPages(tree: SvcTree, categories: readonly string[], edition: ManualEdition): Map<string, string> {
  const tops = [...new Set(tree.commands.map(({ path }) => firstWord(path)))];
  const pages = new Map([["svc.1", rootPage(tree, categories, edition)]]);
  for (const top of tops) {
    const commands = tree.commands.filter(({ path }) => firstWord(path) === top);
    pages.set(`svc-${top}.1`, commandPage(top, commands, edition));
  }
  return pages;
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

function page(name: string, summary: string, { version, date }: ManualEdition, sections: readonly string[]): string {
  const head = `.TH ${quoted(name.toUpperCase())} 1 ${quoted(date)} ${quoted(`svc ${version}`)} ${quoted("svc")}`;
  const parts = [head, ".nh", section("NAME", [`${escaped(name)} \\- ${escaped(summary)}`]), ...sections];
  return `${parts.filter((part) => part !== "").join("\n")}\n`;
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [`.SH ${quoted(title)}`, ...lines].join("\n");
}

function subsection(title: string): string {
  return `.SS ${quoted(title)}`;
}

function item(label: string, meaning: string): string[] {
  return [".TP", label, text(sentence(meaning))];
}

function synopsis(command: CommandInfo): string {
  const args = command.args.map(({ name, required, variadic }) => {
    const word = `${italic(name)}${variadic ? "..." : ""}`;
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

/** Running text is filled; lines that start with blanks stay as they are. */
function paragraphs(description: string): string[] {
  return description.split(/\n\s*\n/).flatMap((paragraph) => {
    const lines = paragraph.replace(/^\n+|\s+$/g, "").split("\n");
    const verbatim = lines.some((line) => /^\s{2,}/.test(line));
    return [".PP", ...(verbatim ? [".nf"] : []), ...lines.map(text), ...(verbatim ? [".fi"] : [])];
  });
}

const firstWord = (path: string): string => path.split(" ")[0] ?? "";
const bold = (words: string): string => `\\fB${escaped(words)}\\fR`;
const italic = (words: string): string => `\\fI${escaped(words)}\\fR`;
const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** A line of text: one that would be read as a request is guarded. */
function text(line: string): string {
  const safe = escaped(line);
  return /^[.']/.test(safe) ? `\\&${safe}` : safe;
}

/** Text of any characters as roff (groff_char(7)): the ones with a meaning, and those that UTF-8 pages would turn into typographic ones. */
function escaped(words: string): string {
  return words
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga")
    .replaceAll("^", "\\(ha")
    .replaceAll("~", "\\(ti")
    .replaceAll(/[^\x20-\x7e]/g, (character) => `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`);
}

const quoted = (words: string): string => `"${escaped(words).replaceAll('"', "\\(dq")}"`;
