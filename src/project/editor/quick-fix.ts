/** Quick fixes: edits for findings that have replacements. */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { lspDiagnostic } from "../../output/diagnostic.ts";
import type { ProjectTexts } from "./project-texts.ts";
import { offsetsOf } from "./text-position.ts";
import { workspaceEdit } from "./workspace-edit.ts";

/** CodeActionKind of the protocol. */
export const QUICK_FIX = "quickfix";

/** A request for the quick fixes of a part of a file. */
export interface QuickFixRequest {
  readonly path: string;
  /** Offsets in the file. */
  readonly from: number;
  readonly to: number;
  /** Whether the editor takes edits by version. */
  readonly byVersion: boolean;
}

/**
 * The code actions for the findings that touch a part of a file. The only fix of a finding is
 * preferred.
 */
export function quickFixes(
  texts: ProjectTexts,
  findings: readonly Diagnostic[],
  { byVersion, from, path, to }: QuickFixRequest,
): unknown[] {
  const text = texts.text(path) ?? "";
  return findings.flatMap((finding) => {
    const { replacements, span } = finding;
    if (span?.file !== path || replacements.length === 0) return [];
    const range = offsetsOf(text, span);
    if (range.to < from || range.from > to) return [];
    const { uri: _, ...shown } = lspDiagnostic(finding, (file) => texts.text(file), texts.project.root);
    return replacements.map((newText) => ({
      title: `Change to '${newText}'`,
      kind: QUICK_FIX,
      diagnostics: [shown],
      isPreferred: replacements.length === 1,
      edit: workspaceEdit(texts, new Map([[path, [{ ...range, newText }]]]), byVersion),
    }));
  });
}
