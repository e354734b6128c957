import { type EvaluationRun, EvaluationRunState } from "../../../gen/svc/v1/evaluation_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, json, optionalArg } from "../../cli/flag.ts";
import { isJsonObject } from "../../domain/json-value.ts";
import { escapeControls } from "../../domain/name.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { followEvaluation } from "../../query-client/follow-evaluation.ts";
import { pickedEvaluation } from "./eval-flags.ts";
import { firstFailureText, runState, scoreLine, scoreText } from "./eval-view.ts";

export default defineCommand({
  summary: "Run an evaluation over its pinned dataset revision",
  description:
    "The run keeps to the deployment that is live and to the revision that the evaluation names, else to the newest one of its dataset. Rows that fail do " +
    "not end it; they are counted. The outputs and scores become a revision of the dataset evaluation:<name>.",
  examples: [
    "svc eval trigger answers --await",
    { run: `svc eval trigger answers --metadata '{"commit": "4f5a7b3"}'`, does: "With a note, which the run keeps" },
  ],
  needs: ["session"],
  args: { evaluation: optionalArg("id or name of the evaluation; left out: pick one on a terminal") },
  flags: {
    metadata: json("run metadata, a JSON object", { placeholder: "<json>" }),
    await: bool("poll until the run succeeds, fails or is cancelled", { aliases: ["--wait"] }),
  },
  check({ metadata }) {
    if (metadata !== undefined && !isJsonObject(metadata))
      throw new UsageError("--metadata takes a JSON object", { hint: `For example: --metadata '{"commit": "4f5a7b3"}'` });
  },
  async run(context, { evaluation, metadata, await: isAwaited }): Promise<EvaluationRun | undefined> {
    const id = await pickedEvaluation(context, evaluation);
    const metadataJson = metadata === undefined ? "" : JSON.stringify(metadata);
    const { run } = await (await context.api.evaluations()).triggerEvaluation({ id, metadataJson });
    if (!run || !isAwaited) return run;
    const ended = await followEvaluation(context, run);
    if (ended.state !== EvaluationRunState.SUCCEEDED) throw notSucceeded(ended);
    return ended;
  },
  view: resourceFields((run: EvaluationRun | undefined) => run, {
    id: "ID",
    state: { header: "Status", cell: runState },
    averageScore: { header: "Average score", cell: ({ averageScore }) => scoreText(averageScore) },
    scores: { header: "Scores", cell: ({ scores }) => scores.map(scoreLine).join("; ") },
    rowsFailed: {
      header: "Failed rows",
      cell: ({ rowsFailed, rows, state }) => (state === EvaluationRunState.SUCCEEDED ? `${rowsFailed} of ${rows}` : ""),
    },
    firstFailure: { header: "First failure", cell: firstFailureText },
    resultRevisionId: "Result",
    url: "Page",
  }),
});

function notSucceeded({ id, error, state }: EvaluationRun): CliError {
  const why = error === "" ? "" : `: ${escapeControls(error)}`;
  return new CliError(`Run ${id} ${state === EvaluationRunState.CANCELLED ? "was cancelled" : "failed"}${why}`, {
    code: "evaluation_failed",
    hint: `\`svc eval runs get ${id}\` shows it, \`svc logs --query operation_id:${id}\` what it printed.`,
  });
}
