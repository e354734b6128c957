import type { EvaluationInfo, ListEvaluationsResponse } from "../../../gen/svc/v1/evaluation_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool } from "../../cli/flag.ts";
import { datasetText } from "../../domain/evaluation-text.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../page-flags.ts";
import { EVALUATION_COLUMNS } from "./eval-view.ts";

export default defineCommand({
  summary: "List evaluations with their average scores",
  description:
    "Those of what is live, by name, with the average score of the latest scored run. A dataset without a revision is evaluated at the one that is the newest when a run is triggered.",
  examples: ["svc eval list", { run: "svc eval list --all --json", does: "All of them, with their definitions" }],
  needs: ["session"],
  flags: {
    all: bool("fetch every page, each of --limit rows", { aliases: ["--all-pages"] }),
    ...pageFlags,
  },
  check: checkPage,
  async run(context, { limit, all, pageToken = "" }) {
    const service = await context.api.evaluations();
    const read = (token: string): Promise<ListEvaluationsResponse> => service.listEvaluations({ pageSize: limit, pageToken: token });
    let answer = await read(pageToken);
    const evaluations: EvaluationInfo[] = [...answer.evaluations];
    while (all && answer.nextPageToken !== "") {
      answer = await read(answer.nextPageToken);
      evaluations.push(...answer.evaluations);
    }
    notePage(context, answer);
    return { ...answer, evaluations };
  },
  view: messageTable<ListEvaluationsResponse>("evaluations", EVALUATION_COLUMNS, {
    more: [
      { header: "Dataset Revision", cell: ({ evaluation }) => datasetText(evaluation ?? {}), flexible: true },
      { header: "Task Function", cell: ({ evaluation }) => evaluation?.task ?? "", flexible: true },
    ],
  }),
});
