import { defineCommand } from "../../cli/command.ts";
import { arg, bool, path } from "../../cli/flag.ts";
import { type DownloadedFile, downloadRevision } from "../../dataset-files/download.ts";
import { textView } from "../../output/view.ts";

export default defineCommand({
  summary: "Download the files of a revision",
  description:
    "Each file is checked by its SHA-256 and gets its name when it is whole; run again, a download that was cut off goes on. A file that is there already stays, " +
    "and is an error when its content is another.",
  examples: [
    "svc dataset download rev_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c",
    { run: "svc dataset download rev_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c --output-dir ./sales --include-givens", does: "With what was given" },
  ],
  needs: ["session"],
  args: { revision: arg("id of the revision") },
  flags: {
    outputDir: path("folder for the files; it is made if need be", { aliases: ["--out"], default: ".", placeholder: "<folder>" }),
    includeGivens: bool("also files of what was given: inputs of a query, and uploads before their conversion"),
    includeTraces: bool("also files of traces"),
  },
  run: (context, { includeGivens, includeTraces, outputDir, revision }) =>
    downloadRevision(context, { revisionId: revision, includeGivens, includeTraces }, outputDir),
  view: textView(
    (files: readonly DownloadedFile[]) => files.map(({ path: written }) => written).join("\n"),
    (files) => ({ files }),
  ),
});
