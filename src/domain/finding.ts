/** Making findings of lint. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Diagnostic, DiagnosticSchema, type RelatedSpanSchema, Severity, type Span } from "../../gen/svc/v1/error_pb.ts";

/** What a finding may carry beside its rule, message and place. */
export interface FindingDetails {
  /** A few words under the marker. */
  readonly label?: string;
  readonly related?: readonly { readonly span: Span; readonly message: string }[];
  readonly hint?: string;
  /** What could stand at the finding's place instead, best first. */
  readonly replacements?: readonly string[];
}

/** An error: it stops a deployment. */
export function errorAt(code: number, span: Span | undefined, message: string, details: FindingDetails = {}): Diagnostic {
  return finding(Severity.ERROR, code, span, message, details);
}

/** A warning: it is shown and stops nothing. */
export function warningAt(code: number, span: Span | undefined, message: string, details: FindingDetails = {}): Diagnostic {
  return finding(Severity.WARNING, code, span, message, details);
}

/** Whether a finding stops a deployment; a severity that is not stated is read as an error. */
export function isError(diagnostic: Diagnostic): boolean {
  return diagnostic.severity !== Severity.WARNING;
}

function finding(severity: Severity, code: number, span: Span | undefined, message: string, details: FindingDetails): Diagnostic {
  const related = (details.related ?? []) as MessageInitShape<typeof RelatedSpanSchema>[];
  const { label = "", hint = "", replacements = [] } = details;
  return create(DiagnosticSchema, { severity, code, span, message, label, hint, related, replacements: [...replacements] });
}

/**
 * Findings of several passes in the order of file, line, column and rule. What a pass says of a rule, file and line that an earlier pass has spoken of
 * already is dropped; within a pass only the very same finding is.
 */
export function mergeFindings(...passes: readonly (readonly Diagnostic[])[]): Diagnostic[] {
  const merged: Diagnostic[] = [];
  const lines = new Set<string>();
  const exact = new Set<string>();
  for (const pass of passes) {
    const fresh = pass.filter((diagnostic) => !lines.has(lineKey(diagnostic)));
    for (const diagnostic of fresh) {
      const key = `${lineKey(diagnostic)} ${diagnostic.span?.column} ${diagnostic.message}`;
      if (!exact.has(key)) merged.push(diagnostic);
      exact.add(key);
    }
    for (const diagnostic of fresh) lines.add(lineKey(diagnostic));
  }
  return merged.sort(compareFindings);
}

function lineKey({ code, span, message }: Diagnostic): string {
  return span ? `${code} ${span.line} ${span.file}` : `${code} ${message}`;
}

function compareFindings(a: Diagnostic, b: Diagnostic): number {
  const [left, right] = [a.span, b.span];
  if (!left || !right) return Number(Boolean(left)) - Number(Boolean(right)) || a.code - b.code;
  if (left.file !== right.file) return left.file < right.file ? -1 : 1;
  return left.line - right.line || left.column - right.column || a.code - b.code;
}
