/**
 * The renaming of a class, a feature or a resolver everywhere at once. It is refused when it could
 * change anything but the name.
 */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { namespaceOf } from "../../domain/name.ts";
import { readAnnotation } from "../lint/annotation.ts";
import type { ProjectText } from "../lint/lint.ts";
import { PYTHON_KEYWORDS } from "../lint/python-tokens.ts";
import { wholeName } from "./identifier.ts";
import { type NamedText, Occurrences } from "./occurrences.ts";
import type { Occurrence, ProjectSymbol } from "./symbol.ts";
import { positionOf } from "./text-position.ts";
import { type Edit, withEdits } from "./workspace-edit.ts";

/** The error of a name that cannot be changed; its message is for the user. */
export class RenameRefused extends Error {
  override readonly name = "RenameRefused";
}

/** A project before it is changed. */
export interface RenameInput {
  readonly occurrences: Occurrences;
  /** The content of the current text. */
  readonly read: ProjectText;
  /** The content that the deployed files would have with other texts. */
  readText(files: readonly NamedText[]): ProjectText;
}

/** The two names of a symbol. */
interface Names {
  readonly python: string;
  readonly query: string;
}

const IDENTIFIER = /^[\p{ID_Start}_][\p{ID_Continue}]*$/u;
const QUERY_NAME = /^[A-Za-z][A-Za-z0-9_]*$/;
const WINDOW_END = /__\d+__$/;
/** Most characters of a window in a name, such as `__600__`. */
const LONGEST_WINDOW = 30;
/** Words that SQL reads otherwise than as a name, in at least one of the databases. */
const SQL_WORDS = new Set(
  "all alter and any array as asc between both by case cast check collate column constraint create cross current_date current_time current_timestamp database default delete desc distinct drop else end except exists false fetch for foreign from full grant group groups having if in index inner insert intersect interval into is join key keys left like limit natural not null of offset on or order outer over primary range rank references replace right row rows schema select set table then to trigger true union unique update using values when where window with".split(
    " ",
  ),
);

/** A check of an occurrence: throws RenameRefused when its symbol cannot be renamed there. */
export function checkRenamable({ symbol, nameKind }: Occurrence, text: string): void {
  const { kind, name, nameOption, queryName } = symbol;
  if (nameKind === "alias")
    throw new RenameRefused(
      `'${text}' is another name that an import gives ${name}: rename it by hand, or rename ${name} where it is defined`,
    );
  if (queryName === undefined && kind !== "resolver")
    throw new RenameRefused(`only running the code tells what ${name} is called in queries: rename it by hand`);
  if (nameKind === "query" && kind === "class" && !nameOption)
    throw new RenameRefused(`the namespace '${text}' follows from the name of ${name}: rename the class, or give it name=`);
}

/**
 * The edits by file that rename the symbol of an occurrence. With them the project has no new
 * finding, and the same occurrences name the symbol. Throws RenameRefused.
 */
export function renameEdits(at: Occurrence, newName: string, input: RenameInput): Map<string, Edit[]> {
  const { occurrences } = input;
  const texts = new Map(occurrences.files.map(({ path, text }) => [path, text]));
  const { symbol } = at;
  checkRenamable(at, (texts.get(at.path) ?? "").slice(at.from, at.to));
  const names = newNames(at, newName);
  const own = occurrences.of(symbol);
  checkFree(symbol, names, input, own);
  checkOccurrences(symbol, occurrences, texts, own);
  const edits = new Map<string, Edit[]>();
  for (const [path, found] of Map.groupBy(own, ({ path }) => path)) {
    const made = found.flatMap((occurrence) => editOf(occurrence, names, texts.get(path) ?? "") ?? []);
    if (made.length > 0) edits.set(path, made);
  }
  checkOutcome(symbol, names, input, edits);
  return edits;
}

function newNames({ symbol, nameKind }: Occurrence, newName: string): Names {
  const { kind, name, nameOption, queryName = name } = symbol;
  if (nameKind === "query" && nameOption) {
    if (!QUERY_NAME.test(newName) || WINDOW_END.test(newName))
      throw new RenameRefused(`'${newName}' is no name for queries: write a letter, and then letters, digits and '_'`);
    return { python: name, query: newName };
  }
  const isPlain = IDENTIFIER.test(newName) && !PYTHON_KEYWORDS.has(newName) && !/^(?:None|True|False)$/.test(newName);
  if (!isPlain) throw new RenameRefused(`'${newName}' is no name in Python: write letters, digits and '_', and no keyword`);
  if (kind === "feature" && (newName.startsWith("_") || WINDOW_END.test(newName)))
    throw new RenameRefused(
      `'${newName}' is no name of a feature: names that begin with '_' or end as '__600__' does have a meaning of their own`,
    );
  return { python: newName, query: nameOption ? queryName : kind === "class" ? namespaceOf(newName) : newName };
}

/** Refuses names that are taken. */
function checkFree(symbol: ProjectSymbol, names: Names, { read }: RenameInput, own: readonly Occurrence[]): void {
  const taken = (what: string, other: { readonly module: { readonly path: string } }) =>
    new RenameRefused(`${what} already: it is defined in ${other.module.path}`);
  if (symbol.kind === "feature" && symbol.owner) {
    const { owner } = symbol;
    for (const field of owner.fields.values()) {
      if (field.source === symbol.definition) continue;
      if (field.attribute === names.python || field.name === names.query)
        throw taken(`${owner.definition.name} has a feature '${field.attribute}'`, owner);
    }
    if (owner.definition.others.includes(names.python)) throw taken(`${owner.definition.name} has a '${names.python}'`, owner);
    checkTime(symbol, names, read);
    return;
  }
  for (const other of symbol.kind === "class" ? read.model.classes : []) {
    if (other.definition === symbol.definition) continue;
    if (other.definition.name === names.python) throw taken(`there is a class ${names.python}`, other);
    if (other.namespace === names.query) throw taken(`there is a namespace '${names.query}'`, other);
  }
  if (names.python === symbol.name) return;
  const paths = new Set(own.filter(({ nameKind }) => nameKind === "python").map(({ path }) => path));
  for (const module of read.model.modules)
    if (paths.has(module.path) && module.names.has(names.python))
      throw new RenameRefused(`${module.path} has a name '${names.python}' already`);
}

/**
 * Refuses to change which feature is the feature time: where none is marked, it is the datetime
 * called `ts`.
 */
function checkTime({ owner, definition, name }: ProjectSymbol, names: Names, { model }: ProjectText): void {
  if (!owner || (name !== "ts" && names.python !== "ts") || name === names.python) return;
  const fields = [...owner.fields.values()];
  if (fields.some(({ source }) => readAnnotation(model, owner.module, source.annotation).time)) return;
  const { annotation } = fields.find(({ source }) => source === definition)?.source ?? {};
  if (annotation && /\bdatetime\b/.test(owner.module.text.slice(annotation.from, annotation.to)))
    throw new RenameRefused(
      `a datetime called 'ts' is the feature time of ${owner.definition.name}: annotate the feature time FeatureTime first`,
    );
}

/**
 * Refuses symbols whose occurrences cannot all be known: names that are bound in several ways,
 * files that cannot be read, and names that may mean something else.
 */
function checkOccurrences(
  { definition, module, name, owner, queryName = name }: ProjectSymbol,
  { index, unread }: Occurrences,
  texts: ReadonlyMap<string, string>,
  own: readonly Occurrence[],
): void {
  const bound = owner?.definition ?? definition;
  const meaning = index.model.meaning(module, [bound.name]);
  if (!("model" in meaning && meaning.model.definition === bound))
    throw new RenameRefused(`${bound.name} is bound more than once in ${module.path}, or under a condition: rename it by hand`);
  const mention = new RegExp(`${wholeName(name)}|${wholeName(queryName)}`, "u");
  const blind = unread.find(({ text }) => mention.test(text));
  if (blind) throw new RenameRefused(`${blind.path} names '${name}' and cannot be read: put it right first`);
  const open = own.find(({ isUncertain }) => isUncertain);
  if (!open) return;
  const text = texts.get(open.path) ?? "";
  const line = positionOf(text, open.from).line + 1;
  const where = `${open.path}:${line}`;
  throw new RenameRefused(
    `'${text.slice(open.from, open.to)}' in ${where} may be this column or one of the database: change that query by hand first`,
  );
}

/** The edit of one occurrence; undefined when its name stays. */
function editOf({ aliasAt, from, isColumn, path, nameKind, symbol, to }: Occurrence, names: Names, text: string): Edit | undefined {
  if (nameKind === "alias" || names[nameKind] === (nameKind === "python" ? symbol.name : symbol.queryName)) return undefined;
  const newText = names[nameKind];
  if (isColumn && SQL_WORDS.has(newText.toLowerCase()))
    throw new RenameRefused(`'${newText}' is a word of SQL, and ${path} has a column of that feature: choose another name`);
  if (aliasAt === undefined) return { from, to, newText };
  const window = /^__\d+__/.exec(text.slice(to, to + LONGEST_WINDOW))?.[0] ?? "";
  return { from: aliasAt, to: aliasAt, newText: ` as ${newText}${window}` };
}

/** Refuses edits that would change the meaning of a name, or cause a finding. */
function checkOutcome(symbol: ProjectSymbol, names: Names, input: RenameInput, edits: ReadonlyMap<string, readonly Edit[]>): void {
  const { occurrences, read } = input;
  const files = occurrences.files.map(({ path, text }) => ({ path, text: withEdits(text, edits.get(path) ?? []) }));
  const after = input.readText(files);
  const before = new Set(read.diagnostics.map(keyOf));
  const fresh = after.diagnostics.find((finding) => !before.has(keyOf(finding)));
  if (fresh) {
    const { message, span } = fresh;
    throw new RenameRefused(
      `with that name ${span ? `${span.file}:${span.line} would be wrong` : "the project would be wrong"}: ${message}`,
    );
  }
  const moved = new Occurrences(after, files);
  const renamed = moved.of(findRenamed(symbol, names, moved) ?? symbol);
  if (renamed.length !== occurrences.of(symbol).length)
    throw new RenameRefused(`'${names.python}' means something else in a place where ${symbol.name} is named: choose another name`);
}

function findRenamed(symbol: ProjectSymbol, names: Names, moved: Occurrences): ProjectSymbol | undefined {
  const isIt = ({ isDefinition, symbol: other }: Occurrence): boolean =>
    isDefinition &&
    other.kind === symbol.kind &&
    other.name === names.python &&
    other.owner?.definition.name === symbol.owner?.definition.name;
  return moved.in(symbol.module.path).find(isIt)?.symbol;
}

function keyOf({ code, span }: Diagnostic): string {
  return `${code} ${span?.file} ${span?.line}`;
}
