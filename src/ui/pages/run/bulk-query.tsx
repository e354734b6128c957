import { useSignal } from "@preact/signals";
import type { QueryBulkResponseJson } from "../../../../gen/svc/v1/query_pb.ts";
import { csvText } from "../../../domain/csv.ts";
import { escapeControls } from "../../../domain/name.ts";
import { sizeText } from "../../../domain/size.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { call } from "../../api/call.ts";
import { scope } from "../../app/place.ts";
import { durationText } from "../../parts/duration.tsx";
import { Failed } from "../../parts/failed.tsx";
import { saveText } from "../../parts/save-text.ts";
import { Value } from "../../parts/values.tsx";
import { WindowTable } from "../../parts/window-table.tsx";
import { durationMs } from "../define/feature-text.ts";
import { type BulkRows, bulkAnswer, bulkRequestOf, MOST_BYTES, MOST_ROWS, readBulk } from "./bulk-table.ts";
import type { QueryForm } from "./query-form.ts";
import { useQueryRun } from "./use-query-run.ts";

/** Errors that are listed. */
const MOST_ERRORS = 20;

interface BulkParts {
  readonly form: QueryForm;
  readonly may: boolean;
  /** Whether a column is of no input. */
  readonly isUnknown: (name: string) => boolean;
}

/** The same query for every row of a file, which stays in the browser until it is asked. */
export function BulkQuery({ form, isUnknown, may }: BulkParts) {
  const given = useSignal<BulkRows | undefined>(undefined);
  const problems = useSignal<readonly string[]>([]);
  const run = useQueryRun<{ readonly response: QueryBulkResponseJson; readonly of: BulkRows }>();
  const choose = async (file: File | undefined) => {
    run.clear();
    given.value = undefined;
    problems.value = [];
    if (!file) return;
    const read =
      file.size > MOST_BYTES
        ? { problem: `The file has ${sizeText(file.size)}, and at most ${sizeText(MOST_BYTES)} can be asked for here.` }
        : readBulk(await file.text());
    if ("problem" in read) problems.value = [read.problem];
    else given.value = read;
  };
  const ask = () => {
    const of = given.value;
    if (!of) return;
    const { problems: found, request } = bulkRequestOf(form, of);
    problems.value = found;
    if (found.length > 0) return;
    const own = scope.value;
    void run.start(async (signal) => ({ of, response: await call("QueryService/QueryBulk", request, own, signal) }));
  };
  const unknown = given.value?.columns.filter(isUnknown) ?? [];
  return (
    <details class="bulk">
      <summary>Many rows, from a file</summary>
      <p class="dim">
        A CSV file whose first line names inputs: one query for every row, with the outputs and options above. An empty cell is null. At
        most {MOST_ROWS.toLocaleString("en")} rows and {sizeText(MOST_BYTES)}.
      </p>
      <div class="actions">
        <input type="file" accept=".csv,text/csv" aria-label="CSV file" onChange={(event) => void choose(event.currentTarget.files?.[0])} />
        <button type="button" disabled={!may || !given.value || run.isRunning} onClick={ask}>
          {given.value ? `Run ${given.value.rows.length} rows` : "Run the rows"}
        </button>
        {run.isRunning && (
          <button type="button" onClick={run.cancel}>
            Cancel
          </button>
        )}
      </div>
      {given.value && (
        <p>
          Inputs: <code>{given.value.columns.map(escapeControls).join(", ")}</code>
          {unknown.length > 0 && <span class="bad"> Unknown: {unknown.map(escapeControls).join(", ")}</span>}
        </p>
      )}
      {problems.value.length > 0 && (
        <ul class="bad" role="alert">
          {problems.value.map((problem) => (
            <li key={problem}>{visibleLines(problem)}</li>
          ))}
        </ul>
      )}
      {run.error && <Failed error={run.error} onRetry={ask} />}
      {run.answer && <BulkAnswer {...run.answer} />}
    </details>
  );
}

function BulkAnswer({ of, response }: { readonly of: BulkRows; readonly response: QueryBulkResponseJson }) {
  const { columns, rows } = bulkAnswer(of, response);
  const { errors = [], meta, tables = [] } = response;
  return (
    <section aria-label="Rows of the answer">
      <p role="status">
        {rows.length} rows in {durationText(durationMs(meta?.executionDuration))},{" "}
        {errors.length === 0 ? "no errors" : `${errors.length} errors`}
        {tables.length > 0 && `. Rows of relations are not shown: ${tables.map(({ field = "" }) => escapeControls(field)).join(", ")}`}
      </p>
      {errors.length > 0 && (
        <ul class="plain-list">
          {errors.slice(0, MOST_ERRORS).map(({ error, row = 0 }) => (
            <li key={`${row} ${error?.feature} ${error?.message}`}>
              Row {row + 1}: <span class="bad">{visibleLines(error?.message ?? "failed")}</span>
            </li>
          ))}
          {errors.length > MOST_ERRORS && <li class="dim">{errors.length - MOST_ERRORS} more</li>}
        </ul>
      )}
      <WindowTable
        label="Rows"
        columns={columns.map((name, column) => ({
          name: String(column),
          title: escapeControls(name),
          cell: (row: number) => <Value value={rows[row]?.[column] || null} />,
        }))}
        rows={rows.map((_, row) => row)}
        keyOf={String}
      />
      <button type="button" class="quiet" onClick={() => saveText("answer.csv", "text/csv", csvText([columns, ...rows]))}>
        Save as CSV
      </button>
    </section>
  );
}
