/** Watches a query that is traced, or whose stages are kept. Other queries have none, so that they pay nothing. */

import type { PythonPool, ResolverCall, ResolverResult } from "../../python/pool.ts";
import type { SqlSource } from "../../sql/source.ts";
import type { OpenSpan, SpanFacts, SpanRecorder } from "../answer/spans.ts";
import type { StageRecorder } from "../answer/stages.ts";
import type { PlanFrame, PlanOp, PlanSlot } from "../plan/plan.ts";
import { providerOf } from "../plan/plan-reasons.ts";
import { CellOrigin, CellState } from "./cells.ts";
import type { Execution } from "./executor.ts";

/** Longest statement that a span keeps, in characters. Values are never in it: they are bound. */
const MAX_STATEMENT = 2_000;

/** The watcher of one query. */
export class RunObserver {
  /** Ops and reads that are under way, by the very list of rows or cells that they are for. */
  readonly #running = new Map<readonly number[], OpenSpan>();
  /** The last span of an op. */
  readonly #ops = new Map<PlanOp, OpenSpan>();
  /** The span that a run of child rows is a part of. */
  readonly #around = new WeakMap<Execution, OpenSpan>();

  constructor(
    readonly spans: SpanRecorder | undefined,
    readonly stages: StageRecorder | undefined,
  ) {}

  /** A run of child rows was made for an op. */
  nested(child: Execution, op: PlanOp): void {
    const span = this.#ops.get(op);
    if (span) this.#around.set(child, span);
  }

  /** An op starts for some rows. */
  opBegan(execution: Execution, op: PlanOp, rows: readonly number[]): void {
    if (!this.spans) return;
    const { plan } = execution;
    const { path } = plan.frames[op.frame] as PlanFrame;
    const resolver = op.resolver?.fqn;
    const provider = providerOf(plan, op);
    const span = this.#open("op", provider, execution, { op: op.kind, provider, resolver, path, rows_in: rows.length });
    this.#running.set(rows, span);
    this.#ops.set(op, span);
  }

  /** What an op gave for the rows that it started for was taken. */
  opEnded(execution: Execution, op: PlanOp, rows: readonly number[]): void {
    this.stages?.op(execution, op, rows);
    const span = this.#running.get(rows);
    if (!span) return;
    this.#running.delete(rows);
    const { given, failed, error } = figuresOf(execution, op, rows);
    this.spans?.end(span, { rows_out: op.outputs.length > 0 ? given : undefined, failed: failed || undefined }, error);
  }

  /** Cells of one frame are looked up in the online store. */
  readBegan(execution: Execution, frame: PlanFrame, cells: readonly number[]): void {
    if (this.spans)
      this.#running.set(cells, this.#open("store", `read ${frame.path}`, execution, { path: frame.path, values: cells.length }));
  }

  /** What the online store had of them was taken. */
  readEnded(execution: Execution, frame: PlanFrame, cells: readonly number[]): void {
    const hits = cells.filter((cell) => execution.cells.origin[cell] === CellOrigin.STORED);
    const own = hits.filter((cell) => !(execution.plan.slots[Math.floor(cell / execution.rows)] as PlanSlot).feature.rowsOf);
    this.stages?.stored(execution, frame, own);
    const span = this.#running.get(cells);
    this.#running.delete(cells);
    this.spans?.end(span, { cached: hits.length });
  }

  /** Values and rows of relations are written to the online store; call what is given when they are, with what went wrong. */
  writeBegan(values: number, relations: number): (error?: unknown) => void {
    const { spans } = this;
    const span = spans?.open("store", "write", spans.root, { values, relations: relations || undefined });
    return (error) => spans?.end(span, {}, error === undefined ? "" : textOf(error));
  }

  /** Calls a worker for an op. The call is told the span, so that what the resolver calls in turn can be a part of it. */
  async call(pool: PythonPool, op: PlanOp, call: ResolverCall): Promise<ResolverResult> {
    const { spans } = this;
    if (!spans) return pool.call(call);
    const span = spans.open("worker", call.resolver, this.#ops.get(op), { resolver: call.resolver, rows_in: call.rows });
    try {
      const result = await pool.call({ ...call, context: { ...call.context, traceparent: spans.traceparent(span) } });
      const [error] = result.errors;
      const facts = {
        rows_out: call.rows - result.errors.length,
        python_ms: result.ranMs.toFixed(3),
        failed: result.errors.length || undefined,
      };
      spans.end(span, facts, error?.message);
      return result;
    } catch (error) {
      spans.end(span, {}, textOf(error));
      throw error;
    }
  }

  /** A source whose statements for an op have spans. */
  source(source: SqlSource, op: PlanOp): SqlSource {
    const { spans } = this;
    if (!spans) return source;
    const parent = this.#ops.get(op);
    return {
      name: source.name,
      kind: source.kind,
      quote: (identifier) => source.quote(identifier),
      placeholder: (position, type) => source.placeholder(position, type),
      describe: (statement) => source.describe(statement),
      columnTypes: (statement) => source.columnTypes(statement),
      test: () => source.test(),
      close: () => source.close(),
      async query(statement, parameters, signal) {
        const text = statement.length > MAX_STATEMENT ? `${statement.slice(0, MAX_STATEMENT)}...` : statement;
        const span = spans.open("sql", source.name, parent, { source: source.name, statement: text });
        try {
          const result = await source.query(statement, parameters, signal);
          spans.end(span, { rows_out: result.rows.length });
          return result;
        } catch (error) {
          spans.end(span, {}, textOf(error));
          throw error;
        }
      },
    };
  }

  #open(kind: "op" | "store", name: string, execution: Execution, facts: SpanFacts): OpenSpan {
    const { spans } = this;
    if (!spans) throw new Error("spans are opened for traced queries alone");
    return spans.open(kind, name, this.#around.get(execution), facts);
  }
}

/** Rows that an op gave, rows for which it failed, and the first failure's words. */
function figuresOf(
  { cells, rows: count }: Execution,
  op: PlanOp,
  rows: readonly number[],
): { given: number; failed: number; error: string } {
  let given = 0;
  let failed = 0;
  let error = "";
  for (const row of rows) {
    const own = op.outputs.map((slot) => slot * count + row);
    const failure = own.find((cell) => cells.state[cell] === CellState.FAILED);
    if (failure !== undefined) {
      failed++;
      error ||= cells.failures[failure]?.message ?? "";
    }
    const found = op.rows && cells.rowsAt.get(own[0] ?? -1);
    if (found) given += found.to - found.from;
    else if (!op.rows && own.some((cell) => cells.state[cell] === CellState.OK)) given++;
  }
  return { given, failed, error };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
