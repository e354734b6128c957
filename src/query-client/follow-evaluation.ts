/** Following a run of an evaluation to its end. */

import { type EvaluationRun, EvaluationRunState } from "../../gen/svc/v1/evaluation_pb.ts";
import { WatchTopic } from "../../gen/svc/v1/watch_pb.ts";
import type { Context } from "../context/context.ts";
import { followHints } from "./hints.ts";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/** Whether a run has ended. */
export function hasEnded({ state }: EvaluationRun): boolean {
  return state !== EvaluationRunState.RECEIVED && state !== EvaluationRunState.RUNNING;
}

/**
 * The run once it has ended. When the command is interrupted the run goes on, and the user is told
 * how to end it.
 */
export async function followEvaluation(context: Context, begun: EvaluationRun): Promise<EvaluationRun> {
  const { api, progress, signal } = context;
  const service = await api.evaluations();
  const onInterrupt = (): void =>
    progress.note(`\nThe run goes on. \`svc eval runs cancel ${begun.id}\` ends it, \`svc eval runs get ${begun.id}\` shows it.`);
  signal.addEventListener("abort", onInterrupt, { once: true });
  const hints = followHints(context, [WatchTopic.RUNS]);
  try {
    return await progress.step(
      "Evaluating",
      async (say) => {
        let run = begun;
        for (let pause = FIRST_PAUSE_MS; !hasEnded(run); pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
          await hints.next(pause);
          run = (await service.getEvaluationRun({ id: begun.id })).run ?? run;
          say(run.state === EvaluationRunState.RECEIVED ? "waits for a node" : `${run.rowsDone} of ${run.rows} rows`);
        }
        return run;
      },
      ({ state }) => state !== EvaluationRunState.SUCCEEDED,
    );
  } finally {
    hints.close();
    signal.removeEventListener("abort", onInterrupt);
  }
}
