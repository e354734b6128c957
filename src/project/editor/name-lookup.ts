/** Look-up at an offset of a file: the name there, and suggestions that complete it. */

import type { FeatureSet } from "../../../gen/svc/v1/graph_pb.ts";
import { isSqlFile } from "../../domain/source-file.ts";
import { HEADER_KEYS, HEADER_MEANINGS, knownKey } from "../../domain/sql/header.ts";
import { nameBefore, nameFrom, pathBefore, wholeName } from "./identifier.ts";
import { lineStart } from "./text-position.ts";
import type { Meaning, Vocabulary } from "./vocabulary.ts";

/** One suggestion. */
export interface Suggestion {
  readonly label: string;
  readonly kind: "class" | "feature" | "relation" | "keyword" | "value";
  readonly meaning?: Meaning;
  /** Markdown about what is neither a class nor a feature. */
  readonly about?: string;
}

/** The class or feature whose name is at an offset. */
export function meaningAt(vocabulary: Vocabulary, path: string, text: string, offset: number): Meaning | undefined {
  const names = pathBefore(lineBefore(text, offset + nameFrom(text, offset).length));
  if (names.at(-1) === "" || isComment(path, text, offset)) return undefined;
  if (isSqlFile(path)) {
    const found = sqlPath(vocabulary, text, offset, names) ?? headerClass(vocabulary, text, offset, names);
    return found ?? (names.length === 1 && !isHeader(text, offset) ? columnNamed(vocabulary, text, names[0] as string) : undefined);
  }
  return pythonPath(vocabulary, text, names) ?? vocabulary.definedAt(path, offset);
}

/** What a key of a SQL file's header says, as Markdown, where one is at an offset. */
export function headerKeyAt(path: string, text: string, offset: number): string | undefined {
  if (!isSqlFile(path) || !isHeader(text, offset)) return undefined;
  const [, before = "", word = ""] = /^(\s*--\s*)([\w-]+)\s*:/.exec(lineAt(text, offset)) ?? [];
  const at = offset - lineStart(text, offset) - before.length;
  const key = at < 0 || at > word.length ? undefined : knownKey(word);
  return key && `\`${key}\`: ${HEADER_MEANINGS[key]}`;
}

/** Suggestions for an offset. */
export function suggestionsAt(vocabulary: Vocabulary, path: string, text: string, offset: number): Suggestion[] {
  if (isSqlFile(path)) return sqlSuggestions(vocabulary, text, offset);
  if (!path.endsWith(".py") || isComment(path, text, offset)) return [];
  const before = lineBefore(text, offset);
  const names = pathBefore(before);
  if (names.length > 1) {
    const meaning = pythonPath(vocabulary, text, names.slice(0, -1));
    const within = meaning?.kind === "class" ? meaning.set : meaning && vocabulary.target(meaning.feature);
    return within ? members(vocabulary, within, (feature) => vocabulary.attribute(feature)) : [];
  }
  const expectsType = /(?::|->|\[|,|\||=|\(|["'])\s*$/.test(before.slice(0, before.length - nameBefore(before).length));
  return expectsType
    ? [...vocabulary.sets.values()].map((set) => ({ label: set.className, kind: "class", meaning: { kind: "class", set } }))
    : [];
}

function members(
  vocabulary: Vocabulary,
  set: FeatureSet,
  nameOf: (feature: FeatureSet["features"][number]) => string,
  keep: (feature: FeatureSet["features"][number]) => boolean = () => true,
): Suggestion[] {
  const found = new Map<string, Suggestion>();
  for (const feature of set.features) {
    if (!keep(feature) || found.has(nameOf(feature))) continue;
    const kind = vocabulary.target(feature) ? "relation" : "feature";
    found.set(nameOf(feature), { label: nameOf(feature), kind, meaning: { kind: "feature", set, feature } });
  }
  return [...found.values()];
}

/**
 * The meaning of `User.account.name` in Python; the class may be imported under another name, or be
 * reached through its module.
 */
function pythonPath(vocabulary: Vocabulary, text: string, names: readonly string[]): Meaning | undefined {
  const nameOf = (feature: FeatureSet["features"][number]) => vocabulary.attribute(feature);
  for (const [at, name] of names.entries()) {
    const set = vocabulary.classNamed(name) ?? vocabulary.classNamed(aliased(text, name));
    if (set) return vocabulary.follow(set, names.slice(at + 1), nameOf);
    if (!new RegExp(`\\bimport\\b[^\\n#]*${wholeName(name)}`, "u").test(text)) return undefined;
  }
  return undefined;
}

function aliased(text: string, name: string): string {
  const renamed = new RegExp(`\\s+as\\s+${wholeName(name)}`, "u").exec(text);
  return renamed ? nameBefore(text.slice(0, renamed.index)) : "";
}

/** A path inside `${...}`, which starts from a namespace or a class. */
function sqlPath(vocabulary: Vocabulary, text: string, offset: number, names: readonly string[]): Meaning | undefined {
  if (!isPlaceholder(text, offset)) return undefined;
  const [first = "", ...rest] = names;
  const set = vocabulary.sets.get(first) ?? vocabulary.classNamed(first);
  return set && vocabulary.follow(set, rest, (feature) => feature.name);
}

function headerClass(vocabulary: Vocabulary, text: string, offset: number, names: readonly string[]): Meaning | undefined {
  if (!/^--\s*resolves\s*:/i.test(lineAt(text, offset))) return undefined;
  const set = vocabulary.classNamed(names[0] ?? "") ?? vocabulary.sets.get(names[0] ?? "");
  return set && { kind: "class", set };
}

function columnNamed(vocabulary: Vocabulary, text: string, name: string): Meaning | undefined {
  const set = resolvedClass(vocabulary, text);
  return set && vocabulary.follow(set, [name], (feature) => feature.name);
}

function sqlSuggestions(vocabulary: Vocabulary, text: string, offset: number): Suggestion[] {
  const before = lineBefore(text, offset);
  const comment = /^\s*--(.*)$/s.exec(before)?.[1];
  if (comment !== undefined) {
    if (/^\s*resolves\s*:\s*\p{ID_Continue}*$/iu.test(comment))
      return [...vocabulary.sets.values()].map((set) => ({ label: set.className, kind: "class", meaning: { kind: "class", set } }));
    if (/^\s*source\s*:\s*\p{ID_Continue}*$/iu.test(comment)) return vocabulary.sources.map((label) => ({ label, kind: "value" }));
    return isHeader(text, offset) && /^\s*\w*$/.test(comment)
      ? HEADER_KEYS.map((label) => ({ label, kind: "keyword", about: HEADER_MEANINGS[label] }))
      : [];
  }
  if (isPlaceholder(text, offset)) {
    const names = pathBefore(before);
    if (names.length === 1) {
      const sets = [...vocabulary.sets.values()].map(
        (set): Suggestion => ({ label: set.namespace, kind: "class", meaning: { kind: "class", set } }),
      );
      return [...sets, { label: "now", kind: "value" }];
    }
    const meaning = sqlPath(vocabulary, text, offset, names.slice(0, -1));
    const within = meaning?.kind === "class" ? meaning.set : meaning && vocabulary.target(meaning.feature);
    return within ? members(vocabulary, within, (feature) => feature.name) : [];
  }
  const clause = text
    .slice(0, offset)
    .replace(/--[^\n]*|'(?:[^']|'')*'/g, " ")
    .match(/\b(select|from|where|join|on|group|order|having|limit|returning)\b/gi)
    ?.at(-1)
    ?.toLowerCase();
  const set = clause === "select" || clause === "returning" ? resolvedClass(vocabulary, text) : undefined;
  return set
    ? members(
        vocabulary,
        set,
        (feature) => feature.name,
        (feature) => vocabulary.target(feature) === undefined,
      )
    : [];
}

/** The class that a SQL file's header says it resolves. */
function resolvedClass(vocabulary: Vocabulary, text: string): FeatureSet | undefined {
  const name = /^--\s*resolves\s*:\s*["']?([\p{ID_Continue}.]+)/imu.exec(text)?.[1] ?? "";
  return vocabulary.classNamed(name) ?? vocabulary.sets.get(name);
}

function isPlaceholder(text: string, offset: number): boolean {
  return /\$\{[^}\n]*$/.test(lineBefore(text, offset));
}

/** Whether an offset is in the comments before the statement. */
function isHeader(text: string, offset: number): boolean {
  return text
    .slice(0, offset)
    .split("\n")
    .every((line) => /^\s*(?:--|$)/.test(line));
}

function isComment(path: string, text: string, offset: number): boolean {
  const before = lineBefore(text, offset);
  return path.endsWith(".py") && /^(?:[^"'#]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*#/.test(before);
}

function lineBefore(text: string, offset: number): string {
  return text.slice(lineStart(text, offset), offset);
}

function lineAt(text: string, offset: number): string {
  const end = text.indexOf("\n", offset);
  return lineBefore(text, end < 0 ? text.length : end);
}
