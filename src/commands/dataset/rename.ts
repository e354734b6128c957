import type { RenameDatasetResponse } from "../../../gen/svc/v1/dataset_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { messageJson } from "../../contract/message-json.ts";
import { escapeControls } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";

export default defineCommand({
  summary: "Rename a dataset",
  description: "Its id and its revisions stay. What writes to the old name afterwards makes a new dataset.",
  examples: ["svc dataset rename sales sales-2024"],
  needs: ["session"],
  args: { dataset: arg("id or name of the dataset"), newName: arg("new name, at most 200 characters") },
  run: async ({ api }, { dataset, newName }) => (await api.datasets()).renameDataset({ datasetName: dataset, newName }),
  view: textView(
    ({ dataset, oldName }: RenameDatasetResponse) =>
      `Renamed dataset '${escapeControls(oldName || (dataset?.id ?? ""))}' to '${escapeControls(dataset?.name ?? "")}'`,
    ({ dataset }) => dataset && messageJson(dataset),
  ),
});
