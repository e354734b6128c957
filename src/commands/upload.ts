import { resolve } from "node:path";
import { UploadTarget, ValueFileFormat, type ValueUpload } from "../../gen/svc/v1/feature_data_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { arg, bool, choice, text, timestamp } from "../cli/flag.ts";
import { msToTimestamp } from "../domain/proto-time.ts";
import { parseTimestamp } from "../domain/timestamp.ts";
import { UsageError } from "../errors/cli-error.ts";
import { messageFields } from "../output/message-view.ts";
import { uploadValues } from "../value-files/upload-values.ts";
import { orRequestView } from "./approval/approval-view.ts";
import { requested } from "./approval/flags.ts";

const FORMATS = ["parquet", "csv", "json"] as const;

export default defineCommand({
  summary: "Upload values of features from a file",
  category: "Query and explore",
  description:
    "The columns are features by their fully qualified names, of one or several classes, and of each class the primary key. The file is checked whole first, and " +
    "nothing is stored when anything is wrong. The history keeps all values; the online store keeps those that are newer than its own. Features that a resolver " +
    "computes may be among them. The server goes on when the command ends, and after a restart. The file may have 128 MiB.",
  examples: [
    "svc upload scores.parquet --time-column scored_at",
    { run: "svc upload users.csv --dry-run", does: "Check the file, and store nothing" },
    { run: "svc upload 2023.jsonl --offline-only --known-at loaded_at", does: "A backfill, with the times at which its rows were known" },
  ],
  needs: ["session"],
  args: { file: arg("Parquet file, CSV file with a line of names, or JSON objects, one per line") },
  flags: {
    format: choice("format of the file", FORMATS, { defaultText: "by its name" }),
    timeColumn: text("column with the times of the rows", { defaultText: "__ts__, or the class's feature time" }),
    time: timestamp("time of all rows", { requireZone: true, defaultText: "now" }),
    knownAt: text("when the rows were known: a column, or an instant for all", {
      placeholder: "<column or time>",
      defaultText: "when they are stored",
    }),
    onlineOnly: bool("store the values in the online store alone"),
    offlineOnly: bool("store the values in the history alone"),
    dryRun: bool("check the file, and store nothing"),
  },
  check({ file, format, offlineOnly, onlineOnly, time, timeColumn }) {
    if (onlineOnly && offlineOnly) throw new UsageError("--online-only and --offline-only are not used together");
    if (time !== undefined && timeColumn !== undefined) throw new UsageError("--time and --time-column are not used together");
    if (format === undefined && formatOf(file) === undefined)
      throw new UsageError("--format is missing: the name of the file does not tell it", { hint: `It is ${FORMATS.join(", ")}.` });
  },
  async run(context, { dryRun, file, format, knownAt, offlineOnly, onlineOnly, time, timeColumn = "" }) {
    const known = knownAt === undefined ? undefined : parseTimestamp(knownAt, { now: context.clock.now(), requireZone: true });
    const uploaded = await uploadValues(context, {
      path: resolve(context.flags.dir, file),
      format: formatValue(format ?? formatOf(file)),
      options: {
        ...{ timeColumn, dryRun, target: onlineOnly ? UploadTarget.ONLINE : offlineOnly ? UploadTarget.OFFLINE : UploadTarget.UNSPECIFIED },
        ...(time !== undefined && { time: msToTimestamp(time) }),
        ...(known === undefined ? { knownAtColumn: knownAt ?? "" } : { knownAt: msToTimestamp(known) }),
      },
    });
    return "approvalId" in uploaded ? requested(context, uploaded.approvalId) : uploaded;
  },
  view: orRequestView(
    messageFields<ValueUpload>({
      id: "Upload",
      rows: "Rows",
      rowsWritten: "Stored",
      onlineValues: "Online values",
      offlineValues: "Offline values",
      deletedValues: "Left out as deleted",
    }),
  ),
});

/** The format that the name of a file tells; undefined = none. */
function formatOf(file: string): (typeof FORMATS)[number] | undefined {
  const ending = /\.([a-z]+)$/i.exec(file)?.[1]?.toLowerCase();
  if (ending === "parquet" || ending === "pq") return "parquet";
  if (ending === "csv") return "csv";
  return ending === "jsonl" || ending === "ndjson" || ending === "json" ? "json" : undefined;
}

function formatValue(format: (typeof FORMATS)[number] | undefined): ValueFileFormat {
  if (format === "parquet") return ValueFileFormat.PARQUET;
  return format === "csv" ? ValueFileFormat.CSV : ValueFileFormat.JSON;
}
