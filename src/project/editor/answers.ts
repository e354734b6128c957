/** Answers about a position in a document: suggestions, a hover, a definition. */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { ruleOf } from "../../domain/rules/rules.ts";
import type { LspRange } from "../../output/diagnostic.ts";
import type { TextRange } from "../lint/python-expression.ts";
import { describe, describeRule, typeOf } from "./describe.ts";
import { nameBefore, nameFrom } from "./identifier.ts";
import { headerKeyAt, meaningAt, type Suggestion, suggestionsAt } from "./name-lookup.ts";
import { offsetsOf, rangeOf } from "./text-position.ts";
import type { Meaning, Vocabulary } from "./vocabulary.ts";

/** A position in a document. */
export interface DocumentPosition {
  readonly vocabulary: Vocabulary;
  /** Relative to the root. */
  readonly path: string;
  readonly text: string;
  readonly offset: number;
}

/** CompletionItemKind of the protocol. */
const KINDS: Readonly<Record<Suggestion["kind"], number>> = { class: 7, feature: 5, relation: 18, keyword: 14, value: 12 };

/** The suggestions as items of the protocol; each replaces the word that it completes. */
export function completionsAt(position: DocumentPosition | undefined): unknown[] {
  if (!position) return [];
  const { offset, path, text, vocabulary } = position;
  const from = offset - nameBefore(text.slice(0, offset)).length;
  const to = offset + nameFrom(text, offset).length;
  return suggestionsAt(vocabulary, path, text, offset).map(({ about, kind, label, meaning }) => ({
    label,
    kind: KINDS[kind],
    detail: detailOf(vocabulary, meaning),
    documentation: documentationOf(about ?? (meaning && describe(vocabulary, meaning))),
    textEdit: { range: rangeOf(text, from, to), newText: label },
  }));
}

/** The description of the name at the position, and of the rules whose findings are there. */
export function hoverAt(position: DocumentPosition | undefined, findings: readonly Diagnostic[]): unknown {
  if (!position) return undefined;
  const { offset, path, text, vocabulary } = position;
  const meaning = meaningAt(vocabulary, path, text, offset);
  const broken = findings.filter(({ span }) => span?.file === path && isWithin(offset, offsetsOf(text, span)));
  const rules = new Set(broken.map((finding) => ruleOf(finding)).filter((rule) => rule !== undefined));
  const about = meaning ? describe(vocabulary, meaning) : headerKeyAt(path, text, offset);
  const parts = [...(about === undefined ? [] : [about]), ...[...rules].map(describeRule)];
  return parts.length === 0 ? undefined : { contents: { kind: "markdown", value: parts.join("\n\n---\n\n") } };
}

function documentationOf(value: string | undefined): unknown {
  return value === undefined ? undefined : { kind: "markdown", value };
}

function isWithin(offset: number, { from, to }: TextRange): boolean {
  return from <= offset && offset <= to;
}

/** The definition of the name at the position. */
export function definitionAt(
  position: DocumentPosition | undefined,
  uriOf: (path: string) => string,
): { readonly uri: string; readonly range: LspRange } | undefined {
  const meaning = position && meaningAt(position.vocabulary, position.path, position.text, position.offset);
  const span = meaning && (meaning.kind === "class" ? meaning.set : meaning.feature).span;
  const text = span && position.vocabulary.text(span.file);
  if (!span || text === undefined) return undefined;
  const { from, to } = offsetsOf(text, span);
  return { uri: uriOf(span.file), range: rangeOf(text, from, to) };
}

function detailOf(vocabulary: Vocabulary, meaning: Meaning | undefined): string | undefined {
  if (!meaning) return undefined;
  return meaning.kind === "class" ? meaning.set.namespace : typeOf(vocabulary, meaning.feature) || undefined;
}
