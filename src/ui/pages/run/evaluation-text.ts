/** Evaluations in words and numbers, as pages show them. */

import type { EvaluationRunJson, EvaluationScoreJson } from "../../../../gen/svc/v1/evaluation_pb.ts";
import type { ScorerJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { Series } from "../../parts/line-chart.tsx";

/** A score with up to four digits behind the point; `-` = none. */
export function scoreText(score: number | string | undefined): string {
  return score === undefined ? "-" : String(Number(Number(score).toFixed(4)));
}

/** A difference of scores with its sign; `-` = none. */
export function differenceText(difference: number | string | undefined): string {
  return `${Number(difference) > 0 ? "+" : ""}${scoreText(difference)}`;
}

/** What a scorer does, in a few words. */
export function scorerText({ exactMatch, contains, numeric, function: own, judge }: ScorerJson): string {
  if (exactMatch) return `equals ${exactMatch.column ?? ""}`;
  if (contains) return `contains ${contains.column ?? ""}${contains.ignoreCase ? ", in any case" : ""}`;
  if (numeric) {
    const { column = "", tolerance = 0, relative = 0 } = numeric;
    const most = [Number(tolerance) > 0 ? String(tolerance) : "", Number(relative) > 0 ? `${Number(relative) * 100}%` : ""];
    const near = most.filter((text) => text !== "").join(" or ");
    return near === "" ? `is the number ${column}` : `is at most ${near} from ${column}`;
  }
  if (judge) return `asks ${judge.model ?? ""}${judge.integration ? ` of ${judge.integration}` : ""}`;
  return own ?? "";
}

/** The averages of runs over time, a line for each scorer; runs come newest first. */
export function scoresOverRuns(runs: readonly EvaluationRunJson[]): {
  readonly times: readonly number[];
  readonly series: readonly Series[];
} {
  const scored = runs.filter(({ averageScore }) => averageScore !== undefined).toReversed();
  const scorers = [...new Set(scored.flatMap(({ scores = [] }) => scores.map(({ scorer = "" }) => scorer)))];
  const meanOf = (scores: readonly EvaluationScoreJson[], scorer: string): number | null => {
    const mean = scores.find((one) => one.scorer === scorer)?.mean;
    return mean === undefined ? null : Number(mean);
  };
  return {
    times: scored.map(({ createdAt = "" }) => Date.parse(createdAt)),
    series: scorers.map((scorer) => ({ name: scorer, values: scored.map(({ scores = [] }) => meanOf(scores, scorer)) })),
  };
}
