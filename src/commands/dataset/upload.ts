import { basename, resolve } from "node:path";
import type { FinalizeDatasetUploadResponse } from "../../../gen/svc/v1/dataset_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { args, int, text } from "../../cli/flag.ts";
import { messageJson } from "../../contract/message-json.ts";
import { uploadFiles } from "../../dataset-files/upload.ts";
import { escapeControls } from "../../domain/name.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { datasetName } from "./dataset-view.ts";

export default defineCommand({
  summary: "Upload files as a new revision of a dataset",
  description:
    "All files together are one revision, which appears when all are there and were checked; until then, and when it is refused, the dataset stays as it was. " +
    "Parquet files, CSV files with a header and JSON files with one object a line are tables: they have the same columns, and CSV and JSON are kept as Parquet " +
    "too. Other files are kept as they are. An upload that was cut off goes on when the same command runs again.",
  examples: [
    "svc dataset upload sales.parquet --name sales",
    { run: "svc dataset upload 2024-01.csv 2024-02.csv --name sales", does: "Several files of one table" },
  ],
  needs: ["session"],
  args: { file: args("files to upload, each at most 4 GiB", { required: true }) },
  flags: {
    name: text("name of the dataset, which is made unless there is one", {
      aliases: ["--dataset-name"],
      required: true,
      placeholder: "<name>",
    }),
    partSize: int("bytes of the parts that are sent; the server may adjust it", { placeholder: "<bytes>" }),
  },
  check({ file, partSize }) {
    if (partSize !== undefined && partSize <= 0) throw new UsageError("--part-size takes a number of bytes above 0");
    const names = file.map((path) => basename(path));
    const repeated = names.find((name, at) => names.indexOf(name) < at);
    if (repeated !== undefined)
      throw new UsageError(`two files are called ${escapeControls(repeated)}`, {
        hint: "The files of a revision have names without folders.",
      });
  },
  run(context, { file, name, partSize = 0 }) {
    return uploadFiles(context, { dataset: name, paths: file.map((path) => resolve(context.flags.dir, path)), partBytes: partSize });
  },
  view: textView(
    ({ dataset, revision }: FinalizeDatasetUploadResponse) =>
      [
        `Dataset:   ${dataset ? `${escapeControls(datasetName(dataset))} (${dataset.id})` : ""}`,
        `Revision:  ${revision?.id ?? ""} (number ${revision?.number ?? 0}, ${revision?.rows ?? 0} rows)`,
        ...(dataset?.url ? [`Page:      ${dataset.url}`] : []),
      ].join("\n"),
    ({ dataset, revision }) => ({ dataset: dataset && messageJson(dataset), revision: revision && messageJson(revision) }),
  ),
});
