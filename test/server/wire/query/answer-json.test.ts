import { expect, test } from "bun:test";
import fc from "fast-check";
import { ErrorCategory } from "../../../../gen/svc/v1/error_pb.ts";
import { outputToJson, typeToJson } from "../../../../src/domain/output-json.ts";
import { formatMicros } from "../../../../src/domain/timestamp.ts";
import type { Answer } from "../../../../src/server/query/answer/answer.ts";
import { type AnswerOptions, answerToText, errorToJson } from "../../../../src/server/wire/query/answer-json.ts";
import { seeded } from "../../../harness/seed.ts";
import { anyAnswer } from "../../query/random-answers.ts";

/** The answer as the object whose JSON `answerToText` must give. */
function answerToJson(answer: Answer, { request, form }: AnswerOptions): object {
  const now = formatMicros(answer.nowMicros);
  const errors = new Map(
    answer.failures.map((failure) => [failure, errorToJson({ ...failure, category: ErrorCategory.FIELD, feature: failure.path })]),
  );
  return {
    data: answer.fields.map(({ path, value, feature, isTable, key, observedAt, failure, resolver, hit }) => ({
      field: path,
      value: outputToJson([value], { type: feature.dtype, isTable }, form)[0],
      pkey: key && outputToJson([key.value], { type: key.feature.dtype, isTable: false }, form)[0],
      ts: observedAt === undefined ? now : formatMicros(BigInt(Math.round(observedAt * 1000))),
      error: failure && errors.get(failure),
      meta: request.includeMeta
        ? { chosen_resolver_fqn: resolver, cache_hit: hit, primitive_type: feature.typeName, version: feature.version }
        : undefined,
    })),
    errors: errors.size > 0 ? [...errors.values()] : undefined,
    meta: {
      execution_duration_s: answer.durationMs / 1000,
      deployment_id: answer.deployment.id,
      environment_id: answer.deployment.environmentId,
      environment_name: answer.deployment.environmentName,
      query_id: answer.queryId,
      query_timestamp: now,
      query_hash: answer.queryHash,
      types: Object.fromEntries(answer.fields.map(({ path, feature }) => [path, typeToJson(feature.dtype)])),
      inferred_outputs: answer.inferred.length > 0 ? answer.inferred : undefined,
      explain_output: request.explain ? answer.explanation : undefined,
      trace_id: answer.traceId || undefined,
      plan_stages: request.storePlanStages ? answer.stages.length : undefined,
    },
  };
}

const anyForm = fc.record({ structsAsLists: fc.boolean(), largeNumbers: fc.boolean() });

test("the text is that of the object, whatever the answer holds", () => {
  fc.assert(
    fc.property(anyAnswer, anyForm, fc.boolean(), fc.boolean(), ({ answer, includeMeta }, form, explain, storePlanStages) => {
      const options = { form, request: { includeMeta, explain, storePlanStages } };
      expect(answerToText(answer, options)).toBe(JSON.stringify(answerToJson(answer, options)));
    }),
    seeded(300),
  );
});

test("what the answers to queries of one shape have in common is that of the first of them", () => {
  fc.assert(
    fc.property(anyAnswer, fc.integer(), ({ answer, includeMeta }, durationMs) => {
      const options = { form: {}, request: { includeMeta, explain: false, storePlanStages: false } };
      const another = { ...answer, queryId: "0193", durationMs, fields: answer.fields.map((field) => ({ ...field, value: null })) };
      answerToText(answer, options);
      expect(answerToText(another, options)).toBe(JSON.stringify(answerToJson(another, options)));
    }),
    seeded(100),
  );
});
