/** Parts of the pages of one feature and one resolver: headings, facts, source text, and users. */

import { LineageKind, type LineageNode, type SourceText } from "../../gen/svc/v1/graph_pb.ts";
import { escapeControls, readableName } from "../domain/name.ts";
import { visibleLines } from "../domain/visible.ts";
import { factLines } from "../output/facts.ts";
import type { Style } from "../output/view.ts";

const KINDS: Readonly<Record<LineageKind, string>> = {
  [LineageKind.UNSPECIFIED]: "",
  [LineageKind.SOURCE]: "source",
  [LineageKind.RESOLVER]: "resolver",
  [LineageKind.FEATURE]: "feature",
  [LineageKind.CLASS]: "class",
  [LineageKind.QUERY]: "named query",
  [LineageKind.SCHEDULED_QUERY]: "scheduled query",
};

/** A node in words: `resolver risk.score`. */
export function nodeText({ kind, name }: LineageNode): string {
  return escapeControls(`${KINDS[kind]} ${readableName(name)}`.trim());
}

/** Facts of a definition by their names; those without a value are left out. */
export function definitionFacts(facts: Readonly<Record<string, string | undefined>>): string {
  return factLines(Object.entries(facts).flatMap(([name, value]) => (value ? [[name, escapeControls(value)] as const] : [])));
}

/** Parts with a heading each, apart by empty lines; empty ones are left out. */
export function sections(first: string, parts: Readonly<Record<string, readonly string[]>>, style: Style): string {
  const shown = Object.entries(parts).filter(([, lines]) => lines.length > 0);
  return [first, ...shown.map(([heading, lines]) => [style.bold(heading), ...lines.map((line) => `  ${line}`)].join("\n"))].join("\n\n");
}

/** Source text with the numbers of its lines, or the reason why there is none. */
export function sourceLines(source: SourceText | undefined, style: Style): string[] {
  if (!source) return [];
  if (source.missing !== "") return [style.dim(escapeControls(source.missing))];
  const lines = visibleLines(source.text).split("\n");
  const width = String(source.line + lines.length - 1).length;
  const numbered = lines.map((line, at) => `${style.dim(String(source.line + at).padStart(width))}  ${line}`.trimEnd());
  return source.truncated ? [...numbered, style.dim("... it goes on")] : numbered;
}

/** Where a definition is: `features.py:12`. */
export function placeText(source: SourceText | undefined, span: { readonly file: string; readonly line: number } | undefined): string {
  const file = span?.file ?? source?.file;
  return file ? `${file}:${span?.line ?? source?.line}` : "";
}

/** What uses it, one a line. */
export function usedByLines({
  usedBy,
  usedByLeftOff,
}: {
  readonly usedBy: readonly LineageNode[];
  readonly usedByLeftOff: number;
}): string[] {
  return [...usedBy.map(nodeText), ...(usedByLeftOff > 0 ? [`and ${usedByLeftOff} more`] : [])];
}
