/** The answer to a query, and its form as a message. */

import { create } from "@bufbuild/protobuf";
import { ErrorCategory, ErrorCode, type ErrorDetail, ErrorDetailSchema } from "../../../../gen/svc/v1/error_pb.ts";
import {
  FeatureMetaSchema,
  FeatureResultSchema,
  type QueryMeta,
  QueryMetaSchema,
  type QueryResponse,
  QueryResponseSchema,
} from "../../../../gen/svc/v1/query_pb.ts";
import { readableName } from "../../../domain/name.ts";
import { microsToTimestamp, msToDuration, msToTimestamp } from "../../../domain/proto-time.ts";
import { toProtoValue } from "../../../domain/proto-value.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { ScalarInfo } from "../graph/index-types.ts";
import type { LiveDeployment } from "../live-deployment.ts";
import { type CellId, FIRST_ROW, type Row } from "../plan/ids.ts";
import type { AnswerOrigins, Plan, PlanFrame, PlanOutput, PlanSlot, SharedAnswerParts } from "../plan/plan.ts";
import type { NamedVersion } from "../request/resolve.ts";
import { type CellFailure, CellOrigin, CellState } from "../run/cells.ts";
import { listFailures, rowsAsList } from "../run/child-rows.ts";
import { providerOf } from "../run/choice.ts";
import type { Run } from "../run/run.ts";
import type { Stage } from "./stages.ts";

/** One feature of an answer. */
export interface AnswerField {
  /** FQN from the root. */
  readonly path: string;
  readonly feature: ScalarInfo;
  /** Null when it failed. */
  readonly value: FeatureValue;
  /** Whether the online store served it. */
  readonly hit: boolean;
  /**
   * FQN of the resolver that computed it, now or when it was stored; empty for inputs, joins and
   * defaults.
   */
  readonly resolver: string;
  /** Epoch milliseconds; undefined when there is no value. */
  readonly observedAt: number | undefined;
  /** The row's primary key and its value; undefined when it is not known. */
  readonly key: { readonly feature: ScalarInfo; readonly value: FeatureValue } | undefined;
  readonly failure: CellFailure | undefined;
  /** For a list over child rows: the reasons why values in it are null. */
  readonly inner?: readonly CellFailure[] | undefined;
  /** Whether its value is whole rows of a has-many relation. */
  readonly isTable: boolean;
}

/** The part of an answer that queries for one row and for many have in common. */
export interface AnswerHead {
  readonly queryId: string;
  readonly deployment: LiveDeployment;
  /** Same for queries of the same shape; empty when no row could be run. */
  readonly queryHash: string;
  /** The time answered as of, microseconds since 1970. */
  readonly nowMicros: bigint;
  readonly durationMs: number;
  readonly inferred: readonly string[];
  /** Explanation of the first row; empty unless requested. */
  readonly explanation: string;
  /** Id of the query's trace; empty when it was not traced. */
  readonly traceId: string;
  /** The values that the steps produced; empty unless requested. */
  readonly stages: readonly Stage[];
  /** The plan, of a bulk query that of its first rows; absent when no row could be run. */
  readonly plan?: Plan | undefined;
  /** The named query that was meant; absent = none was. */
  readonly named?: NamedVersion | undefined;
  /** The primary key of the query's row; absent for many rows, and where it is not known. */
  readonly rootKey?: AnswerField["key"];
}

/** The answer to a query for one row. */
export interface Answer extends AnswerHead {
  /** The parts that its plan keeps for all answers. */
  readonly shared: SharedAnswerParts;
  readonly fields: readonly AnswerField[];
  /** The failures of the fields, with their causes. */
  readonly failures: readonly CellFailure[];
}

/** The primary key of the query's row in a run; undefined when it is not known. */
export function rootKeyOf(run: Run): AnswerField["key"] {
  const [root] = run.plan.frames;
  return root && new FrameKeys(run, FIRST_ROW).of(root);
}

/** The outputs of a row of a run. Fields of the same row of a relation share their key. */
export function answerFields(run: Run, row: Row): AnswerField[] {
  const { plan } = run;
  const keys = new FrameKeys(run, row);
  const fields: AnswerField[] = new Array(plan.outputs.length);
  for (let i = 0; i < fields.length; i++) fields[i] = answerField(run, row, plan.outputs[i] as PlanOutput, keys);
  return fields;
}

function answerField(run: Run, row: Row, output: PlanOutput, keys: FrameKeys): AnswerField {
  const { plan, cells } = run;
  if (output.slot === undefined) return unprovided(output);
  const slot = plan.slot(output.slot);
  const cell = cells.at(slot.id, row);
  if (slot.feature.rowsOf) return rowsField(run, cell, output);
  const origin = cells.origin(cell);
  const state = cells.state(cell);
  const failure = state === CellState.FAILED ? cells.failure(cell) : undefined;
  return {
    path: slot.path,
    feature: slot.feature,
    value: state === CellState.OK ? cells.value(cell) : null,
    hit: origin === CellOrigin.STORED,
    resolver: resolverOf(run, slot, cell, origin),
    observedAt: failure ? undefined : cells.observed(cell),
    key: state === CellState.ABSENT ? undefined : keys.of(plan.frame(slot.frame)),
    failure,
    isTable: false,
  };
}

/** FQN of the resolver that computed a cell, now or when it was stored. */
function resolverOf(run: Run, slot: PlanSlot, cell: CellId, origin: number): string {
  if (origin === CellOrigin.STORED) return run.cells.storedBy(cell);
  return origin === CellOrigin.COMPUTED ? (providerOf(run, slot, run.cells.rowOf(cell))?.resolver?.fqn ?? "") : "";
}

/** The primary keys of the rows that one row of a run leads to, each looked up once. */
class FrameKeys {
  /** By frame; null = not known. */
  readonly #keys: (AnswerField["key"] | null)[] = [];

  constructor(
    readonly run: Run,
    readonly row: Row,
  ) {}

  of(frame: PlanFrame): AnswerField["key"] {
    let key = this.#keys[frame.id];
    if (key === undefined) {
      key = this.#find(frame) ?? null;
      this.#keys[frame.id] = key;
    }
    return key ?? undefined;
  }

  #find({ namespace: { primaryKey }, primarySlot }: PlanFrame): AnswerField["key"] {
    const { cells } = this.run;
    if (!primaryKey || primarySlot === undefined) return undefined;
    const cell = cells.at(primarySlot, this.row);
    const value = cells.isOk(cell) ? cells.value(cell) : null;
    return value === null ? undefined : { feature: primaryKey, value };
  }
}

function rowsField(run: Run, cell: CellId, { path, feature, pick }: PlanOutput): AnswerField {
  const { cells } = run;
  const failure = cells.state(cell) === CellState.FAILED ? cells.failure(cell) : undefined;
  const rows = cells.childRows(cell);
  const hit = cells.origin(cell) === CellOrigin.STORED;
  return {
    path,
    feature,
    value: cells.isOk(cell) ? rowsAsList(rows, pick) : null,
    hit,
    resolver: hit ? cells.storedBy(cell) : "",
    observedAt: failure ? undefined : hit ? cells.observed(cell) : run.timeOf(cells.rowOf(cell)).ms,
    key: undefined,
    failure,
    inner: listFailures(rows, pick),
    isTable: pick === undefined,
  };
}

function unprovided({ path, feature, reason = "" }: PlanOutput): AnswerField {
  const failure: CellFailure = { code: ErrorCode.RESOLVER_NOT_FOUND, message: reason, path, resolver: "" };
  return { path, feature, value: null, hit: false, resolver: "", observedAt: undefined, key: undefined, failure, isTable: false };
}

/** Every failure of the fields, and of the inputs at the root of them, each once. */
export function answerFailures(fields: readonly AnswerField[]): CellFailure[] {
  const found = new Set<CellFailure>();
  for (const { failure, inner } of fields) {
    if (failure) found.add(failure);
    if (inner) for (const one of inner) found.add(one);
  }
  if (found.size === 0) return [];
  for (const failure of [...found]) {
    let root = failure;
    while (root.cause) root = root.cause;
    found.add(root);
  }
  return [...found];
}

/** A failure as a message. */
export function failureDetail(failure: CellFailure): ErrorDetail {
  return create(ErrorDetailSchema, {
    code: failure.code,
    category: ErrorCategory.FIELD,
    message: failure.message,
    feature: failure.path,
    resolver: failure.resolver,
    ...(failure.exception ? { exception: failure.exception } : {}),
  });
}

/**
 * The origins of the fields, for the log. Their text is a line each, `+` when the online store
 * served it, then the FQN of the resolver.
 */
export function answerOrigins({ fields, shared }: Pick<Answer, "fields" | "shared">): AnswerOrigins {
  const last = shared.origins;
  if (last && areSame(last.fields, fields)) return last;
  const origins = fields.map(({ hit, resolver }) => ({ hit, resolver }));
  const text = origins.map(({ hit, resolver }) => (hit ? `+${resolver}\n` : `${resolver}\n`)).join("");
  const hitShare = origins.length === 0 ? null : origins.filter(({ hit }) => hit).length / origins.length;
  shared.origins = { fields: origins, text, hitShare };
  return shared.origins;
}

function areSame(some: AnswerOrigins["fields"], others: AnswerOrigins["fields"]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at++)
    if (some[at]?.hit !== others[at]?.hit || some[at]?.resolver !== others[at]?.resolver) return false;
  return true;
}

/** Outputs whose types are known: without a plan, the features of a relation's rows are not. */
export function typedOutputs<O extends Pick<AnswerField, "feature">>(outputs: readonly O[]): O[] {
  return outputs.filter(({ feature }) => !feature.rowsOf || feature.dtype.kind.case === "list");
}

/** Warnings of an answer at most. */
const MOST_WARNINGS = 20;

/** What the caller should know about the outputs: which of them are deprecated. */
export function answerWarnings(outputs: readonly Pick<AnswerField, "path" | "feature">[]): string[] {
  const deprecated = outputs.filter(({ feature }) => feature.deprecation !== undefined);
  return deprecated.slice(0, MOST_WARNINGS).map(({ path, feature }) => `${readableName(path)} ${feature.deprecation}`);
}

/**
 * The metadata of an answer, as a message.
 * @param outputs outputs whose types and warnings are included
 * @param url page of the run; empty = none
 */
export function answerMeta(
  { deployment, durationMs, queryId, nowMicros, queryHash, traceId, stages }: AnswerHead,
  outputs: readonly Pick<AnswerField, "path" | "feature">[],
  url = "",
): QueryMeta {
  return create(QueryMetaSchema, {
    executionDuration: msToDuration(durationMs),
    deploymentId: deployment.id,
    environmentId: deployment.environmentId,
    environmentName: deployment.environmentName,
    queryId,
    queryTimestamp: microsToTimestamp(nowMicros),
    queryHash,
    url,
    traceId,
    planStages: stages.length,
    types: Object.fromEntries(typedOutputs(outputs).map(({ path, feature }) => [path, feature.answerType.type])),
    warnings: answerWarnings(outputs),
  });
}

/**
 * The answer as a message.
 * @param url page of the run; empty = none
 */
export function answerToProto(answer: Answer, includeMeta: boolean, url = ""): QueryResponse {
  const details = new Map(answer.failures.map((failure) => [failure, failureDetail(failure)]));
  return create(QueryResponseSchema, {
    data: answer.fields.map((field) => {
      const result = create(FeatureResultSchema, { field: field.path, value: toProtoValue(field.value, field.feature.dtype) });
      if (field.key) result.pkey = toProtoValue(field.key.value, field.key.feature.dtype);
      if (field.observedAt !== undefined) result.ts = msToTimestamp(field.observedAt);
      if (field.failure) result.error = details.get(field.failure);
      if (includeMeta)
        result.meta = create(FeatureMetaSchema, {
          chosenResolverFqn: field.resolver,
          cacheHit: field.hit,
          primitiveType: field.feature.typeName,
          version: field.feature.version,
        });
      return result;
    }),
    errors: [...details.values()],
    meta: answerMeta(answer, answer.fields, url),
    explainOutput: answer.explanation,
    inferredOutputs: [...answer.inferred],
  });
}
