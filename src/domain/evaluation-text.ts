/** Evaluations in words, as code writes them; parts that are left out are empty. */

import type { Scorer } from "../../gen/svc/v1/graph_pb.ts";

/** The dataset of an evaluation with its revision. */
export function datasetText({ dataset = "", revision = "" }: { readonly dataset?: string; readonly revision?: string }): string {
  return [dataset, revision].filter((part) => part !== "").join("@");
}

/** What the function of an evaluation is given. */
export function inputsText(inputs: readonly { readonly parameter?: string; readonly column?: string }[] = []): string {
  return inputs.map(({ parameter = "", column = "" }) => (parameter === column ? column : `${parameter}=${column}`)).join(", ");
}

/** What a scorer does, in one line. */
export function scorerText({ name, kind }: Scorer): string {
  switch (kind.case) {
    case "exactMatch":
      return `${name}: equals ${kind.value.column}`;
    case "contains":
      return `${name}: contains ${kind.value.column}${kind.value.ignoreCase ? ", in any case" : ""}`;
    case "numeric": {
      const { column, tolerance, relative } = kind.value;
      const most = [tolerance > 0 ? `${tolerance}` : "", relative > 0 ? `${relative * 100}%` : ""].filter((text) => text !== "");
      return `${name}: ${most.length > 0 ? `at most ${most.join(" or ")} from` : "the number"} ${column}`;
    }
    case "judge":
      return `${name}: asks ${kind.value.model}${kind.value.integration === "" ? "" : ` of ${kind.value.integration}`}`;
    case "function":
      return `${name}: ${kind.value}`;
    default:
      return name;
  }
}

/** A row of a run that failed, as messages and their JSON have it. */
export interface RowFailureFacts {
  /** Number of the row, from 0. */
  readonly row?: bigint | number | string;
  readonly key?: string;
  /** Empty = the function failed. */
  readonly scorer?: string;
  readonly message?: string;
}

/** Which row failed and why: `row 2 (abc), scorer length: KeyError: 'odd' (evals.py:22)`. */
export function rowFailureText({ row = 0, key = "", scorer = "", message = "" }: RowFailureFacts): string {
  return `row ${row}${key === "" ? "" : ` (${key})`}${scorer === "" ? "" : `, scorer ${scorer}`}: ${message}`;
}
