/** Edits of a project's texts, as an editor applies them. */

import type { LspRange } from "../../output/diagnostic.ts";
import type { ProjectTexts } from "./project-texts.ts";
import { rangesOf } from "./text-position.ts";

/** The replacement of a range of text; offsets in UTF-16 units. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly newText: string;
}

interface TextEdit {
  readonly range: LspRange;
  readonly newText: string;
}

/**
 * A `WorkspaceEdit`: by document and version for editors that know those, so that an edit of a text
 * that has changed since is refused; else by URI.
 */
export function workspaceEdit(texts: ProjectTexts, edits: ReadonlyMap<string, readonly Edit[]>, byVersion: boolean): unknown {
  const changed = [...edits].map(([path, list]): { uri: string; version: number | null; edits: TextEdit[] } => {
    const ranges = rangesOf(texts.text(path) ?? "", list);
    const made = list.map(({ newText }, at) => ({ range: ranges[at] as LspRange, newText }));
    return { uri: texts.uriOf(path), version: texts.opened(path)?.version ?? null, edits: made };
  });
  if (!byVersion) return { changes: Object.fromEntries(changed.map(({ uri, edits: made }) => [uri, made])) };
  return { documentChanges: changed.map(({ uri, version, edits: made }) => ({ textDocument: { uri, version }, edits: made })) };
}

/** The text with edits that do not overlap. */
export function withEdits(text: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { from, to, newText } of edits.toSorted((a, b) => a.from - b.from)) {
    parts.push(text.slice(at, from), newText);
    at = to;
  }
  return parts.join("") + text.slice(at);
}
