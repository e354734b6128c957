/** The findings of one SQL file, by offset. */

import type { Diagnostic, Span } from "../../../gen/svc/v1/error_pb.ts";
import { type FindingDetails, finding, isError } from "../finding.ts";
import type { LineMap } from "../line-map.ts";
import type { RuleProblem } from "../rules/rule.ts";

/** Errors that one file shows at most: a generated file can have any number. */
const SHOWN_ERRORS = 200;

/** A collector of findings. Offsets "in the body" count from the first line behind the header. */
export class FileReport {
  readonly findings: Diagnostic[] = [];

  constructor(
    readonly lines: LineMap,
    readonly bodyStart: number,
  ) {}

  /** Whether an error was found. */
  get hasErrors(): boolean {
    return this.findings.some(isError);
  }

  /** Text behind the header. */
  get body(): string {
    return this.lines.text.slice(this.bodyStart);
  }

  /** Adds a finding that was made elsewhere. */
  add(diagnostic: Diagnostic): void {
    if (this.findings.length < SHOWN_ERRORS) this.findings.push(diagnostic);
  }

  /** Adds a finding at offsets of the file. */
  addAt(problem: RuleProblem, start: number, end: number, details?: FindingDetails): void {
    this.addFinding(problem, this.span(start, end), details);
  }

  /** Adds a finding at a span. */
  addFinding(problem: RuleProblem, span: Span | undefined, details?: FindingDetails): void {
    this.add(finding(problem, span, details));
  }

  /** Adds a finding at offsets of the body. */
  addInBody(problem: RuleProblem, start: number, end: number, details?: FindingDetails): void {
    this.addFinding(problem, this.spanInBody(start, end), details);
  }

  /** A span of the file. */
  span(start: number, end: number): Span {
    return this.lines.span(start, end);
  }

  /** A span of the body. */
  spanInBody(start: number, end: number): Span {
    return this.lines.span(this.bodyStart + start, this.bodyStart + end);
  }
}
