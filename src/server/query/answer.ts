/** The answer to a query, and its form as a message. */

import { create } from "@bufbuild/protobuf";
import { ErrorCategory, ErrorCode, type ErrorDetail, ErrorDetailSchema } from "../../../gen/svc/v1/error_pb.ts";
import {
  FeatureMetaSchema,
  FeatureResultSchema,
  QueryMetaSchema,
  type QueryResponse,
  QueryResponseSchema,
} from "../../../gen/svc/v1/query_pb.ts";
import { microsToTimestamp, msToDuration, msToTimestamp } from "../../domain/proto-time.ts";
import { toProtoValue } from "../../domain/proto-value.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { type CellFailure, CellOrigin, CellState } from "./cells.ts";
import type { LiveDeployment } from "./engine.ts";
import type { Execution } from "./executor.ts";
import type { ScalarInfo } from "./index-types.ts";
import type { PlanFrame, PlanSlot } from "./plan.ts";

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
}

/** What a query came to. */
export interface Answer {
  readonly queryId: string;
  readonly deployment: LiveDeployment;
  /** Same for queries of the same shape. */
  readonly queryHash: string;
  /** The time answered as of, microseconds since 1970. */
  readonly nowMicros: bigint;
  readonly durationMs: number;
  readonly fields: readonly AnswerField[];
  /** The failures of the fields and what they come from. */
  readonly failures: readonly CellFailure[];
  readonly inferred: readonly string[];
  /** Empty unless asked for. */
  readonly explanation: string;
}

/** The outputs of a row of a run. */
export function answerFields(execution: Execution, row: number): AnswerField[] {
  const { plan, cells, rows } = execution;
  const fields: AnswerField[] = new Array(plan.outputs.length);
  for (let i = 0; i < fields.length; i++) {
    const output = plan.outputs[i] as (typeof plan.outputs)[number];
    const slot = plan.slots[output.slot];
    fields[i] = slot
      ? answerField(execution, slot, slot.id * rows + row, row)
      : unprovided(output.path, output.feature, output.reason ?? "");
  }
  return fields;

  function answerField(run: Execution, slot: PlanSlot, cell: number, at: number): AnswerField {
    const frame = run.plan.frames[slot.frame] as PlanFrame;
    const keyCell = frame.primarySlot * run.rows + at;
    const primary = frame.namespace.primaryKey;
    const keyKnown = primary && frame.primarySlot >= 0 && cells.state[keyCell] === CellState.OK && cells.values[keyCell] !== null;
    const origin = cells.origin[cell];
    const failure = cells.state[cell] === CellState.FAILED ? cells.failures[cell] : undefined;
    return {
      path: slot.path,
      feature: slot.feature,
      value: cells.state[cell] === CellState.OK ? (cells.values[cell] as FeatureValue) : null,
      hit: origin === CellOrigin.STORED,
      resolver:
        origin === CellOrigin.STORED
          ? (cells.storedBy.get(cell) ?? "")
          : origin === CellOrigin.COMPUTED
            ? (run.plan.ops[slot.op]?.resolver?.fqn ?? "")
            : "",
      observedAt: failure ? undefined : (cells.observed[cell] as number),
      key: keyKnown ? { feature: primary, value: cells.values[keyCell] as FeatureValue } : undefined,
      failure,
    };
  }
}

function unprovided(path: string, feature: ScalarInfo, message: string): AnswerField {
  const failure: CellFailure = { code: ErrorCode.RESOLVER_NOT_FOUND, message, path, resolver: "" };
  return { path, feature, value: null, hit: false, resolver: "", observedAt: undefined, key: undefined, failure };
}

/** Every failure of the fields, and of the inputs at the root of them, each once. */
export function answerFailures(fields: readonly AnswerField[]): CellFailure[] {
  const found = new Set<CellFailure>();
  for (const { failure } of fields) if (failure) found.add(failure);
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

/** The answer as a message. */
export function answerToProto(answer: Answer, includeMeta: boolean): QueryResponse {
  const details = new Map(answer.failures.map((failure) => [failure, failureDetail(failure)]));
  const { deployment } = answer;
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
    meta: create(QueryMetaSchema, {
      executionDuration: msToDuration(answer.durationMs),
      deploymentId: deployment.id,
      environmentId: deployment.environmentId,
      environmentName: deployment.environmentName,
      queryId: answer.queryId,
      queryTimestamp: microsToTimestamp(answer.nowMicros),
      queryHash: answer.queryHash,
    }),
    explainOutput: answer.explanation,
    inferredOutputs: [...answer.inferred],
  });
}
