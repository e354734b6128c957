/** Stages: the values that the steps of a query produced, collected for queries that request it. */

import { toJson } from "@bufbuild/protobuf";
import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { type DataType, DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { type FeatureValue, tagged } from "../../../domain/value.ts";
import type { CellId, Row, SlotId } from "../plan/ids.ts";
import type { PlanFrame, PlanOp } from "../plan/plan.ts";
import { QueryRefused, refusal } from "../refusal.ts";
import { CellState } from "../run/cells.ts";
import type { ChildColumn } from "../run/child-rows.ts";
import type { Run } from "../run/run.ts";
import { OP_DESCRIPTIONS } from "./op-descriptions.ts";

/** Most rows of a query whose stages are kept. */
export const MAX_STAGED_QUERY_ROWS = 1_000;
/** Most rows of a stage that is kept; of a longer one only the figures are. */
export const MAX_STAGE_ROWS = 10_000;
/**
 * Size of all stages of a query, in characters of their JSON; of a stage that no longer fits only
 * the figures are kept.
 */
export const MAX_STAGES_SIZE = 32 * 1024 * 1024;
/** Most stages of a query. */
const MAX_STAGES = 1_000;

/** The values that a step produced. */
export interface Stage {
  /** The op's kind, or `stored` for values read from the online store. */
  readonly kind: string;
  /** The provider of the values; empty = a join. */
  readonly provider: string;
  /** The relation path of its rows. */
  readonly path: string;
  readonly rows: number;
  readonly columns: readonly string[];
  /** Types of the columns as JSON. */
  readonly types: readonly unknown[];
  /**
   * A line for each row, as JSON: the row that it belongs to, the columns' values in tagged form,
   * errors by column.
   */
  readonly lines: readonly string[];
  /** The reason why there are no lines; empty when there are. */
  readonly omitted: string;
}

/** Throws QueryRefused when a query has more rows than its stages are kept for. */
export function checkStagedRows(rows: number): void {
  if (rows <= MAX_STAGED_QUERY_ROWS) return;
  const said = `store_plan_stages keeps what every step gave, for queries of at most ${MAX_STAGED_QUERY_ROWS} rows; this one has ${rows}`;
  throw new QueryRefused([refusal(ErrorCode.INVALID_QUERY, `${said}: ask for fewer rows, or leave it out`)]);
}

interface Column {
  readonly name: string;
  readonly dtype: DataType;
  /** The value and the failure at a row of the stage. */
  at(row: number): { readonly value: FeatureValue; readonly failure: string | undefined };
}

/** Gathers the stages of a query. */
export class StageRecorder {
  readonly stages: Stage[] = [];
  #size = 0;
  readonly #numbers = new Map<Run, readonly number[]>();

  /** Records which rows of the query the rows of a run are. */
  number(run: Run, queryRows: readonly number[]): void {
    this.#numbers.set(run, queryRows);
  }

  /** Records the values that an op produced for some rows of its run. */
  op(run: Run, op: PlanOp, rows: readonly Row[]): void {
    const { path } = run.plan.frame(op.frame);
    const head = { kind: op.kind, provider: OP_DESCRIPTIONS[op.kind].provider(run.plan, op), path };
    if (op.rows) this.#childRows(run, op, rows, head);
    else this.#add(head, this.#numbered(run, rows), slotColumns(run, op.outputs, rows));
  }

  /** Records the cells that the online store served. */
  stored(run: Run, { path }: PlanFrame, cells: readonly CellId[]): void {
    const slots = [...new Set(cells.map((cell) => run.cells.slotOf(cell)))];
    const rows = [...new Set(cells.map((cell) => run.cells.rowOf(cell)))].sort((a, b) => a - b);
    if (rows.length > 0)
      this.#add({ kind: "stored", provider: "online store", path }, this.#numbered(run, rows), slotColumns(run, slots, rows));
  }

  #numbered(run: Run, rows: readonly Row[]): readonly number[] {
    const numbers = this.#numbers.get(run);
    return numbers ? rows.map((row) => numbers[row] as number) : rows;
  }

  #childRows(run: Run, op: PlanOp, rows: readonly Row[], head: Pick<Stage, "kind" | "provider" | "path">): void {
    const numbers = this.#numbered(run, rows);
    const owners: number[] = [];
    const places: { readonly columns: readonly (readonly [string, ChildColumn])[]; readonly row: number }[] = [];
    const slot = run.plan.outputOf(op).id;
    for (const [at, row] of rows.entries()) {
      const found = run.cells.childRows(run.cells.at(slot, row));
      if (!found) continue;
      const { table, from, to } = found;
      const columns = [...new Map([...table.columns, ...table.whole.map((one) => [one.feature.name, one] as const)])];
      for (let child = from; child < to; child++) {
        owners.push(numbers[at] as number);
        places.push({ columns, row: child });
      }
    }
    const path = `${head.path}.${op.rows?.many.name}`;
    const columns = (places[0]?.columns ?? []).map(
      ([name, { feature }], position): Column => ({
        name: `${path}.${name}`,
        dtype: feature.dtype,
        at(row) {
          const place = places[row] as (typeof places)[number];
          const column = place.columns[position]?.[1];
          return { value: column?.values[place.row] ?? null, failure: column?.failures.get(place.row)?.message };
        },
      }),
    );
    this.#add({ ...head, path }, owners, columns);
  }

  #add(head: Pick<Stage, "kind" | "provider" | "path">, rows: readonly number[], columns: readonly Column[]): void {
    if (this.stages.length > MAX_STAGES) return;
    const lines: string[] = [];
    let omitted = "";
    if (this.stages.length === MAX_STAGES) omitted = `a query keeps ${MAX_STAGES} stages: this one and those after it are left out`;
    else if (rows.length > MAX_STAGE_ROWS) omitted = `it gave ${rows.length} rows, and at most ${MAX_STAGE_ROWS} of a stage are kept`;
    let size = this.#size;
    for (let at = 0; at < rows.length && omitted === ""; at++) {
      const line = lineOf(rows[at] as number, columns, at);
      size += line.length;
      if (size > MAX_STAGES_SIZE) omitted = `the stages of a query are kept up to ${MAX_STAGES_SIZE / 1024 / 1024} MiB`;
      else lines.push(line);
    }
    if (omitted === "") this.#size = size;
    this.stages.push({
      ...head,
      rows: rows.length,
      columns: columns.map(({ name }) => name),
      types: columns.map(({ dtype }) => toJson(DataTypeSchema, dtype)),
      lines: omitted === "" ? lines : [],
      omitted,
    });
  }
}

function lineOf(row: number, columns: readonly Column[], at: number): string {
  const errors: Record<string, string> = {};
  const values = columns.map((column) => {
    const { value, failure } = column.at(at);
    if (failure !== undefined) errors[column.name] = failure;
    return tagged(value);
  });
  return JSON.stringify([row, values, errors]);
}

function slotColumns({ plan, cells }: Run, slots: readonly SlotId[], rows: readonly Row[]): Column[] {
  return slots.map((id) => {
    const slot = plan.slot(id);
    return {
      name: slot.path,
      dtype: slot.feature.dtype,
      at(at) {
        const cell = cells.at(id, rows[at] as Row);
        const failure = cells.state(cell) === CellState.FAILED ? cells.failure(cell)?.message : undefined;
        return { value: cells.isOk(cell) ? cells.value(cell) : null, failure };
      },
    };
  });
}
