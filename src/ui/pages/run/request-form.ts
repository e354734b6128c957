/** The request of a run as a form that can be edited and run. */

import type { QueryInputJson, QueryRequestJson } from "../../../../gen/svc/v1/query_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { readableName } from "../../../domain/name.ts";
import { plainOf } from "../../parts/proto-value.ts";
import { durationMs } from "../define/feature-text.ts";
import { EMPTY_FORM, type Pair, type QueryForm } from "./query-form.ts";

/** The form of a request. */
export function formOf(request: QueryRequestJson): QueryForm {
  const { plannerOptions = {}, queryContext = {}, staleness = {} } = request;
  return {
    ...EMPTY_FORM,
    inputs: (request.inputs ?? []).map((input): Pair => [readableName(input.feature ?? ""), inputText(input)]),
    outputs: (request.outputs ?? []).map(readableName),
    staleness: Object.entries(staleness).map(([name, age]): Pair => [readableName(name), formatDuration(durationMs(age))]),
    plannerOptions: Object.entries(plannerOptions),
    context: Object.entries(queryContext).map(([name, value]): Pair => [name, JSON.stringify(plainOf(value))]),
    tags: request.tags ?? [],
    now: request.now ?? "",
    queryName: request.queryName ?? "",
    queryNameVersion: request.queryNameVersion ?? "",
    correlationId: request.correlationId ?? "",
    explain: request.explain ?? false,
    trace: request.trace ?? false,
    stages: request.storePlanStages ?? false,
  };
}

/** The text of an input as it would be typed: JSON, and integers with all their digits. */
export function inputText({ raw, text, typed }: QueryInputJson): string {
  if (text !== undefined) return text;
  return typed?.int64Value ?? JSON.stringify(typed ? plainOf(typed) : (raw ?? null));
}
