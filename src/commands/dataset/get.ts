import type { GetDatasetResponse, PreviewDatasetResponse } from "../../../gen/svc/v1/dataset_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, int } from "../../cli/flag.ts";
import { escapeControls } from "../../domain/name.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { choiceView, type View } from "../../output/view.ts";
import { datasetView } from "./dataset-view.ts";
import { previewView } from "./preview-view.ts";

const MOST_ROWS = 1_000;

export default defineCommand({
  summary: "Show a dataset or revision and its revisions",
  description:
    "With a dataset, the columns and files of its latest revision are shown too; with a revision, its own. The smallest, largest and mean value of a column, and " +
    "with --preview its first rows, are shown to those who may read stored values, and never for features that are tagged `pii`.",
  examples: [
    "svc dataset get sales",
    { run: "svc dataset get sales --preview 10", does: "The first rows of its latest revision" },
    { run: "svc dataset get rev_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c --json", does: "One revision, with exact figures" },
  ],
  needs: ["session"],
  args: { dataset: arg("id or name of a dataset, or id of a revision") },
  flags: { preview: int(`show the first rows instead, up to ${MOST_ROWS}`, { placeholder: "<rows>" }) },
  check({ preview }) {
    if (preview !== undefined && (preview < 1 || preview > MOST_ROWS)) throw new UsageError(`--preview takes 1 to ${MOST_ROWS}`);
  },
  async run({ api, progress }, { dataset, preview }): Promise<GetDatasetResponse | PreviewDatasetResponse> {
    const service = await api.datasets();
    if (preview === undefined) return service.getDataset({ dataset });
    const shown = await service.previewDataset({ dataset, rows: preview });
    if (shown.hiddenColumns.length > 0)
      progress.note(`Not shown, because they are tagged pii: ${shown.hiddenColumns.map(escapeControls).join(", ")}`);
    if (shown.truncated) progress.note(`These are ${shown.rows} rows: more would be too long for a preview.`);
    return shown;
  },
  view: choiceView(
    (answer: GetDatasetResponse | PreviewDatasetResponse) =>
      (answer.$typeName === "svc.v1.PreviewDatasetResponse" ? previewView(answer) : datasetView) as View<never>,
  ),
});
