import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { datasetView } from "./dataset-view.ts";

export default defineCommand({
  summary: "Show a dataset or revision and its revisions",
  description:
    "With a dataset, the columns and files of its latest revision are shown too; with a revision, its own. The smallest, largest and mean value of a column are " +
    "shown to those who may read stored values, and never for features that are tagged `pii`.",
  examples: [
    "svc dataset get sales",
    { run: "svc dataset get rev_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c --json", does: "One revision, with exact figures" },
  ],
  needs: ["session"],
  args: { dataset: arg("id or name of a dataset, or id of a revision") },
  run: async ({ api }, { dataset }) => (await api.datasets()).getDataset({ dataset }),
  view: datasetView,
});
