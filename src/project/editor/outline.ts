/**
 * Outlines: the feature classes with their features, and the resolvers, that a document or a
 * project defines.
 */

import { isSqlFile, sqlResolverFqn } from "../../domain/source-file.ts";
import type { LspRange } from "../../output/diagnostic.ts";
import type { PythonNode, TextRange } from "../lint/python-expression.ts";
import type { Occurrences } from "./occurrences.ts";
import type { ProjectTexts } from "./project-texts.ts";
import type { Occurrence, ProjectSymbol } from "./symbol.ts";
import { rangesOf } from "./text-position.ts";

/** SymbolKind of the protocol. */
const KINDS: Readonly<Record<ProjectSymbol["kind"], number>> = { class: 5, feature: 8, resolver: 12 };
/** Most symbols of a workspace in one answer; editors show no longer list. */
const MOST_SYMBOLS = 500;

/** A `DocumentSymbol` of the protocol. */
interface DocumentSymbol {
  readonly name: string;
  readonly detail: string;
  readonly kind: number;
  readonly range: LspRange;
  readonly selectionRange: LspRange;
  readonly children: readonly DocumentSymbol[];
}

/** The definitions in a file as a tree. */
export function documentSymbols(occurrences: Occurrences, path: string, text: string): DocumentSymbol[] {
  if (isSqlFile(path)) return sqlSymbols(occurrences, path, text);
  const defined = definitions(occurrences, path);
  const [whole, names] = [rangesOf(text, defined.map(statementOf)), rangesOf(text, defined)];
  const made = defined.map(({ symbol }, at): DocumentSymbol & { children: DocumentSymbol[] } => ({
    name: symbol.name,
    detail: detailOf(symbol, text),
    kind: KINDS[symbol.kind],
    range: whole[at] as LspRange,
    selectionRange: names[at] as LspRange,
    children: [],
  }));
  const classes = new Map(defined.map(({ symbol }, at) => [symbol.definition, made[at]]));
  return made.filter((item, at) => {
    const owner = defined[at]?.symbol.owner;
    if (owner) classes.get(owner.definition)?.children.push(item);
    return !owner;
  });
}

/**
 * The definitions of the project whose names hold the characters of a query in their order, as
 * `SymbolInformation`.
 */
export function workspaceSymbols(texts: ProjectTexts, occurrences: Occurrences, query: string): unknown[] {
  const wanted = [...query.toLowerCase()];
  const found: unknown[] = [];
  for (const { path, text } of occurrences.files) {
    const uri = texts.uriOf(path);
    const add = (name: string, containerName: string, kind: ProjectSymbol["kind"], range: LspRange | undefined): void => {
      if (holds(containerName ? `${containerName}.${name}` : name, wanted))
        found.push({ name, containerName, kind: KINDS[kind], location: { uri, range } });
    };
    const defined = definitions(occurrences, path);
    const ranges = rangesOf(text, defined);
    for (const [at, { symbol }] of defined.entries())
      add(symbol.name, symbol.owner?.definition.name ?? symbol.module.module, symbol.kind, ranges[at]);
    if (isSqlFile(path)) add(sqlResolverFqn(path), "", "resolver", rangesOf(text, [{ from: 0, to: 0 }])[0]);
    if (found.length >= MOST_SYMBOLS) break;
  }
  return found.slice(0, MOST_SYMBOLS);
}

/** Whether a text has characters in their order, in any case. */
function holds(text: string, wanted: readonly string[]): boolean {
  let at = 0;
  for (const character of text.toLowerCase()) if (character === wanted[at]) at++;
  return at === wanted.length;
}

/** A SQL file is one resolver, and the features that its columns fill. */
function sqlSymbols(occurrences: Occurrences, path: string, text: string): DocumentSymbol[] {
  const named = occurrences.in(path);
  const { symbol } = named.find(({ nameKind, symbol: { kind } }) => kind === "class" && nameKind === "python") ?? {};
  const columns = named.filter(({ isColumn, symbol: { kind } }) => isColumn && kind === "feature");
  const [whole, start] = rangesOf(text, [
    { from: 0, to: text.length },
    { from: 0, to: 0 },
  ]) as [LspRange, LspRange];
  const ranges = rangesOf(text, columns);
  const children = columns.map((column, at): DocumentSymbol => {
    const range = ranges[at] as LspRange;
    return { name: column.symbol.queryName ?? "", detail: "", kind: KINDS.feature, range, selectionRange: range, children: [] };
  });
  const detail = symbol?.name ?? "";
  return [{ name: sqlResolverFqn(path), detail, kind: KINDS.resolver, range: whole, selectionRange: start, children }];
}

function definitions(occurrences: Occurrences, path: string): Occurrence[] {
  return occurrences
    .in(path)
    .filter(
      ({ from, symbol: { definition }, isDefinition, nameKind }) => isDefinition && nameKind === "python" && from === definition.from,
    );
}

/**
 * The whole statement that a name is defined in, decorators included and the lines behind it left
 * out.
 */
function statementOf({ from, to, symbol: { module } }: Occurrence): TextRange {
  let node: PythonNode | null = module.tree.resolve(from, 1);
  while (node && !/^(?:Class|Function)Definition$|^AssignStatement$/.test(node.name)) node = node.parent;
  const whole = node?.parent?.name === "DecoratedStatement" ? node.parent : node;
  if (!whole) return { from, to };
  return { from: whole.from, to: whole.from + module.text.slice(whole.from, whole.to).trimEnd().length };
}

function detailOf({ kind, definition, module, queryName = "" }: ProjectSymbol, text: string): string {
  if (kind === "feature" && "annotation" in definition) return text.slice(definition.annotation.from, definition.annotation.to);
  return kind === "resolver" ? `${module.module}.${queryName}` : queryName;
}
