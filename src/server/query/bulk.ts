/**
 * Bulk queries: one query for many rows, run in batches so that memory stays bounded whatever their
 * number.
 */

import { create } from "@bufbuild/protobuf";
import { ErrorCategory, ErrorCode, ErrorDetailSchema, type ExceptionInfo } from "../../../gen/svc/v1/error_pb.ts";
import {
  BulkColumnSchema,
  BulkErrorSchema,
  BulkTableSchema,
  type QueryBulkResponse,
  QueryBulkResponseSchema,
  type QueryResponse,
  QueryResponseSchema,
} from "../../../gen/svc/v1/query_pb.ts";
import { toProtoValue } from "../../domain/proto-value.ts";
import { SPAN_ATTRIBUTES as ATTRIBUTE } from "../../domain/span-attributes.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { type AnswerHead, answerFailures, answerFields, answerMeta } from "./answer/answer.ts";
import { explainRun } from "./answer/explain.ts";
import { type SpanRecorder, toldTrace } from "./answer/spans.ts";
import { checkStagedRows } from "./answer/stages.ts";
import type { ScalarInfo } from "./graph/index-types.ts";
import { FIRST_ROW } from "./plan/ids.ts";
import type { Plan } from "./plan/plan.ts";
import type { QueryContext } from "./query-context.ts";
import { guesses, QueryRefused, refusal } from "./refusal.ts";
import type { PreparedRows, Preparer, RowGroup } from "./request/prepare.ts";
import type { BulkRequest, QueryRequest } from "./request/request.ts";
import type { NamedVersion } from "./request/resolve.ts";
import type { Awaitable } from "./run/awaitable.ts";
import { Execution } from "./run/executor.ts";
import { QueryTime } from "./run/query-time.ts";

/** Rows that run together. */
const BATCH_ROWS = 10_000;
/** Rows that run together when each may have any number of child rows. */
const BATCH_PARENTS = 1_000;

/** A column of a bulk answer. */
export interface BulkAnswerColumn {
  /** FQN from the root. */
  readonly path: string;
  readonly feature: ScalarInfo;
  /** Whether its values are lists of whole rows of a has-many relation. */
  readonly isTable: boolean;
  /** Null where it failed. */
  readonly values: FeatureValue[];
  /** Whether the online store served the value. */
  readonly hits: boolean[];
}

/** A failure of a row. */
export interface BulkFailure {
  /** From 0. */
  readonly row: number;
  readonly code: ErrorCode;
  readonly category: ErrorCategory;
  readonly message: string;
  readonly feature: string;
  /** FQN; empty = none. */
  readonly resolver: string;
  readonly exception?: ExceptionInfo | undefined;
}

/** The answer to a bulk query. */
export interface BulkAnswer extends AnswerHead {
  readonly rows: number;
  readonly columns: readonly BulkAnswerColumn[];
  /** In the order of the rows. */
  readonly failures: readonly BulkFailure[];
}

/** One run of a bulk query. */
export class BulkRun {
  readonly #failures: BulkFailure[] = [];
  #columns: BulkAnswerColumn[] | undefined;
  #plan: Plan | undefined;
  #explanation = "";

  constructor(
    readonly bulk: BulkRequest,
    readonly preparer: Preparer,
    readonly contextFor: (tags: readonly string[]) => QueryContext,
    /** Stores the values that a batch computed. */
    readonly keep: (execution: Execution, context: QueryContext) => Awaitable<void>,
    readonly spans: SpanRecorder | undefined,
  ) {}

  /** Runs the rows batch after batch. */
  async answer(): Promise<BulkAnswer> {
    const started = performance.now();
    const { columns } = this.bulk;
    const rows = rowsOf(this.bulk);
    if (this.bulk.request.storePlanStages) checkStagedRows(rows);
    const request: QueryRequest = { ...this.bulk.request, inputs: columns.map(({ name }) => ({ name, form: "typed", value: null })) };
    let context: QueryContext | undefined;
    let inferred: readonly string[] = [];
    let named: NamedVersion | undefined;
    const guess = guesses();
    for (let from = 0; from === 0 || from < rows; from += BATCH_ROWS) {
      const planning = this.spans?.open("plan", "plan");
      const prepared = this.preparer.prepareRows(request, columns, from, Math.min(rows, from + BATCH_ROWS), guess);
      this.spans?.end(planning, {
        [ATTRIBUTE.planRemembered]: !prepared.planned,
        [ATTRIBUTE.queryHash]: prepared.groups[0]?.plan.hash,
      });
      ({ inferred, named } = prepared);
      context ??= this.contextFor(prepared.tags);
      context.signal?.throwIfAborted();
      this.#columns ??= prepared.outputs.map(({ path, feature, pick }) => ({
        path,
        feature,
        isTable: feature.rowsOf !== undefined && pick === undefined,
        values: new Array<FeatureValue>(rows).fill(null),
        hits: new Array<boolean>(rows).fill(false),
      }));
      await this.#runBatch(prepared, context, started);
      context.signal?.throwIfAborted();
      if (from + BATCH_ROWS < rows) await Bun.sleep(0);
    }
    const { deployment, queryId, now, observer } = context as QueryContext;
    return {
      queryId,
      deployment,
      queryHash: this.#plan?.hash ?? "",
      plan: this.#plan,
      named,
      nowMicros: now.micros,
      durationMs: performance.now() - started,
      rows,
      columns: this.#columns ?? [],
      failures: this.#failures.sort((a, b) => a.row - b.row),
      inferred,
      explanation: this.#explanation,
      traceId: toldTrace(this.spans),
      stages: observer?.stages?.stages ?? [],
    };
  }

  async #runBatch(prepared: PreparedRows, context: QueryContext, started: number): Promise<void> {
    for (const [row, refusals] of prepared.refused)
      for (const { code, message, feature, resolver } of refusals)
        this.#failures.push({
          row,
          code: code ?? ErrorCode.INVALID_QUERY,
          category: ErrorCategory.REQUEST,
          message: message ?? "",
          feature: feature ?? "",
          resolver: resolver ?? "",
        });
    for (const group of prepared.groups.flatMap(inParts)) {
      if (group.rows.length === 0) continue;
      const execution = new Execution(group.plan, group.rows.length, context, this.#timesOf(group.rows));
      context.observer?.stages?.number(execution, group.rows);
      await execution.execute(group.columns);
      await this.keep(execution, context);
      this.#plan ??= group.plan;
      if (context.trace && this.#explanation === "")
        this.#explanation = explainRun(execution, {
          queryId: context.queryId,
          durationMs: performance.now() - started,
          planned: prepared.planned,
        });
      context.meter?.answered(execution);
      this.#collect(execution, group.rows);
    }
  }

  /** The times of rows, one object for equal ones; undefined when they have the query's. */
  #timesOf(rows: readonly number[]): readonly QueryTime[] | undefined {
    const { now } = this.bulk;
    if (!now) return undefined;
    const known = new Map<bigint, QueryTime>();
    return rows.map((row) => {
      const micros = now[now.length === 1 ? 0 : row] as bigint;
      const time = known.get(micros) ?? new QueryTime(micros);
      known.set(micros, time);
      return time;
    });
  }

  #collect(execution: Execution, rows: readonly number[]): void {
    for (let at = FIRST_ROW; at < rows.length; at++) {
      const row = rows[at] as number;
      const fields = answerFields(execution, at);
      for (let i = 0; i < fields.length; i++) {
        const field = fields[i] as (typeof fields)[number];
        const column = this.#columns?.[i] as BulkAnswerColumn;
        column.values[row] = field.value;
        column.hits[row] = field.hit;
      }
      for (const { code, message, path, resolver, exception } of answerFailures(fields))
        this.#failures.push({ row, code, category: ErrorCategory.FIELD, message, feature: path, resolver, exception });
    }
  }
}

/** A group as it is, or in smaller parts when its rows have child rows. */
function inParts(group: RowGroup): RowGroup[] {
  if (group.rows.length <= BATCH_PARENTS || !group.plan.ops.some((op) => op.rows)) return [group];
  return Array.from({ length: Math.ceil(group.rows.length / BATCH_PARENTS) }, (_, part) => {
    const [from, to] = [part * BATCH_PARENTS, (part + 1) * BATCH_PARENTS];
    return { plan: group.plan, rows: group.rows.slice(from, to), columns: group.columns.map((column) => column.slice(from, to)) };
  });
}

/**
 * The rows of a query: the length of its columns, of which those of length 1 stand for every row.
 * Throws QueryRefused when two differ.
 */
function rowsOf({ columns, now }: BulkRequest): number {
  const times = now ? [{ name: "now", length: now.length }] : [];
  const [first, ...others] = [...columns, ...times].filter((column) => column.length !== 1);
  const other = others.find((column) => column.length !== first?.length);
  if (first && other)
    throw new QueryRefused([
      refusal(
        ErrorCode.INVALID_QUERY,
        `inputs of a bulk query must have as many values as each other, or one: ${first.name} has ${first.length}, ${other.name} has ${other.length}`,
        other.name,
      ),
    ]);
  return first?.length ?? 1;
}

/** Errors of a bulk query that its summary names. */
const MAX_SUMMARY_ERRORS = 100;

/** The answer to a bulk query without its values, as the answer of a query, for the log. */
export function bulkSummary(answer: BulkAnswer): QueryResponse {
  return create(QueryResponseSchema, {
    errors: answer.failures.slice(0, MAX_SUMMARY_ERRORS).map(errorDetail),
    meta: answerMeta(answer, []),
    explainOutput: answer.explanation,
    inferredOutputs: [...answer.inferred],
  });
}

function errorDetail({ code, category, message, feature, resolver, exception }: BulkFailure) {
  return create(ErrorDetailSchema, { code, category, message, feature, resolver, ...(exception ? { exception } : {}) });
}

/** Whole rows of a has-many relation as a table with the names of the child's features. */
function tableToProto({ path, feature, values }: BulkAnswerColumn) {
  const element = feature.dtype.kind.case === "list" ? feature.dtype.kind.value.element : undefined;
  const fields = element?.kind.case === "struct" ? element.kind.value.fields : [];
  const lists = values.map((value) => (Array.isArray(value) ? (value as Readonly<Record<string, FeatureValue>>[]) : []));
  return create(BulkTableSchema, {
    field: path,
    parents: lists.flatMap((list, row) => list.map(() => row)),
    columns: fields.map((field) =>
      create(BulkColumnSchema, {
        field: field.name,
        values: lists.flatMap((list) => list.map((one) => toProtoValue(one[field.name] ?? null, field.dtype))),
      }),
    ),
  });
}

/** The answer as a message. */
export function bulkAnswerToProto(answer: BulkAnswer): QueryBulkResponse {
  return create(QueryBulkResponseSchema, {
    rows: answer.rows,
    columns: answer.columns
      .filter((column) => !column.isTable)
      .map(({ path, feature, values, hits }) =>
        create(BulkColumnSchema, {
          field: path,
          values: values.map((value) => toProtoValue(value, feature.dtype)),
          hits: hits.includes(true) ? hits : [],
        }),
      ),
    tables: answer.columns.filter((column) => column.isTable).map(tableToProto),
    errors: answer.failures.map((failure) => create(BulkErrorSchema, { row: failure.row, error: errorDetail(failure) })),
    meta: answerMeta(answer, answer.columns),
    explainOutput: answer.explanation,
    inferredOutputs: [...answer.inferred],
  });
}
