/**
 * What an editor is answered about all places of a name: references, highlights, and what renaming
 * changes.
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

/** Where the symbol of an occurrence is named. */
export function referencesOf(texts: ProjectTexts, occurrences: Occurrences, at: Occurrence, withDefinition: boolean): Location[] {
  const shown = occurrences.of(at.symbol).filter(({ isDefinition, isUncertain }) => !isUncertain && (withDefinition || !isDefinition));
  return [...Map.groupBy(shown, ({ path }) => path)].flatMap(([path, found]) => {
    const uri = texts.uriOf(path);
    return rangesOf(texts.text(path) ?? "", found).map((range) => ({ uri, range }));
  });
}

/** Where the document that an occurrence is in names the same symbol. */
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

/** What can be renamed at an occurrence. Throws RenameRefused when it cannot. */
export function renamableAt(text: string, at: Occurrence): { readonly range: LspRange; readonly placeholder: string } {
  const placeholder = text.slice(at.from, at.to);
  checkRenamable(at, placeholder);
  return { range: rangeOf(text, at.from, at.to), placeholder };
}
