/** Evaluations and their runs as tables and lines. */

import { type EvaluationInfo, type EvaluationRun, EvaluationRunState, type EvaluationScore } from "../../../gen/svc/v1/evaluation_pb.ts";
import { rowFailureText } from "../../domain/evaluation-text.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";

/** States as people name them. */
export const RUN_STATES = {
  received: EvaluationRunState.RECEIVED,
  running: EvaluationRunState.RUNNING,
  succeeded: EvaluationRunState.SUCCEEDED,
  failed: EvaluationRunState.FAILED,
  cancelled: EvaluationRunState.CANCELLED,
} as const;

/** The state of a run in a word. */
export function runState({ state }: Pick<EvaluationRun, "state">): string {
  const name = Object.entries(RUN_STATES).find(([, value]) => value === state)?.[0] ?? "";
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

/** A score with up to four digits behind the point; empty = none. */
export function scoreText(score: number | undefined): string {
  return score === undefined ? "" : String(Number(score.toFixed(4)));
}

/** A scorer's figures in one line. */
export function scoreLine({ scorer, count, errors, mean, p50, p90, p99 }: EvaluationScore): string {
  const figures =
    mean === undefined ? "no scores" : `${scoreText(mean)} (p50 ${scoreText(p50)}, p90 ${scoreText(p90)}, p99 ${scoreText(p99)})`;
  return `${scorer}: ${figures} of ${count} rows${errors > 0n ? `, ${errors} failed` : ""}`;
}

/** The first row of a run that failed, and why; empty = none did. */
export function firstFailureText({ firstFailure }: Pick<EvaluationRun, "firstFailure">): string {
  return firstFailure ? rowFailureText(firstFailure) : "";
}

/** Columns of a list of evaluations. */
export const EVALUATION_COLUMNS: FieldViews<EvaluationInfo> = {
  id: "ID",
  evaluation: { header: "Name", cell: ({ evaluation }) => evaluation?.name ?? "", flexible: true },
  latestScored: { header: "Average Score", align: "right", cell: ({ latestScored }) => scoreText(latestScored?.averageScore) },
};

/** Columns of a list of runs. */
export const RUN_COLUMNS: FieldViews<EvaluationRun> = {
  id: "ID",
  evaluationName: { header: "Evaluation", flexible: true },
  state: { header: "Status", cell: runState },
  averageScore: { header: "Average Score", align: "right", cell: ({ averageScore }) => scoreText(averageScore) },
  rowsDone: { header: "Rows", align: "right", cell: ({ rowsDone, rows }) => `${rowsDone} of ${rows}`, dispensable: true },
  rowsFailed: { header: "Failed", align: "right", dispensable: true },
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** All that people see of a run. */
export const RUN_FIELDS: FieldViews<EvaluationRun> = {
  id: "ID",
  evaluationName: "Evaluation",
  state: { header: "Status", cell: runState },
  averageScore: { header: "Average score", cell: ({ averageScore }) => scoreText(averageScore) },
  scores: { header: "Scores", cell: ({ scores }) => scores.map(scoreLine).join("; ") },
  rowsDone: { header: "Rows", cell: ({ rowsDone, rows }) => `${rowsDone} of ${rows}` },
  rowsFailed: "Failed rows",
  firstFailure: { header: "First failure", cell: firstFailureText },
  dataset: "Dataset",
  revisionId: "Revision",
  resultRevisionId: "Result",
  deploymentId: "Deployment",
  branch: "Branch",
  metadataJson: "Metadata",
  attempts: "Attempts",
  createdAt: "Created",
  startedAt: "Started",
  endedAt: "Ended",
  error: "Error",
  url: "Page",
};
