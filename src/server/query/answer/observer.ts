/**
 * The watcher of a query that is traced, whose stages are kept, or of whose values others are told.
 */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { SourceKind } from "../../../../gen/svc/v1/graph_pb.ts";
import { errorText } from "../../../domain/error-text.ts";
import { SPAN_ATTRIBUTES as ATTRIBUTE } from "../../../domain/span-attributes.ts";
import type { ResolverCall, ResolverCalls, ResolverResult } from "../../python/pool.ts";
import type { SqlSource } from "../../sql/source.ts";
import type { CellId, Row } from "../plan/ids.ts";
import type { PlanFrame, PlanOp } from "../plan/plan.ts";
import { type CellFailure, CellOrigin, CellState } from "../run/cells.ts";
import type { RowsValue } from "../run/child-rows.ts";
import type { Run, RunObserver } from "../run/run.ts";
import type { ComputedRecorder } from "./computed.ts";
import { stepName } from "./op-descriptions.ts";
import type { OpenSpan, SpanFacts, SpanRecorder } from "./spans.ts";
import type { StageRecorder } from "./stages.ts";

/** Longest statement that a span keeps, in characters. Values are never in it: they are bound. */
const MAX_STATEMENT = 2_000;

/** Names of database systems by OpenTelemetry's conventions. */
const DB_SYSTEMS: Readonly<Partial<Record<SourceKind, string>>> = {
  [SourceKind.POSTGRESQL]: "postgresql",
  [SourceKind.MYSQL]: "mysql",
  [SourceKind.CLICKHOUSE]: "clickhouse",
  [SourceKind.DUCKDB]: "duckdb",
  [SourceKind.SNOWFLAKE]: "snowflake",
  [SourceKind.BIGQUERY]: "gcp.bigquery",
  [SourceKind.SQLITE]: "sqlite",
};

/** Turns the steps of one query into its spans and stages. */
export class QueryObserver implements RunObserver {
  /** Ops and reads that are under way, by the very list of rows or cells that they are for. */
  readonly #running = new Map<readonly number[], OpenSpan>();
  /** The last span of an op. */
  readonly #ops = new Map<PlanOp, OpenSpan>();
  /** The span that a run of child rows is a part of. */
  readonly #around = new Map<Run, OpenSpan>();

  constructor(
    readonly spans: SpanRecorder | undefined,
    readonly stages: StageRecorder | undefined,
    readonly computed?: ComputedRecorder | undefined,
  ) {}

  nested(child: Run, op: PlanOp): void {
    const span = this.#ops.get(op);
    if (span) this.#around.set(child, span);
  }

  opBegan(run: Run, op: PlanOp, rows: readonly Row[]): void {
    this.computed?.began(rows);
    if (!this.spans) return;
    const { plan } = run;
    const { path } = plan.frame(op.frame);
    const resolver = op.resolver?.fqn;
    const provider = stepName(plan, op);
    const span = this.#open("op", provider, run, {
      [ATTRIBUTE.step]: op.kind,
      [ATTRIBUTE.resolver]: resolver,
      [ATTRIBUTE.path]: path,
      [ATTRIBUTE.rowsIn]: rows.length,
    });
    this.#running.set(rows, span);
    this.#ops.set(op, span);
  }

  opEnded(run: Run, op: PlanOp, rows: readonly Row[]): void {
    this.stages?.op(run, op, rows);
    this.computed?.ended(run, op, rows);
    const span = this.#running.get(rows);
    if (!span) return;
    this.#running.delete(rows);
    const { given, failed, failure } = figuresOf(run, op, rows);
    const facts = {
      [ATTRIBUTE.rowsOut]: op.outputs.length > 0 ? given : undefined,
      [ATTRIBUTE.rowsFailed]: failed || undefined,
      [ATTRIBUTE.errorType]: failure && ErrorCode[failure.code],
    };
    this.spans?.end(span, facts, failure?.message);
  }

  readBegan(run: Run, frame: PlanFrame, cells: readonly CellId[]): void {
    if (this.spans)
      this.#running.set(
        cells,
        this.#open("store", `read ${frame.path}`, run, { [ATTRIBUTE.path]: frame.path, [ATTRIBUTE.values]: cells.length }),
      );
  }

  readEnded(run: Run, frame: PlanFrame, cells: readonly CellId[]): void {
    const hits = cells.filter((cell) => run.cells.origin(cell) === CellOrigin.STORED);
    const own = hits.filter((cell) => !run.plan.slot(run.cells.slotOf(cell)).feature.rowsOf);
    this.stages?.stored(run, frame, own);
    const span = this.#running.get(cells);
    this.#running.delete(cells);
    this.spans?.end(span, { [ATTRIBUTE.cacheHits]: hits.length });
  }

  writeBegan(values: number, relations: number): (error?: unknown) => void {
    const { spans } = this;
    const span = spans?.open("store", "write", spans.root, { [ATTRIBUTE.values]: values, [ATTRIBUTE.relations]: relations || undefined });
    return (error) => spans?.end(span, {}, error === undefined ? "" : errorText(error));
  }

  async call(workers: ResolverCalls, op: PlanOp, call: ResolverCall): Promise<ResolverResult> {
    const { spans } = this;
    if (!spans) return workers.call(call);
    const span = spans.open("worker", call.resolver, this.#ops.get(op), {
      [ATTRIBUTE.resolver]: call.resolver,
      [ATTRIBUTE.function]: call.resolver,
      [ATTRIBUTE.rowsIn]: call.rows,
    });
    try {
      const result = await workers.call({ ...call, context: { ...call.context, traceparent: spans.traceparent(span) } });
      const [error] = result.errors;
      const facts = {
        [ATTRIBUTE.rowsOut]: call.rows - result.errors.length,
        [ATTRIBUTE.pythonMs]: result.ranMs.toFixed(3),
        [ATTRIBUTE.rowsFailed]: result.errors.length || undefined,
        [ATTRIBUTE.errorType]: error?.exception?.kind,
      };
      spans.end(span, facts, error?.message);
      return result;
    } catch (error) {
      spans.end(span, {}, errorText(error));
      throw error;
    }
  }

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
        const span = spans.open("sql", source.name, parent, {
          [ATTRIBUTE.source]: source.name,
          [ATTRIBUTE.dbSystem]: DB_SYSTEMS[source.kind],
          [ATTRIBUTE.dbStatement]: text,
        });
        try {
          const result = await source.query(statement, parameters, signal, spans.traceparent(span));
          spans.end(span, { [ATTRIBUTE.dbRows]: result.rows.length });
          return result;
        } catch (error) {
          spans.end(span, { [ATTRIBUTE.errorType]: error instanceof Error ? error.name : undefined }, errorText(error));
          throw error;
        }
      },
    };
  }

  #open(kind: "op" | "store", name: string, run: Run, facts: SpanFacts): OpenSpan {
    const { spans } = this;
    if (!spans) throw new Error("spans are opened for traced queries alone");
    return spans.open(kind, name, this.#around.get(run), facts);
  }
}

/**
 * The number of rows with values from an op, the number of failed rows, and the first failure's
 * message.
 */
function figuresOf({ cells }: Run, op: PlanOp, rows: readonly Row[]): { given: number; failed: number; failure: CellFailure | undefined } {
  let given = 0;
  let failed = 0;
  let first: CellFailure | undefined;
  for (const row of rows) {
    const own = op.outputs.map((slot) => cells.at(slot, row));
    const failure = own.find((cell) => cells.state(cell) === CellState.FAILED);
    if (failure !== undefined) {
      failed++;
      first ??= cells.failure(failure);
    }
    if (op.rows) given += own.reduce((sum, cell) => sum + countOf(cells.childRows(cell)), 0);
    else if (own.some((cell) => cells.isOk(cell))) given++;
  }
  return { given, failed, failure: first };
}

function countOf(rows: RowsValue | undefined): number {
  return rows ? rows.to - rows.from : 0;
}
