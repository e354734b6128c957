/** The columns of a dataset that an evaluation reads. */

import type { Evaluation, Scorer } from "../../../gen/svc/v1/graph_pb.ts";

/** Names of the columns; `all` when a function of the project is given whole rows. */
export function neededColumns(evaluation: Evaluation): ReadonlySet<string> | "all" {
  return evaluation.scorers.some(({ kind }) => kind.case === "function") ? "all" : namedColumns(evaluation);
}

/** Names of the columns that an evaluation names. */
export function namedColumns({ inputs, scorers, key }: Evaluation): ReadonlySet<string> {
  return new Set([...inputs.map(({ column }) => column), ...scorers.flatMap(scorerColumns), ...(key === "" ? [] : [key])]);
}

function scorerColumns({ kind }: Scorer): readonly string[] {
  switch (kind.case) {
    case "exactMatch":
    case "contains":
    case "numeric":
      return [kind.value.column];
    case "judge":
      return promptColumns(kind.value.prompt);
    default:
      return [];
  }
}

/** The names in braces of a judge's prompt, but for the output. */
export function promptColumns(prompt: string): string[] {
  const names = [...prompt.replaceAll(/\{\{|\}\}/g, "").matchAll(/\{([^{}!:]+)[^{}]*\}/g)].map(([, name]) => name as string);
  return [...new Set(names)].filter((name) => name !== "output");
}
