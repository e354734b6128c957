/**
 * The header of a SQL file resolver: YAML in the `--` lines before the body. Lines that are no YAML
 * entry are its docstring:
 *
 *     -- Users of the app.              docstring
 *     -- resolves: User                 entry; keys in any case
 *     -- tags:                          entry that goes on in deeper lines
 *     --   - team:risk
 *
 * A line begins an entry when it reads `word:` with a known key, or with another lower-case word
 * (an unknown key, finding 152); `Note:` and the other words of `PROSE` are docstring.
 */

import { closestNames } from "../closest.ts";
import { readYaml, type YamlNode, type YamlProblem } from "../yaml-tree.ts";

/** Keys that a header may have. */
export const HEADER_KEYS = [
  "resolves",
  "source",
  "type",
  "count",
  "tags",
  "environment",
  "owner",
  "timeout",
  "fields",
  "total",
  "cron",
  "incremental",
  "max_staleness",
  "unique_on",
] as const;

/** A key of a header. */
export type HeaderKey = (typeof HEADER_KEYS)[number];

/** What each key says, as Markdown for an editor. */
export const HEADER_MEANINGS: Readonly<Record<HeaderKey, string>> = {
  resolves: "The feature class whose features the columns fill: `User`.",
  source: "The data source that the statement reads: its name, or its kind where there is one of it.",
  type: "`online`, for queries too, or `offline`, for jobs and history alone.",
  count: "How many rows there are: `one`, `one_or_none` or `all`.",
  tags: "What a query must carry for the statement to be considered.",
  environment: "The environments that it exists in; default: all.",
  owner: "Who answers for it.",
  timeout: "The longest run of one statement, such as `2s`.",
  fields: "Columns that fill a feature of another name: `{town: city}`.",
  total: "`true` = whoever is not among the rows does not exist.",
  cron: "When it runs by itself: a duration such as `1d`, or a cron expression in UTC.",
  incremental: "How runs read only what is new: `{mode: row, incremental_column: updated_at}`.",
  max_staleness: "How old stored values of its columns may be to serve a query, such as `1d`, for features that say nothing themselves.",
  unique_on: "Columns of which no two rows have the same values, or the resolver fails: `[id, day]`.",
};

/** The option of Python resolvers that a statement has no rows for (rule 198). */
const PARTITIONED_BY = "partitioned_by";

const PROSE = new Set(
  "note notes todo fixme hack see nb warning warn example examples usage author date copyright license http https".split(" "),
);
const LONGEST_HEADER = 65_536;
const ENTRY = /^([A-Za-z_][\w-]*)\s*:(?=\s|$)/;

/** One entry, in file offsets. */
export interface HeaderEntry {
  /** As written. */
  readonly key: string;
  /** The key in lower case with `_`, when it is a known one. */
  readonly known: HeaderKey | undefined;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly value: YamlNode;
}

/** A header. */
export interface SqlHeader {
  readonly entries: readonly HeaderEntry[];
  /** The parts that are no YAML, in file offsets; when there are any, entries are missing. */
  readonly problems: readonly YamlProblem[];
  readonly docstring: string;
  /** Offset of the header's first comment; 0 without one. */
  readonly start: number;
  /** Offset of the body's first line. */
  readonly bodyStart: number;
}

interface Line {
  /** Text behind the dashes, without its newline. */
  readonly text: string;
  /** File offset of `text`. */
  readonly offset: number;
}

/** The header of a SQL file. Never throws. */
export function readHeader(file: string): SqlHeader {
  const { lines, start, bodyStart } = commentLines(file);
  const { yaml, origins, doc } = splitYaml(lines);
  const docstring = doc.join("\n").trim();
  if (yaml.length > LONGEST_HEADER) {
    const problem = { message: `it is longer than ${LONGEST_HEADER} characters`, start, end: start + 2 };
    return { entries: [], problems: [problem], docstring, start, bodyStart };
  }
  const toFile = (offset: number): number => {
    let low = 0;
    let high = origins.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((origins[middle] as Origin).yaml <= offset) low = middle + 1;
      else high = middle;
    }
    const origin = origins[low - 1];
    return origin ? Math.min(origin.file + offset - origin.yaml, origin.end) : start;
  };
  const { root, problems } = readYaml(yaml);
  const entries: HeaderEntry[] = [];
  const more: YamlProblem[] = [];
  const seen = new Set<string>();
  for (const entry of root?.kind === "map" ? root.entries : []) {
    const known = knownKey(entry.key);
    const [keyStart, keyEnd] = [toFile(entry.keyStart), toFile(entry.keyEnd)];
    if (known && seen.has(known)) more.push({ message: `'${entry.key}' is given twice`, start: keyStart, end: keyEnd });
    if (known) seen.add(known);
    entries.push({ key: entry.key, known, keyStart, keyEnd, value: moveNode(entry.value, toFile) });
  }
  const inFile = problems.map((problem) => ({ ...problem, start: toFile(problem.start), end: toFile(problem.end) }));
  return { entries, problems: [...inFile, ...more], docstring, start, bodyStart };
}

function commentLines(file: string): { lines: Line[]; start: number; bodyStart: number } {
  const lines: Line[] = [];
  let at = file.startsWith("\ufeff") ? 1 : 0;
  let start = -1;
  let bodyStart = at;
  while (at < file.length) {
    const newline = file.indexOf("\n", at);
    const next = newline < 0 ? file.length : newline + 1;
    const blanks = /[^\S\n]*/y;
    blanks.lastIndex = at;
    blanks.exec(file);
    const content = blanks.lastIndex;
    if (file.startsWith("--", content)) {
      if (start < 0) start = content;
      const raw = file.slice(content + 2, newline < 0 ? file.length : newline);
      lines.push({ text: raw.endsWith("\r") ? raw.slice(0, -1) : raw, offset: content + 2 });
    } else if (content < next && content !== newline && content < file.length) break;
    at = next;
    bodyStart = next;
  }
  return { lines, start: Math.max(start, 0), bodyStart };
}

interface Origin {
  /** Offset in the YAML text where a line begins. */
  readonly yaml: number;
  /** Its offset in the file. */
  readonly file: number;
  /** The line's end in the file. */
  readonly end: number;
}

/**
 * Splits the comment lines into YAML, whose entries are brought to one indentation, and docstring.
 */
function splitYaml(lines: readonly Line[]): { yaml: string; origins: Origin[]; doc: string[] } {
  let yaml = "";
  const origins: Origin[] = [];
  const doc: string[] = [];
  let base = -1;
  let open = false;
  for (const line of lines) {
    const indent = line.text.length - line.text.trimStart().length;
    const content = line.text.slice(indent);
    const entry = ENTRY.exec(content);
    const isDeeper = indent > base || (indent === base && /^- |^-$|^[\]}]/.test(content));
    const goesOn: boolean = base >= 0 && open && content !== "" && isDeeper;
    if (!goesOn && !(entry && isEntry(entry[1] as string))) {
      if (base < 0 || content !== "") base = -1;
      doc.push(content);
      continue;
    }
    if (!goesOn) base = indent;
    if (!goesOn) open = staysOpen(content.slice((entry?.[0] ?? "").length).trim());
    const drop = Math.min(indent, base);
    origins.push({ yaml: yaml.length, file: line.offset + drop, end: line.offset + line.text.length });
    yaml += `${line.text.slice(drop)}\n`;
  }
  return { yaml, origins, doc };
}

/**
 * Whether a value goes on in deeper lines: nothing yet, a block scalar, or a bracket that is not
 * closed.
 */
function staysOpen(value: string): boolean {
  const count = (brackets: RegExp): number => value.match(brackets)?.length ?? 0;
  return value === "" || /^[|>&]/.test(value) || count(/[[{]/g) > count(/[\]}]/g);
}

function isEntry(key: string): boolean {
  if (knownKey(key) || isPartitionedBy(key)) return true;
  if (PROSE.has(key.toLowerCase())) return false;
  return key === key.toLowerCase() || closestNames(key, HEADER_KEYS).some((name) => Math.abs(name.length - key.length) <= 1);
}

/** The key that a word stands for, in any case; undefined = none. */
export function knownKey(key: string): HeaderKey | undefined {
  const plain = plainKey(key);
  return HEADER_KEYS.find((known) => known === plain);
}

/** Whether a key is `partitioned_by`, which Python resolvers alone have. */
export function isPartitionedBy(key: string): boolean {
  return plainKey(key) === PARTITIONED_BY;
}

function plainKey(key: string): string {
  return key.toLowerCase().replaceAll("-", "_");
}

function moveNode(node: YamlNode, move: (offset: number) => number): YamlNode {
  const [start, end] = [move(node.start), move(node.end)];
  if (node.kind === "list") return { ...node, start, end, items: node.items.map((item) => moveNode(item, move)) };
  if (node.kind === "scalar") return { ...node, start, end };
  const entries = node.entries.map((entry) => ({
    ...entry,
    keyStart: move(entry.keyStart),
    keyEnd: move(entry.keyEnd),
    value: moveNode(entry.value, move),
  }));
  return { ...node, start, end, entries };
}
