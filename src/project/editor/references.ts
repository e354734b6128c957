/**
 * Answers about all occurrences of a name: references, highlights, definitions, and what can be
 * renamed.
 */

import type { LspRange } from "../../output/diagnostic.ts";
import type { Occurrences } from "./occurrences.ts";
import type { ProjectTexts } from "./project-texts.ts";
import { checkRenamable } from "./rename.ts";
import type { Occurrence } from "./symbol.ts";
import { rangeOf, rangesOf } from "./text-position.ts";

/** DocumentHighlightKind of the protocol: a definition is written, all else is read. */
const HIGHLIGHT = { read: 2, write: 3 } as const;

/** A range of a document. */
export interface Location {
  readonly uri: string;
  readonly range: LspRange;
}

/** The locations of a symbol's occurrences, by file. */
export function referencesOf(texts: ProjectTexts, occurrences: Occurrences, at: Occurrence, withDefinition: boolean): Location[] {
  const shown = occurrences.of(at.symbol).filter(({ isDefinition, isUncertain }) => !isUncertain && (withDefinition || !isDefinition));
  return [...Map.groupBy(shown, ({ path }) => path)].flatMap(([path, found]) => {
    const uri = texts.uriOf(path);
    return rangesOf(texts.text(path) ?? "", found).map((range) => ({ uri, range }));
  });
}

/** The occurrences of the same symbol in the document of an occurrence. */
export function highlightsOf(texts: ProjectTexts, occurrences: Occurrences, { path, symbol }: Occurrence): unknown[] {
  const found = occurrences.in(path).filter((one) => one.symbol.definition === symbol.definition && !one.isUncertain);
  const ranges = rangesOf(texts.text(path) ?? "", found);
  return found.map(({ isDefinition }, at) => ({ range: ranges[at], kind: isDefinition ? HIGHLIGHT.write : HIGHLIGHT.read }));
}

/** The definitions of the symbol of an occurrence. */
export function definitionsOf(texts: ProjectTexts, occurrences: Occurrences, { symbol }: Occurrence): Location[] {
  const { path, text } = symbol.module;
  return occurrences
    .of(symbol)
    .filter(({ isDefinition, nameKind }) => isDefinition && nameKind === "python")
    .map(({ from, to }) => ({ uri: texts.uriOf(path), range: rangeOf(text, from, to) }));
}

/**
 * The range that can be renamed at an occurrence, and its text. Throws RenameRefused when there is
 * none.
 */
export function renamableAt(text: string, at: Occurrence): { readonly range: LspRange; readonly placeholder: string } {
  const placeholder = text.slice(at.from, at.to);
  checkRenamable(at, placeholder);
  return { range: rangeOf(text, at.from, at.to), placeholder };
}
