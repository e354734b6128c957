import { defineCommand } from "../../cli/command.ts";
import { list, path, text } from "../../cli/flag.ts";
import { type DownloadedFile, downloadRevision } from "../../dataset-files/download.ts";
import { escapeControls } from "../../domain/name.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";

/** The name of a file of results: the id of its benchmark, and what it is. */
const RESULT = /^(bench_[0-9a-f]+)\.(?:json|html)$/;

export default defineCommand({
  summary: "Download result files",
  description:
    "The figures of a benchmark as JSON, and its report as a page that needs nothing else. Each file is checked by its SHA-256, and one that is there already stays.",
  examples: [
    "svc benchmark download --name bench_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e.html",
    { run: "svc benchmark download --name bench_0198c0de.json --name bench_0198c0de.html --output-dir ./results", does: "Both" },
  ],
  needs: ["session"],
  flags: {
    name: list(text("name of a result file with its extension, as `svc benchmark get` shows it", { placeholder: "<name>" })),
    outputDir: path("folder for the files; it is made if need be", { default: ".", placeholder: "<folder>" }),
  },
  check({ name: names }) {
    if (names.length === 0) throw new UsageError("--name is missing: say which result file");
    const other = names.find((name) => !RESULT.test(name));
    if (other !== undefined)
      throw new UsageError(`${escapeControls(other)} is no name of a result file`, {
        hint: "They are called <id>.json and <id>.html; `svc benchmark get <id>` shows them.",
      });
  },
  async run(context, { name: names, outputDir }) {
    const benchmarks = await context.api.benchmarks();
    const files: DownloadedFile[] = [];
    const ids = Map.groupBy(names, (name) => RESULT.exec(name)?.[1] ?? "");
    for (const [id, wanted] of ids) {
      const { benchmark } = await benchmarks.getBenchmark({ id });
      const revisionId = benchmark?.resultRevisionId ?? "";
      if (revisionId === "")
        throw new CliError(`benchmark ${id} has no results`, {
          code: "failed_precondition",
          hint: `\`svc benchmark get ${id}\` says how it stands.`,
        });
      files.push(
        ...(await downloadRevision(context, { revisionId, includeGivens: false, includeTraces: false, names: wanted }, outputDir)),
      );
    }
    return files;
  },
  view: textView(
    (files: readonly DownloadedFile[]) => files.map(({ path: written }) => written).join("\n"),
    (files) => ({ files }),
  ),
});
