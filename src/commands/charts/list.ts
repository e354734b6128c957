import { defineCommand } from "../../cli/command.ts";
import { answerDocument, jsonView } from "../../output/json-view.ts";

export default defineCommand({
  summary: "List charts",
  description:
    "As JSON, always: the charts that are kept with the project, on the board `project`, then those that every server has, by board, with their metric expressions.",
  examples: ["svc charts list"],
  needs: ["session"],
  run: async ({ api }) => answerDocument(await (await api.metrics()).listCharts({})),
  view: jsonView,
});
