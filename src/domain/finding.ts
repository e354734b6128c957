/** Making findings of lint. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Diagnostic, DiagnosticSchema, type RelatedSpanSchema, Severity, type Span } from "../../gen/svc/v1/error_pb.ts";
import type { RuleProblem } from "./rules/rule.ts";

/** What a finding may carry beside what its rule says, and its place. */
export interface FindingDetails {
  readonly related?: readonly { readonly span: Span; readonly message: string }[];
  readonly hint?: string;
  /** What could stand at the finding's place instead, best first. */
  readonly replacements?: readonly string[];
}

/** A finding: what a rule says of a place. Without a place it is about the project. */
export function finding(problem: RuleProblem, span: Span | undefined, details: FindingDetails = {}): Diagnostic {
  const { code, label, message } = problem;
  const severity = problem.severity === "warning" ? Severity.WARNING : Severity.ERROR;
  const related = (details.related ?? []) as MessageInitShape<typeof RelatedSpanSchema>[];
  const { hint = "", replacements = [] } = details;
  return create(DiagnosticSchema, { severity, code, span, message, label, hint, related, replacements: [...replacements] });
}

/** Whether a finding stops a deployment; a severity that is not stated is read as an error. */
export function isError(diagnostic: Diagnostic): boolean {
  return diagnostic.severity !== Severity.WARNING;
}

/**
 * Findings of several passes in the order of file, line, column and rule. What a pass says of a
 * rule, file and line that an earlier pass has spoken of already is dropped; within a pass only the
 * very same finding is.
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
