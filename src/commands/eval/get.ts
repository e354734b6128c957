import type { GetEvaluationResponse } from "../../../gen/svc/v1/evaluation_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { datasetText, inputsText, scorerText } from "../../domain/evaluation-text.ts";
import { escapeControls } from "../../domain/name.ts";
import type { Fact } from "../../output/facts.ts";
import { answerFields } from "../../output/message-view.ts";
import { pickedEvaluation } from "./eval-flags.ts";
import { scoreText } from "./eval-view.ts";

export default defineCommand({
  summary: "Show an evaluation",
  description: "Its dataset with the revision that a run would take now, the function, the scorers, and the latest scored run.",
  examples: ["svc eval get answers", "svc eval get evl_5f8c2a7e90b14d36a1c4e8f2d7b6095c --json"],
  needs: ["session"],
  args: { evaluation: optionalArg("id or name of the evaluation; left out: pick one on a terminal") },
  run: async (context, { evaluation }) =>
    (await context.api.evaluations()).getEvaluation({ id: await pickedEvaluation(context, evaluation) }),
  view: answerFields(({ evaluation }: GetEvaluationResponse) => evaluation, { id: "ID" }, factsOf),
});

function factsOf({ evaluation: info, revisionId }: GetEvaluationResponse): Fact[] {
  const { evaluation, latestScored, url = "" } = info ?? {};
  if (!info || !evaluation) return [];
  const { name, task, inputs, scorers, key, owner, tags, description } = evaluation;
  const facts: readonly Fact[] = [
    ["Name", name],
    ["Description", description],
    ["Dataset", datasetText(evaluation)],
    ["Revision", revisionId === "" ? "the dataset has none yet" : revisionId],
    ["Function", task],
    ["Inputs", inputsText(inputs)],
    ["Scorers", scorers.map(scorerText).join("\n")],
    ["Key", key],
    ["Owner", owner],
    ["Tags", tags.join(", ")],
    ["Latest score", latestScored ? `${scoreText(latestScored.averageScore)} (${latestScored.id})` : "none yet"],
    ["Page", url],
  ];
  return facts.flatMap(([title, text]): Fact[] => (text === "" ? [] : [[title, text.split("\n").map(escapeControls).join("\n")]]));
}
