import type { ArchiveDatasetRevisionResponse } from "../../../gen/svc/v1/dataset_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { messageJson } from "../../contract/message-json.ts";
import { escapeControls } from "../../domain/name.ts";
import { timeText } from "../../output/time.ts";
import { textView } from "../../output/view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { datasetName } from "./dataset-view.ts";

export default defineCommand({
  summary: "Archive a dataset revision",
  description: "Nobody can read it any more, and nothing brings it back. Its files are removed from the server 7 days later.",
  examples: ["svc dataset archive rev_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c", "svc dataset archive rev_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c --yes"],
  needs: ["session"],
  args: { revision: arg("id of the revision") },
  flags: { ...confirmFlags },
  async run(context, { force, revision: revisionId }) {
    const service = await context.api.datasets();
    if (!force) {
      const { dataset, revision } = await service.getDataset({ dataset: revisionId });
      const what =
        dataset && revision ? ` (number ${revision.number} of '${escapeControls(datasetName(dataset))}', ${revision.rows} rows)` : "";
      await confirm(
        context,
        { force },
        `Archive ${escapeControls(revisionId)}${what}? Nobody can read it then, and nothing brings it back.`,
      );
    }
    return service.archiveDatasetRevision({ revisionId });
  },
  view: textView(
    ({ revision }: ArchiveDatasetRevisionResponse) =>
      `Archived revision ${revision?.id ?? ""}; its files are removed after ${timeText(revision?.removedAt)}`,
    ({ revision }) => revision && messageJson(revision),
  ),
});
