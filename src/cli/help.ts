/** Help texts, as wide as the terminal within bounds that read well; 80 columns elsewhere. */

import { EXIT_CODE_MEANINGS } from "../errors/exit-codes.ts";
import type { Style } from "../output/view.ts";
import { textWidth, wrap } from "../output/wrap.ts";
import { type CommandInfo, describeEntry, describeGlobals, type FlagInfo, type TreeInfo } from "./describe.ts";
import type { Extension } from "./extension.ts";
import { argumentUsage } from "./parse.ts";
import type { Tree } from "./resolve.ts";

const WIDEST_LABEL = 28;

type Row = readonly [label: string, meaning: string];

/**
 * Two columns: labels on the left, wrapped meanings on the right. A long label has a line of its
 * own.
 */
function columns(rows: readonly Row[], width: number, widestLabel = Math.max(0, ...rows.map(([label]) => label.length))): string[] {
  const labelWidth = Math.min(WIDEST_LABEL, Math.floor(width / 3), widestLabel);
  const indent = 2 + labelWidth + 2;
  return rows.flatMap(([label, meaning]) => {
    const lines = wrap(meaning, width - indent);
    const first = `  ${label}`;
    if (label.length > labelWidth) return [...wrapLabel(first, width), ...lines.map((line) => " ".repeat(indent) + line)];
    return lines.map((line, i) => ((i === 0 ? first.padEnd(indent) : " ".repeat(indent)) + line).trimEnd());
  });
}

function wrapLabel(label: string, width: number): string[] {
  return wrap(label.trimStart(), width - 6).map((line, i) => `${i === 0 ? "  " : "      "}${line}`);
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

/** One row per flag: its short forms and its name. Other long forms work too, but are not shown. */
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

function flagSections(style: Style, flags: readonly FlagInfo[]): string[] {
  const groups = new Map<string, Row[]>();
  for (const flag of flags) {
    if (flag.hidden) continue;
    const title = flag.group ?? "Flags";
    groups.set(title, [...(groups.get(title) ?? []), flagRow(flag)]);
  }
  return [...groups].flatMap(([title, rows]) => section(style, title, columns(rows, textWidth(style))));
}

/** The global flags, except those that `own` has under the same name. */
function globalSection(style: Style, own: readonly FlagInfo[] = []): string[] {
  const names = new Set(own.map((flag) => flag.name));
  const rows = describeGlobals()
    .filter((flag) => !flag.hidden && !names.has(flag.name))
    .map(flagRow);
  return section(style, "Global flags", columns(rows, textWidth(style)));
}

/** The steps from an empty machine to the first answer. */
const FIRST_STEPS: readonly Row[] = [
  ["svc server start --detach", "the platform, on this machine; logs you in to it"],
  ["svc init", "a project to begin with, in this folder"],
  ["svc apply --await", "deploys it"],
  ["svc query --in user.id=1 --in user.email=ada@example.com --out user", "asks it"],
];

/** Help for the whole program, from the static tree. */
export function rootHelp(tree: Tree, categories: readonly string[], extensions: readonly Extension[], style: Style): string {
  const entries = Object.entries(tree).filter(([, entry]) => !entry.hidden);
  const width = textWidth(style);
  const widestName = Math.max(...entries.map(([name]) => name.length));
  const lines = wrap("svc: a feature platform for real-time machine learning in one file", width);
  lines.push(...section(style, "Usage", ["  svc <command> [flags]", "  svc --version"]));
  lines.push(...section(style, "First steps", columns(FIRST_STEPS, width)));
  for (const category of categories) {
    const rows = entries.filter(([, entry]) => entry.category === category).map(([name, entry]): Row => [name, entry.summary]);
    lines.push(...section(style, category, columns(rows, width, widestName)));
  }
  lines.push(
    ...section(
      style,
      "Extensions",
      columns(
        extensions.map(({ name, path }): Row => [name, path]),
        width,
        widestName,
      ),
    ),
  );
  lines.push(...globalSection(style));
  const codes = Object.entries(EXIT_CODE_MEANINGS).map(([code, meaning]) => `${code} ${meaning}`);
  lines.push(...section(style, "Exit codes", wrap(codes.join(", "), width - 2).map(indented)));
  lines.push("", ...wrap("Run `svc <command> --help` for a command, `svc help --all` for all of them.", width));
  return `${lines.join("\n")}\n`;
}

/** Help for one command or group. */
export function commandHelp(tree: Tree, info: CommandInfo, style: Style): string {
  const width = textWidth(style);
  const verbs = verbRows(tree, info.path.split(" "));
  const usage: string[] = [];
  if (info.runnable) usage.push(`  svc ${[info.path, usageOf(info), "[flags]"].filter((part) => part !== "").join(" ")}`);
  if (verbs.length > 0) usage.push(`  svc ${info.path} <command> [flags]`);
  const lines = wrap(info.summary, width);
  lines.push(...section(style, "Usage", usage));
  for (const paragraph of info.description?.split(/\n\s*\n/) ?? []) lines.push("", ...wrapParagraph(paragraph, width));
  if (info.aliases.length > 0) {
    lines.push(...section(style, "Also", wrap(info.aliases.map((alias) => `svc ${alias}`).join(", "), width - 2).map(indented)));
  }
  lines.push(...section(style, "Commands", columns(verbs, width)));
  lines.push(...section(style, "Arguments", columns(info.args.map(argumentRow), width)));
  lines.push(...flagSections(style, info.flags));
  const examples = info.examples.flatMap((example) => [
    ...wrapCommand(example.run, width),
    ...(example.does ? wrap(example.does, width - 6).map((line) => `      ${style.dim(line)}`) : []),
  ]);
  lines.push(...section(style, "Examples", examples));
  lines.push(...globalSection(style, info.flags));
  return `${lines.join("\n")}\n`;
}

/**
 * A shell command as one line, or as several with `\\` at blanks outside quotes when it is too
 * wide.
 */
function wrapCommand(command: string, width: number): string[] {
  const words = command.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const lines: string[] = [];
  let line = " ";
  for (const word of words) {
    if (line.length + 1 + word.length > width - 2 && line.trim() !== "") {
      lines.push(`${line} \\`);
      line = "     ";
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

const indented = (line: string): string => `  ${line}`;

/** Wraps running text; lines that start with blanks (code, lists) stay as they are. */
function wrapParagraph(paragraph: string, width: number): string[] {
  const lines = paragraph.replace(/^\n+|\s+$/g, "").split("\n");
  return lines.some((line) => /^\s{2,}/.test(line)) ? lines : wrap(lines.map((line) => line.trim()).join(" "), width);
}

function usageOf(info: CommandInfo): string {
  const usage = argumentUsage(Object.fromEntries(info.args.filter(({ behindDashes }) => !behindDashes).map((arg) => [arg.name, arg])));
  const rest = info.args.filter(({ behindDashes }) => behindDashes).map(({ name }) => `[-- <${name}>...]`);
  return [usage, ...rest].filter((part) => part !== "").join(" ");
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

/** All commands and extensions, one per line. */
export function listHelp({ commands, extensions }: TreeInfo, style: Style): string {
  const rows = [
    ...commands.map((command): Row => [`svc ${command.path}`, command.summary]),
    ...extensions.map(({ name, path }): Row => [`svc ${name}`, path]),
  ];
  return `${columns(rows, textWidth(style)).join("\n")}\n`;
}
