/** Help texts, at most 80 columns wide. */

import type { Style } from "../output/view.ts";
import { type CommandInfo, describeEntry, describeGlobals, type FlagInfo } from "./describe.ts";
import { argumentUsage } from "./parse.ts";
import type { Tree } from "./resolve.ts";

/** Widest line of a help text. */
export const HELP_WIDTH = 80;
const WIDEST_LABEL = 28;

/** Breaks text at blanks into lines of at most `width` columns. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(/\s+/)) {
      if (line !== "" && line.length + 1 + word.length > width) {
        lines.push(line);
        line = word;
      } else line = line === "" ? word : `${line} ${word}`;
    }
    lines.push(line);
  }
  return lines;
}

type Row = readonly [label: string, meaning: string];

/** Labels at the left, meanings wrapped at the right; a long label has a line of its own. */
function columns(rows: readonly Row[], labelWidth = Math.min(WIDEST_LABEL, Math.max(0, ...rows.map(([label]) => label.length)))): string[] {
  const indent = 2 + labelWidth + 2;
  return rows.flatMap(([label, meaning]) => {
    const lines = wrap(meaning, HELP_WIDTH - indent);
    const first = `  ${label}`;
    if (label.length > labelWidth) return [...wrapLabel(first), ...lines.map((line) => " ".repeat(indent) + line)];
    return lines.map((line, i) => ((i === 0 ? first.padEnd(indent) : " ".repeat(indent)) + line).trimEnd());
  });
}

function wrapLabel(label: string): string[] {
  return wrap(label.trimStart(), HELP_WIDTH - 6).map((line, i) => `${i === 0 ? "  " : "      "}${line}`);
}

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  string: "<text>",
  int: "<int>",
  float: "<number>",
  duration: "<duration>",
  timestamp: "<time>",
  enum: "<word>",
  json: "<json>",
  "key=value": "<key=value>",
  quantity: "<quantity>",
  path: "<path>",
};

/** Short spellings and the name; other long spellings are taken too, but not shown. */
function flagRow(flag: FlagInfo): Row {
  const short = flag.aliases.filter((alias) => !alias.startsWith("--"));
  const names = [...short, flag.name].join(", ");
  const type = flag.type.replace("[]", "");
  const words = flag.values?.join("|") ?? "";
  const inline = words !== "" && words.length <= 24;
  const value = flag.placeholder ?? (inline ? `<${words}>` : (PLACEHOLDERS[type] ?? ""));
  const notes = [
    words && !inline ? `one of ${flag.values?.join(", ")}` : "",
    flag.default !== undefined && flag.default !== false ? `default ${flag.default}` : "",
    flag.repeatable ? "repeatable" : "",
    flag.required ? "required" : "",
  ].filter((note) => note !== "");
  const label = value === "" || type === "bool" ? names : flag.optional_value ? `${names} [${value}]` : `${names} ${value}`;
  return [label, notes.length > 0 ? `${flag.meaning} (${notes.join("; ")})` : flag.meaning];
}

function section(style: Style, title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", style.bold(title), ...lines];
}

function flagSections(style: Style, flags: readonly FlagInfo[], globals: readonly FlagInfo[]): string[] {
  const groups = new Map<string, Row[]>();
  for (const flag of flags) {
    if (flag.hidden) continue;
    const title = flag.group ?? "Flags";
    groups.set(title, [...(groups.get(title) ?? []), flagRow(flag)]);
  }
  const own = new Set(flags.map((flag) => flag.name));
  const inherited = globals.filter((flag) => !flag.hidden && !own.has(flag.name)).map(flagRow);
  return [...groups, ["Global flags", inherited] as const].flatMap(([title, rows]) => section(style, title, columns(rows)));
}

/** Help for the whole program, from the static tree. */
export function rootHelp(tree: Tree, categories: readonly string[], style: Style): string {
  const entries = Object.entries(tree).filter(([, entry]) => !entry.hidden);
  const width = Math.max(...entries.map(([name]) => name.length));
  const lines = ["svc: a feature platform for real-time machine learning in one file"];
  lines.push(...section(style, "Usage", ["  svc <command> [flags]", "  svc --version"]));
  for (const category of categories) {
    const rows = entries.filter(([, entry]) => entry.category === category).map(([name, entry]): Row => [name, entry.summary]);
    lines.push(...section(style, category, columns(rows, width)));
  }
  lines.push(
    ...section(
      style,
      "Global flags",
      columns(
        describeGlobals()
          .filter((flag) => !flag.hidden)
          .map(flagRow),
      ),
    ),
  );
  lines.push("", "Run `svc <command> --help` for a command, `svc help --all` for all of them.");
  return `${lines.join("\n")}\n`;
}

/** Help for one command or group. */
export function commandHelp(tree: Tree, info: CommandInfo, style: Style): string {
  const verbs = verbRows(tree, info.path.split(" "));
  const usage: string[] = [];
  if (info.runnable) usage.push(`  svc ${[info.path, usageOf(info), "[flags]"].filter((part) => part !== "").join(" ")}`);
  if (verbs.length > 0) usage.push(`  svc ${info.path} <command> [flags]`);
  const lines = wrap(info.summary, HELP_WIDTH);
  lines.push(...section(style, "Usage", usage));
  for (const paragraph of info.description?.split(/\n\s*\n/) ?? []) lines.push("", ...wrapParagraph(paragraph));
  if (info.aliases.length > 0) {
    lines.push(...section(style, "Also", wrap(info.aliases.map((alias) => `svc ${alias}`).join(", "), HELP_WIDTH - 2).map(indented)));
  }
  lines.push(...section(style, "Commands", columns(verbs)));
  lines.push(...section(style, "Arguments", columns(info.args.map(argumentRow))));
  lines.push(...flagSections(style, info.flags, describeGlobals()));
  const examples = info.examples.flatMap((example) => [
    ...wrapCommand(example.run),
    ...(example.does ? wrap(example.does, HELP_WIDTH - 6).map((line) => `      ${style.dim(line)}`) : []),
  ]);
  lines.push(...section(style, "Examples", examples));
  return `${lines.join("\n")}\n`;
}

/** A shell command as one line, or as several with `\\` at blanks outside quotes when it is too wide. */
function wrapCommand(command: string): string[] {
  const words = command.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const lines: string[] = [];
  let line = " ";
  for (const word of words) {
    if (line.length + 1 + word.length > HELP_WIDTH - 2 && line.trim() !== "") {
      lines.push(`${line} \\`);
      line = "     ";
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

const indented = (line: string): string => `  ${line}`;

/** Wraps running text; lines that start with blanks (code, lists) stay as they are. */
function wrapParagraph(paragraph: string): string[] {
  const lines = paragraph.replace(/^\n+|\s+$/g, "").split("\n");
  return lines.some((line) => /^\s{2,}/.test(line)) ? lines : wrap(lines.map((line) => line.trim()).join(" "), HELP_WIDTH);
}

function usageOf(info: CommandInfo): string {
  return argumentUsage(Object.fromEntries(info.args.map((arg) => [arg.name, arg])));
}

function argumentRow(arg: CommandInfo["args"][number]): Row {
  const values = arg.values ? ` (one of ${arg.values.join(", ")})` : "";
  return [`<${arg.name}>${arg.variadic ? "..." : ""}`, `${arg.meaning}${values}`];
}

function verbRows(tree: Tree, path: readonly string[]): Row[] {
  let entries: Tree = tree;
  for (const name of path) entries = entries[name]?.verbs ?? {};
  return Object.entries(entries)
    .filter(([, entry]) => !entry.hidden)
    .map(([name]): Row => [name, describeEntry(tree, [...path, name]).summary]);
}

/** All commands, one a line. */
export function listHelp(commands: readonly CommandInfo[]): string {
  return `${columns(commands.map((command): Row => [`svc ${command.path}`, command.summary])).join("\n")}\n`;
}
