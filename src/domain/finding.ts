/** Findings of lint. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Diagnostic, DiagnosticSchema, type RelatedSpanSchema, Severity, type Span } from "../../gen/svc/v1/error_pb.ts";
import type { RuleProblem } from "./rules/rule.ts";

/** The parts that not every finding has. */
export interface FindingDetails {
  readonly related?: readonly { readonly span: Span; readonly message: string }[];
  readonly hint?: string;
  /** Texts that could replace the finding's span, best first. */
  readonly replacements?: readonly string[];
}

/**
 * A finding: a problem that a rule states, with its span. Without a span it is about the project.
 */
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
 * Findings of several passes in the order of file, line, column and rule. A finding is dropped when
 * an earlier pass has one of the same rule, file and line; within a pass only repetitions are
 * dropped.
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
