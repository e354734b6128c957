/**
 * The findings that an editor shows: the analyzer's for text that it has analyzed, those of the
 * text alone for what was written since.
 */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { mergeFindings } from "../../domain/finding.ts";

/** The findings of an analysis, with the text that was analyzed. */
export interface AnalyzedFindings {
  /** Findings of all steps. */
  readonly diagnostics: readonly Diagnostic[];
  /** Findings of the text alone, of the same text. */
  readonly written: readonly Diagnostic[];
  /** The text, by path relative to the root. */
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * The findings for the current text.
 * @param written findings of the current text alone
 * @param text the current text of a file
 */
export function currentFindings(
  written: readonly Diagnostic[],
  analyzed: AnalyzedFindings | undefined,
  text: (path: string) => string | undefined,
): Diagnostic[] {
  if (!analyzed) return [...written];
  const changed = (path: string | undefined) => path !== undefined && text(path) !== analyzed.texts.get(path) && !isConfig(path, analyzed);
  const known = new Set(analyzed.written.map(keyOf));
  const fresh = written.filter((one) => changed(one.span?.file) || !known.has(keyOf(one)));
  return mergeFindings(
    analyzed.diagnostics.filter((one) => !changed(one.span?.file)),
    fresh,
  );
}

/** Files that are not analyzed, such as the project file, have no text here and do not change. */
function isConfig(path: string, { texts }: AnalyzedFindings): boolean {
  return !texts.has(path) && !/\.(?:py|sql)$/.test(path);
}

function keyOf({ code, message, span }: Diagnostic): string {
  return `${code} ${span?.file} ${span?.line} ${span?.column} ${message}`;
}
