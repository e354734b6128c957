/** What an editor is answered when it asks about a place: suggestions, a hover, a definition. */

import type { LspRange } from "../../output/diagnostic.ts";
import { describe, typeOf } from "./describe.ts";
import { nameBefore, nameFrom } from "./identifier.ts";
import { meaningAt, type Suggestion, suggestionsAt } from "./place.ts";
import { offsetsOf, rangeOf } from "./text-position.ts";
import type { Meaning, Vocabulary } from "./vocabulary.ts";

/** A place in a document. */
export interface Place {
  readonly vocabulary: Vocabulary;
  /** Relative to the root. */
  readonly path: string;
  readonly text: string;
  readonly offset: number;
}

/** CompletionItemKind of the protocol. */
const KINDS: Readonly<Record<Suggestion["kind"], number>> = { class: 7, feature: 5, relation: 18, keyword: 14, value: 12 };

/** The suggestions as items of the protocol; each replaces the word that it completes. */
export function completionsAt(place: Place | undefined): unknown[] {
  if (!place) return [];
  const { offset, path, text, vocabulary } = place;
  const from = offset - nameBefore(text.slice(0, offset)).length;
  const to = offset + nameFrom(text, offset).length;
  return suggestionsAt(vocabulary, path, text, offset).map(({ kind, label, meaning }) => ({
    label,
    kind: KINDS[kind],
    detail: detailOf(vocabulary, meaning),
    documentation: meaning && { kind: "markdown", value: describe(vocabulary, meaning) },
    textEdit: { range: rangeOf(text, from, to), newText: label },
  }));
}

/** What is known of the name at the place. */
export function hoverAt(place: Place | undefined): unknown {
  const meaning = place && meaningAt(place.vocabulary, place.path, place.text, place.offset);
  return meaning && { contents: { kind: "markdown", value: describe(place.vocabulary, meaning) } };
}

/** Where the name at the place is defined. */
export function definitionAt(
  place: Place | undefined,
  uriOf: (path: string) => string,
): { readonly uri: string; readonly range: LspRange } | undefined {
  const meaning = place && meaningAt(place.vocabulary, place.path, place.text, place.offset);
  const span = meaning && (meaning.kind === "class" ? meaning.set : meaning.feature).span;
  const text = span && place.vocabulary.text(span.file);
  if (!span || text === undefined) return undefined;
  const { from, to } = offsetsOf(text, span);
  return { uri: uriOf(span.file), range: rangeOf(text, from, to) };
}

function detailOf(vocabulary: Vocabulary, meaning: Meaning | undefined): string | undefined {
  if (!meaning) return undefined;
  return meaning.kind === "class" ? meaning.set.namespace : typeOf(vocabulary, meaning.feature) || undefined;
}
