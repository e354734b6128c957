import { basename, resolve } from "node:path";
import { defineCommand } from "../../cli/command.ts";
import { list, path } from "../../cli/flag.ts";
import { uploadFiles } from "../../dataset-files/upload.ts";
import { escapeControls } from "../../domain/name.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";

/** A file that benchmarks can name. */
interface UploadedInput {
  readonly name: string;
  readonly rows: bigint;
  readonly revisionId: string;
}

/** Formats by the end of a name. */
const FORMATS = /\.(?:parquet|pq|json|jsonl|ndjson)$/i;

export default defineCommand({
  summary: "Upload input files",
  description:
    "Parquet, or JSON: one object a line, or a list of objects. Columns are features by their full names, such as user.id; each row is the inputs of one query, without those that " +
    "are null. Each file is a revision of the dataset benchmark-input:<name>; benchmarks that are asked for later take the newest.",
  examples: ["svc benchmark upload --file-path users.parquet"],
  needs: ["session"],
  flags: { filePath: list(path("file to upload; its name is what --in-file takes", { placeholder: "<file>" })) },
  check({ filePath }) {
    if (filePath.length === 0) throw new UsageError("--file-path is missing: say which file to upload");
    const other = filePath.find((file) => !FORMATS.test(file));
    if (other !== undefined)
      throw new UsageError(`${escapeControls(other)} is neither Parquet nor JSON`, {
        hint: "Names end with .parquet, .json, .jsonl or .ndjson.",
      });
    const names = filePath.map((file) => basename(file));
    const repeated = names.find((name, at) => names.indexOf(name) < at);
    if (repeated !== undefined) throw new UsageError(`two files are called ${escapeControls(repeated)}`);
  },
  async run(context, { filePath }) {
    const uploaded: UploadedInput[] = [];
    for (const file of filePath) {
      const name = basename(file);
      const paths = [resolve(context.flags.dir, file)];
      const { revision } = await uploadFiles(context, { dataset: `benchmark-input:${name}`, paths, partBytes: 0 });
      uploaded.push({ name, rows: revision?.rows ?? 0n, revisionId: revision?.id ?? "" });
    }
    return uploaded;
  },
  view: textView(
    (files: readonly UploadedInput[]) => files.map(({ name, rows }) => `${escapeControls(name)} (${rows} rows)`).join("\n"),
    (files) => ({ files: files.map(({ name, rows, revisionId }) => ({ name, rows: Number(rows), revision_id: revisionId })) }),
  ),
});
