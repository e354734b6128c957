import { type RunSqlResponse, SqlFormat, type SqlHead } from "../../gen/svc/v1/sql_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { choice, duration, int, optionalArg, path } from "../cli/flag.ts";
import { streamToFile } from "../dataset-files/stream-to-file.ts";
import { sizeText } from "../domain/size.ts";
import { type FeatureValue, parseExactJson, toPlainJson, typeName } from "../domain/value.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { type Column, choiceView, tableView, textView, type View } from "../output/view.ts";
import { statementText } from "./statement-flags.ts";

const FORMATS = { table: SqlFormat.JSON, json: SqlFormat.JSON, csv: SqlFormat.CSV, parquet: SqlFormat.PARQUET } as const;
const MAX_ROWS = 10_000_000;
const MAX_TIMEOUT_MS = 600_000;

/** The rows of an answer. */
interface Rows {
  readonly kind: "rows";
  readonly head: SqlHead;
  readonly rows: readonly Readonly<Record<string, FeatureValue>>[];
}

/** An answer as text for a pipe. */
interface Text {
  readonly kind: "text";
  readonly text: string;
}

/** An answer in a file. */
interface Written {
  readonly kind: "file";
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  readonly truncated: boolean;
}

type Answer = Rows | Text | Written;

export default defineCommand({
  summary: "Answer a SQL statement over stored values and datasets",
  category: "Query and explore",
  description:
    "One select, in DuckDB's dialect; nothing can be changed by it. The history of a feature is the table historical.<namespace>.<feature>, with the columns key, " +
    "value, observed_at, inserted_at, known_at, sequence, resolver, deployment and operation; a dataset's newest revision is datasets.<name>. `svc catalog schemas --show-tables` " +
    "lists them. Times are UTC, lengths of time are microseconds.\n\n" +
    "The statement is the argument, the content of a file (@file.sql), or stdin. A statement sees its environment's tables and nothing else of the server, and ends at its limits of " +
    "time and memory; Ctrl-C ends it on the server too.",
  examples: [
    { run: 'svc sql "select * from historical.user.score"', does: "Every observation of a feature" },
    { run: "svc sql @report.sql --format csv > report.csv", does: "A file of SQL; the answer as CSV" },
    { run: "svc sql @report.sql --out report.parquet", does: "The answer as a file, by its ending" },
    { run: "svc sql --limit 100 --json < report.sql", does: "From stdin, as JSON" },
  ],
  needs: ["session"],
  args: { statement: optionalArg("the statement, or @ and a file of it; left out: stdin") },
  flags: {
    format: choice("form of the answer; json is a line for each row", Object.keys(FORMATS) as (keyof typeof FORMATS)[], {
      defaultText: "table, or that of the file's ending",
    }),
    out: path("file to write the answer to: .parquet, .csv or .json", { aliases: ["-o", "--output"] }),
    limit: int(`rows at most, up to ${MAX_ROWS}`, { default: 10_000, aliases: ["-L"] }),
    timeout: duration("how long it may take, up to 10m", { default: 60_000 }),
  },
  check({ format, limit, out, timeout }) {
    if (limit < 1 || limit > MAX_ROWS) throw new UsageError(`--limit takes 1 to ${MAX_ROWS}`);
    if (timeout < 1 || timeout > MAX_TIMEOUT_MS) throw new UsageError("--timeout takes up to 10m");
    if (format === "parquet" && out === undefined) throw new UsageError("--format parquet needs a file: --out answer.parquet");
    if (format === "table" && out !== undefined)
      throw new UsageError("--format table is for the terminal; --out takes parquet, csv or json");
    if (format === undefined && out !== undefined) formatOf(out);
  },
  async run(context, { format, limit, out, statement, timeout }): Promise<Answer> {
    const { api, flags, progress, signal } = context;
    const text = await statementText(context, statement);
    const form = format ?? (out === undefined ? "table" : formatOf(out));
    const request = {
      statement: text,
      format: FORMATS[flags.json && out === undefined ? "json" : form],
      limit: BigInt(limit),
      timeoutMs: BigInt(timeout),
    };
    const stream = (await api.sql()).runSql(request, { signal });
    const { head, pieces } = await progress.step("Asking", () => begun(stream));
    const rows = Number(head.rows);
    if (head.truncated) progress.warn(`There are more rows; these are the first ${rows}. --limit takes up to ${MAX_ROWS}.`);
    if (out !== undefined) {
      const bytes = await progress.step("Writing", () => streamToFile(pieces, out));
      return { kind: "file", path: out, rows, bytes, truncated: head.truncated };
    }
    const answer = await gathered(pieces);
    if ((form === "csv" || form === "json") && !flags.json) return { kind: "text", text: answer };
    const lines = answer.split("\n").filter((line) => line !== "");
    return { kind: "rows", head, rows: lines.map((line) => parseExactJson(line) as Rows["rows"][number]) };
  },
  view: choiceView<Answer>((answer) => (answer.kind === "rows" ? rowsView(answer) : answer.kind === "text" ? TEXT : FILE) as View<never>),
});

const TEXT = textView(({ text }: Text) => text);

const FILE = textView(
  ({ bytes, path: written, rows }: Written) => `${written} (${rows} ${rows === 1 ? "row" : "rows"}, ${sizeText(bytes)})`,
  ({ bytes, path: written, rows, truncated }) => ({ path: written, rows, bytes, truncated }),
);

function rowsView({ head: { columns } }: Rows): View<Rows> {
  type Row = Rows["rows"][number];
  return tableView<Rows, Row>({
    things: "rows",
    rows: ({ rows }) => rows,
    long: true,
    columns: columns.map(
      ({ dtype, name }): Column<Row> => ({
        header: name,
        cell: (row) => cellText(row[name] ?? null),
        ...(/^(int|float|Decimal)$/.test(typeName(dtype)) && { align: "right" as const }),
        style: (shown, style, row) => (row[name] === null ? style.dim(shown) : shown),
      }),
    ),
    json: ({ head, rows }) => ({
      columns: head.columns.map(({ dtype, name }) => ({ name, type: typeName(dtype) })),
      rows: rows.map((row) => toPlainJson(row, undefined, { largeNumbers: true })),
      truncated: head.truncated,
    }),
  });
}

function cellText(value: FeatureValue): string {
  if (typeof value === "string") return value;
  return typeof value === "object" ? JSON.stringify(toPlainJson(value, undefined, { largeNumbers: true })) : String(value);
}

function formatOf(out: string): "parquet" | "csv" | "json" {
  const ending = /\.(parquet|csv|json|jsonl|ndjson)$/i.exec(out)?.[1]?.toLowerCase();
  if (ending === undefined) throw new UsageError(`--out ${out}: end it with .parquet, .csv or .json, or name the --format`);
  return ending === "parquet" || ending === "csv" ? ending : "json";
}

/** The head of an answer, and its pieces as they come. */
async function begun(
  stream: AsyncIterable<RunSqlResponse>,
): Promise<{ readonly head: SqlHead; readonly pieces: AsyncIterable<Uint8Array> }> {
  const messages = stream[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await messages.next();
    if (done) throw new CliError("the server ended without an answer", { code: "broken_answer" });
    if (value.part.case === "head") return { head: value.part.value, pieces: piecesOf(messages, Number(value.part.value.bytes)) };
  }
}

async function* piecesOf(messages: AsyncIterator<RunSqlResponse>, bytes: number): AsyncIterable<Uint8Array> {
  let received = 0;
  for (;;) {
    const { done, value } = await messages.next();
    if (done) break;
    if (value.part.case !== "piece") continue;
    received += value.part.value.length;
    yield value.part.value;
  }
  if (received !== bytes) throw new CliError(`the answer broke off after ${received} of ${bytes} bytes`, { code: "broken_answer" });
}

async function gathered(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}
