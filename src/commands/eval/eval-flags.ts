/** How evaluations and their runs are named. */

import { choice } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { givenOrPicked } from "../pick-flags.ts";
import { RUN_STATES, runState } from "./eval-view.ts";

/** `--state`. */
export const stateFlag = { state: choice("only those in this state", Object.keys(RUN_STATES) as (keyof typeof RUN_STATES)[]) };

/** The id or name of an evaluation that was given, or that somebody picks on a terminal. */
export function pickedEvaluation(context: Context, given: string | undefined): Promise<string> {
  return givenOrPicked(context, given, {
    question: "Which evaluation?",
    flag: "<evaluation>",
    list: async () =>
      (await (await context.api.evaluations()).listEvaluations({})).evaluations.map(({ id, evaluation }) => ({
        ...{ id, name: evaluation?.name ?? "" },
      })),
  });
}

/** The id of a run that was given, or that somebody picks on a terminal. */
export function pickedRun(context: Context, given: string | undefined): Promise<string> {
  return givenOrPicked(context, given, {
    question: "Which run?",
    flag: "<id>",
    list: async () =>
      (await (await context.api.evaluations()).listEvaluationRuns({})).runs.map((run) => ({
        ...{ id: run.id, name: `${run.evaluationName} ${runState(run)}` },
      })),
  });
}
