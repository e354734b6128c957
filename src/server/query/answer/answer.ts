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
import { type DataType, DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { microsToTimestamp, msToDuration, msToTimestamp } from "../../../domain/proto-time.ts";
import { toProtoValue } from "../../../domain/proto-value.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { LiveDeployment } from "../engine.ts";
import type { ScalarInfo } from "../graph/index-types.ts";
import type { PlanFrame, PlanOutput, PlanSlot } from "../plan/plan.ts";
import { type CellFailure, CellOrigin, CellState } from "../run/cells.ts";
import { listFailures, rowsAsList } from "../run/child-rows.ts";
import type { Execution } from "../run/executor.ts";
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
  /** FQN of the resolver that computed it, now or when it was stored; empty for inputs, joins and defaults. */
  readonly resolver: string;
  /** Epoch milliseconds; undefined when there is no value. */
  readonly observedAt: number | undefined;
  /** The row's primary key and its value; undefined when it is not known. */
  readonly key: { readonly feature: ScalarInfo; readonly value: FeatureValue } | undefined;
  readonly failure: CellFailure | undefined;
  /** For a list over child rows: why values in it are null. */
  readonly inner?: readonly CellFailure[] | undefined;
  /** Whether it is the whole rows of a has-many relation. */
  readonly isTable: boolean;
}

/** What every answer says of its query, be it for one row or for many. */
export interface AnswerHead {
  readonly queryId: string;
  readonly deployment: LiveDeployment;
  /** Same for queries of the same shape; empty when no row could be run. */
  readonly queryHash: string;
  /** The time answered as of, microseconds since 1970. */
  readonly nowMicros: bigint;
  readonly durationMs: number;
  readonly inferred: readonly string[];
  /** Of the first row; empty unless asked for. */
  readonly explanation: string;
  /** Id of the query's trace; empty when it was not traced. */
  readonly traceId: string;
  /** What the steps gave; empty unless asked for. */
  readonly stages: readonly Stage[];
}

/** What a query came to. */
export interface Answer extends AnswerHead {
  /** The plan's outputs, one for each field; the same object for queries of the same shape. */
  readonly outputs: readonly PlanOutput[];
  readonly fields: readonly AnswerField[];
  /** The failures of the fields and what they come from. */
  readonly failures: readonly CellFailure[];
}

/** The outputs of a row of a run. Fields of the same row of a relation share their key. */
export function answerFields(execution: Execution, row: number): AnswerField[] {
  const { plan, cells, rows } = execution;
  const keys = new Map<number, AnswerField["key"]>();
  const fields: AnswerField[] = new Array(plan.outputs.length);
  for (let i = 0; i < fields.length; i++) {
    const output = plan.outputs[i] as (typeof plan.outputs)[number];
    const slot = plan.slots[output.slot];
    fields[i] = slot ? answerField(slot, slot.id * rows + row, output) : unprovided(output.path, output.feature, output.reason ?? "");
  }
  return fields;

  function answerField(slot: PlanSlot, cell: number, output: PlanOutput): AnswerField {
    if (slot.feature.rowsOf) return rowsField(execution, cell, output);
    const origin = cells.origin[cell];
    const failure = cells.state[cell] === CellState.FAILED ? cells.failures[cell] : undefined;
    return {
      path: slot.path,
      feature: slot.feature,
      value: cells.state[cell] === CellState.OK ? (cells.values[cell] as FeatureValue) : null,
      hit: origin === CellOrigin.STORED,
      resolver:
        origin === CellOrigin.STORED
          ? (cells.storedBy[cell] as string)
          : origin === CellOrigin.COMPUTED
            ? (plan.ops[slot.op]?.resolver?.fqn ?? "")
            : "",
      observedAt: failure ? undefined : (cells.observed[cell] as number),
      key: cells.state[cell] === CellState.ABSENT ? undefined : keyOf(plan.frames[slot.frame] as PlanFrame),
      failure,
      isTable: false,
    };
  }

  function keyOf({ id, namespace, primarySlot }: PlanFrame): AnswerField["key"] {
    if (keys.has(id)) return keys.get(id);
    const { primaryKey } = namespace;
    const cell = primarySlot * rows + row;
    const value = primarySlot >= 0 && cells.state[cell] === CellState.OK ? (cells.values[cell] as FeatureValue) : null;
    const key = primaryKey && value !== null ? { feature: primaryKey, value } : undefined;
    keys.set(id, key);
    return key;
  }
}

function rowsField(execution: Execution, cell: number, { path, feature, pick }: PlanOutput): AnswerField {
  const { cells } = execution;
  const failure = cells.state[cell] === CellState.FAILED ? cells.failures[cell] : undefined;
  const rows = cells.rowsAt.get(cell);
  const hit = cells.origin[cell] === CellOrigin.STORED;
  return {
    path,
    feature,
    value: cells.state[cell] === CellState.OK ? rowsAsList(rows, pick) : null,
    hit,
    resolver: hit ? (cells.storedBy[cell] as string) : "",
    observedAt: failure ? undefined : hit ? (cells.observed[cell] as number) : execution.timeOf(cell % execution.rows).ms,
    key: undefined,
    failure,
    inner: listFailures(rows, pick),
    isTable: pick === undefined,
  };
}

/** The values of an output for every row of a run, with the reasons of those that failed. */
export function answerCells(
  { plan, cells, rows }: Execution,
  position: number,
): { readonly values: FeatureValue[]; readonly failures: ReadonlyMap<number, CellFailure> } {
  const { slot: id, pick, feature } = plan.outputs[position] as PlanOutput;
  const values = new Array<FeatureValue>(rows).fill(null);
  const failures = new Map<number, CellFailure>();
  for (let row = 0; id >= 0 && row < rows; row++) {
    const cell = id * rows + row;
    if (cells.state[cell] === CellState.FAILED) failures.set(row, cells.failures[cell] as CellFailure);
    else if (cells.state[cell] !== CellState.OK) continue;
    else values[row] = plan.slots[id]?.feature.rowsOf ? rowsAsList(cells.rowsAt.get(cell), pick) : (cells.values[cell] as FeatureValue);
    if (feature.rowsOf)
      for (const failure of listFailures(cells.rowsAt.get(cell), pick)) if (!failures.has(row)) failures.set(row, failure);
  }
  return { values, failures };
}

function unprovided(path: string, feature: ScalarInfo, message: string): AnswerField {
  const failure: CellFailure = { code: ErrorCode.RESOLVER_NOT_FOUND, message, path, resolver: "" };
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

/** Where each field came from, for the log: a line each, `+` when the online store served it, then the FQN of the resolver. */
export function answerOrigins({ fields }: Answer): string {
  let lines = "";
  for (const { hit, resolver } of fields) lines += hit ? `+${resolver}\n` : `${resolver}\n`;
  return lines;
}

/** Outputs whose types are known: without a plan it is not known what the rows of a relation have. */
export function typedOutputs<O extends Pick<AnswerField, "feature">>(outputs: readonly O[]): O[] {
  return outputs.filter(({ feature }) => !feature.rowsOf || feature.dtype.kind.case === "list");
}

const told = new WeakMap<DataType, DataType>();

/** A type as answers tell it: enumerations have the type of their values. */
export function toldType(type: DataType): DataType {
  let known = told.get(type);
  if (!known) {
    known = withoutEnums(type);
    told.set(type, known);
  }
  return known;
}

function withoutEnums(type: DataType): DataType {
  const { kind } = type;
  switch (kind.case) {
    case "enum":
      return create(DataTypeSchema, { kind: { case: "primitive", value: kind.value.base } });
    case "list":
      return create(DataTypeSchema, {
        kind: { case: "list", value: { ...kind.value, element: withoutEnums(kind.value.element as DataType) } },
      });
    case "struct": {
      const fields = kind.value.fields.map((field) => ({ ...field, dtype: withoutEnums(field.dtype as DataType) }));
      return create(DataTypeSchema, { kind: { case: "struct", value: { ...kind.value, fields } } });
    }
    default:
      return type;
  }
}

/**
 * What an answer says of its query, as a message.
 * @param outputs those whose types it tells
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
    types: Object.fromEntries(typedOutputs(outputs).map(({ path, feature }) => [path, toldType(feature.dtype)])),
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
          version: 1,
        });
      return result;
    }),
    errors: [...details.values()],
    meta: answerMeta(answer, answer.fields, url),
    explainOutput: answer.explanation,
    inferredOutputs: [...answer.inferred],
  });
}
