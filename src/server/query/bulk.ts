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
import type { ResolverInfo, ScalarInfo } from "./graph/index-types.ts";
import { keyTextOf } from "./ops/key-text.ts";
import { DividedPartitions, MOST_PARENTS_TOGETHER, MOST_TOGETHER, Partitions, tooLarge } from "./partitions.ts";
import { FIRST_ROW } from "./plan/ids.ts";
import { partitionedBelow, partitionedOps } from "./plan/partitioned-ops.ts";
import type { Plan, PlanOp } from "./plan/plan.ts";
import type { QueryContext } from "./query-context.ts";
import { guesses, QueryRefused, refusal } from "./refusal.ts";
import type { PreparedRows, Preparer, RowGroup } from "./request/prepare.ts";
import type { BulkInput, BulkRequest, QueryRequest } from "./request/request.ts";
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
    /**
     * Whether these are not all rows that are computed, but all of the partitions of the forced
     * resolver that they are of.
     */
    readonly isPart = false,
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
    let batches: readonly Batch[] = rangesOf(rows);
    let isPartitioned = false;
    for (let at = 0; at < batches.length; at++) {
      const planning = this.spans?.open("plan", "plan");
      let prepared = this.#prepared(request, batches[at] as Batch, guess);
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
      const gathering = prepared.groups.find(({ plan }) => plan.ops.some(({ gathers }) => gathers))?.plan;
      if (gathering && (prepared.groups.length > 1 || (at > 0 && !isPartitioned))) throw dividedByForms(gathering);
      if (gathering && at === 0) {
        isPartitioned = true;
        batches = await this.#partitioned(gathering, request, rows, context);
        const [first] = batches;
        if (!first) break;
        prepared = this.#prepared(request, first, guess);
      }
      await this.#runBatch(prepared, context, started);
      context.signal?.throwIfAborted();
      if (at + 1 < batches.length) await Bun.sleep(0);
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

  #prepared(request: QueryRequest, { from, rows, to }: Batch, guess: ReturnType<typeof guesses>): PreparedRows {
    const { columns } = this.bulk;
    if (!rows) return this.preparer.prepareRows(request, columns, from, to, guess);
    const prepared = this.preparer.prepareRows(
      request,
      columns.map((column) => pickedColumn(column, rows)),
      0,
      rows.length,
      guess,
    );
    const rowOf = (position: number): number => rows[position] as number;
    return {
      ...prepared,
      groups: prepared.groups.map((group) => ({ ...group, rows: group.rows.map(rowOf) })),
      refused: new Map([...prepared.refused].map(([position, refusals]) => [rowOf(position), refusals])),
    };
  }

  /**
   * The batches of rows of which a resolver is partitioned: whole partitions. Those that are too
   * large fail. Throws DividedPartitions where they would be divided all the same.
   */
  async #partitioned(plan: Plan, request: QueryRequest, rows: number, context: QueryContext): Promise<Batch[]> {
    const below = partitionedBelow(plan);
    const forced = request.forcedResolver;
    const ops = partitionedOps(plan);
    const other = below ?? ops.find(({ resolver }) => resolver?.fqn !== forced);
    const [given, most] = [rows, MOST_PARENTS_TOGETHER].map((count) => count.toLocaleString("en"));
    if (this.isPart && other)
      throw new DividedPartitions(other, `${forced} is computed for a part of its rows at a time: store what the first one gives before`);
    if (below && rows > MOST_PARENTS_TOGETHER)
      throw new DividedPartitions(
        below,
        `this query asks for those of ${given} rows, of which at most ${most} are computed together: ask for fewer`,
      );
    if (rows <= BATCH_ROWS || ops.length === 0) return rangesOf(rows, Math.max(rows, 1));
    const partitions = await this.#partitionsOf(plan, ops, request, rows, context);
    return partitions.parts(BATCH_ROWS).flatMap((part): Batch[] => {
      if (part.length <= MOST_TOGETHER) return [{ from: 0, to: part.length, rows: part }];
      const [{ frame, resolver }] = ops as [PlanOp];
      const message = tooLarge(resolver as ResolverInfo, part.length);
      const { path } = plan.frame(frame);
      for (const row of part)
        this.#failures.push({
          ...{ row, code: ErrorCode.RESOLVER_FAILED, category: ErrorCategory.FIELD, message },
          ...{ feature: path, resolver: resolver?.fqn ?? "" },
        });
      return [];
    });
  }

  /** The partitions of all rows, by a query ahead for what resolvers are partitioned by. */
  async #partitionsOf(plan: Plan, ops: readonly PlanOp[], request: QueryRequest, rows: number, context: QueryContext): Promise<Partitions> {
    const keys = ops.map(({ frame, resolver }) => {
      const { path } = plan.frame(frame);
      return (resolver?.partitionedBy ?? []).map((feature) => ({ feature, path: `${path}.${feature.name}` }));
    });
    const outputs = [...new Set(keys.flat().map(({ path }) => path))];
    const asked: QueryRequest = { ...request, outputs, explain: false, storePlanStages: false };
    const ahead = new BulkRun(
      { ...this.bulk, request: asked },
      this.preparer,
      () => context.ahead(),
      () => {},
      undefined,
      this.isPart,
    );
    const { columns } = await ahead.answer();
    const valuesOf = new Map(columns.map(({ path, values }) => [path, values]));
    const partitions = new Partitions(rows);
    for (const key of keys) {
      const textOf = keyTextOf(key.map(({ feature }) => feature));
      const values = key.map(({ path }) => valuesOf.get(path) ?? []);
      partitions.join(
        Array.from({ length: rows }, (_, row) => `${this.#microsOf(row)} ${textOf(values.map((column) => column[row] ?? null))}`),
      );
    }
    return partitions;
  }

  /** Rows of different times are never in one call. */
  #microsOf(row: number): bigint {
    const { now } = this.bulk;
    return now?.[now.length === 1 ? 0 : row] ?? 0n;
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

/** Rows that run together: from one to another, or those that are listed. */
interface Batch {
  readonly from: number;
  /** The row after the last. */
  readonly to: number;
  readonly rows?: readonly number[];
}

function rangesOf(rows: number, size = BATCH_ROWS): Batch[] {
  const batches = Math.max(1, Math.ceil(rows / size));
  return Array.from({ length: batches }, (_, batch) => ({ from: batch * size, to: Math.min(rows, (batch + 1) * size) }));
}

function pickedColumn(column: BulkInput, rows: readonly number[]): BulkInput {
  return { name: column.name, length: rows.length, at: (position) => column.at(column.length === 1 ? 0 : (rows[position] as number)) };
}

/** The refusal of rows of which not the same features are given, and so have several plans. */
function dividedByForms(plan: Plan): DividedPartitions {
  const op = partitionedBelow(plan) ?? (partitionedOps(plan)[0] as PlanOp);
  return new DividedPartitions(op, "the rows of this query are given in different forms: give each the same features");
}

/** A group as it is, or in smaller parts when its rows have child rows and no partitions. */
function inParts(group: RowGroup): RowGroup[] {
  const { ops } = group.plan;
  if (group.rows.length <= BATCH_PARENTS || !ops.some((op) => op.rows) || ops.some((op) => op.gathers)) return [group];
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
