/** How datasets and their revisions are shown. */

import type { Dataset, DatasetColumn, DatasetFile, DatasetRevision, GetDatasetResponse } from "../../../gen/svc/v1/dataset_pb.ts";
import { formatEnum } from "../../contract/contract.ts";
import { messageJson } from "../../contract/message-json.ts";
import { escapeControls } from "../../domain/name.ts";
import { sizeText } from "../../domain/size.ts";
import { TableLayout } from "../../output/table.ts";
import { timeText } from "../../output/time.ts";
import { type Column, type Style, textView } from "../../output/view.ts";

/** The name of a dataset for people: its id when it has none. */
export function datasetName({ id, name }: Pick<Dataset, "id" | "name">): string {
  return name === "" ? id : name;
}

/** The state of a revision as a word. */
function stateText({ state }: DatasetRevision): string {
  return String(formatEnum("svc.v1.DatasetRevisionState", state) ?? "");
}

const count = (number: bigint): string => String(number);

const REVISION_COLUMNS: readonly Column<DatasetRevision>[] = [
  { header: "Number", align: "right", cell: ({ number }) => (number === 0 ? "" : String(number)) },
  { header: "ID", cell: ({ id }) => id },
  { header: "State", cell: stateText },
  { header: "Made by", cell: ({ origin }) => String(formatEnum("svc.v1.DatasetOrigin", origin) ?? "").replaceAll("_", " ") },
  { header: "Rows", align: "right", cell: ({ rows }) => count(rows) },
  { header: "Size", align: "right", cell: ({ bytes }) => sizeText(Number(bytes)) },
  { header: "Completed", cell: ({ completedAt }) => timeText(completedAt) },
  { header: "Archived", cell: ({ archivedAt }) => timeText(archivedAt) },
];

const COLUMN_COLUMNS: readonly Column<DatasetColumn>[] = [
  { header: "Column", cell: ({ name }) => name },
  { header: "Type", cell: ({ type }) => type },
  { header: "Nulls", align: "right", cell: ({ statistics }) => (statistics ? count(statistics.nulls) : "") },
  { header: "Distinct", align: "right", cell: ({ statistics }) => (statistics ? count(statistics.distinct) : "") },
  { header: "Min", flexible: true, cell: ({ statistics }) => statistics?.min ?? "" },
  { header: "Max", flexible: true, cell: ({ statistics }) => statistics?.max ?? "" },
  { header: "Mean", align: "right", cell: ({ statistics }) => (statistics?.mean === undefined ? "" : statistics.mean.toPrecision(6)) },
];

const FILE_COLUMNS: readonly Column<DatasetFile>[] = [
  { header: "File", cell: ({ name }) => name },
  { header: "Kind", cell: ({ kind }) => String(formatEnum("svc.v1.DatasetFileKind", kind) ?? "") },
  { header: "Rows", align: "right", cell: ({ rows }) => count(rows) },
  { header: "Size", align: "right", cell: ({ bytes }) => sizeText(Number(bytes)) },
  { header: "SHA-256", cell: ({ sha256 }) => sha256.slice(0, 12) },
];

/** Most files that people are shown. */
const MOST_FILES = 20;

/** A dataset with its revisions, and one of them with its columns and files. */
export const datasetView = textView(
  (answer: GetDatasetResponse, style) => {
    const { dataset, revision, revisions, columns, files, nextPageToken } = answer;
    const lines = [
      `Dataset:   ${escapeControls(dataset?.name || "(no name)")}`,
      `ID:        ${dataset?.id ?? ""}`,
      `Created:   ${timeText(dataset?.createdAt)}`,
      `Updated:   ${timeText(dataset?.updatedAt)}`,
      ...(dataset?.url ? [`Page:      ${dataset.url}`] : []),
    ];
    if (revision) {
      lines.push(
        `Revision:  ${revision.id} (${revision.number === 0 ? stateText(revision) : `number ${revision.number}, ${stateText(revision)}`})`,
      );
      if (revision.removedAt) lines.push(`Removed:   its files are kept until ${timeText(revision.removedAt)}, and nobody can read them`);
    }
    const left = files.length - MOST_FILES;
    return [
      `${lines.join("\n")}\n`,
      section(columns, COLUMN_COLUMNS, style),
      section(files.slice(0, MOST_FILES), FILE_COLUMNS, style) + (left > 0 ? `${left} more files; --json shows all.\n` : ""),
      section(revisions, REVISION_COLUMNS, style) + (nextPageToken === "" ? "" : "There are older revisions.\n"),
    ]
      .filter((part) => part !== "")
      .join("\n");
  },
  (answer) => messageJson(answer),
);

function section<Row>(rows: readonly Row[], columns: readonly Column<Row>[], style: Style): string {
  const shown = columns.filter(({ cell }) => rows.some((row) => cell(row, style) !== ""));
  return rows.length === 0 ? "" : new TableLayout(shown, style).rows(rows);
}
