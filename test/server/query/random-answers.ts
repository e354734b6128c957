/** Answers of any kind, for what writes them. */

import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { type DataType, DataTypeSchema } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import type { Answer, AnswerField } from "../../../src/server/query/answer/answer.ts";
import { AnswerType } from "../../../src/server/query/graph/answer-type.ts";
import type { LiveDeployment } from "../../../src/server/query/live-deployment.ts";
import { primitive } from "./graphs.ts";

const point = create(DataTypeSchema, {
  kind: { case: "struct", value: { name: "Point", fields: [{ name: "x", dtype: primitive("int") }] } },
});
const list = create(DataTypeSchema, { kind: { case: "list", value: { element: primitive("str") } } });

const typed = <T extends FeatureValue>(type: DataType, value: fc.Arbitrary<T>) =>
  value.map((one): { type: DataType; value: FeatureValue } => ({ type, value: one }));

const anyValue = fc.oneof(
  typed(primitive("str"), fc.string({ unit: "binary" })),
  typed(primitive("float"), fc.double()),
  typed(primitive("float"), fc.constantFrom(0, -0, Number.NaN, Number.POSITIVE_INFINITY)),
  typed(primitive("int"), fc.oneof(fc.maxSafeInteger(), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n))),
  typed(primitive("bool"), fc.boolean()),
  typed(primitive("datetime"), fc.constant("2024-05-01T12:00:00.000001Z")),
  typed(point, fc.constant({ x: 1 })),
  typed(list, fc.array(fc.string())),
  typed(primitive("str"), fc.constant(null)),
);

const anyField: fc.Arbitrary<AnswerField> = fc
  .record({
    path: fc.string(),
    of: anyValue,
    key: fc.option(anyValue, { nil: undefined }),
    observedAt: fc.option(fc.constantFrom(0, 1_714_564_800_000, 1_714_564_800_000.001), { nil: undefined }),
    hit: fc.boolean(),
    failed: fc.boolean(),
  })
  .map(({ path, of, key, observedAt, hit, failed }) => {
    const featureOf = (type: DataType) =>
      ({ dtype: type, answerType: new AnswerType(type), typeName: "t", version: 3 }) as AnswerField["feature"];
    return {
      path,
      feature: featureOf(of.type),
      value: failed ? null : of.value,
      hit,
      resolver: hit ? "m.f" : "",
      observedAt: failed ? undefined : observedAt,
      key: key && { feature: featureOf(key.type), value: key.value },
      failure: failed ? { code: ErrorCode.RESOLVER_FAILED, message: "no", path, resolver: "m.f" } : undefined,
      isTable: false,
    };
  });

/** An answer with the facts about fields that it was asked for. */
export interface RandomAnswer {
  readonly answer: Answer;
  readonly includeMeta: boolean;
}

/** Answers, half of them without failures. */
export const anyAnswer: fc.Arbitrary<RandomAnswer> = fc
  .record({
    fields: fc.oneof(fc.array(anyField), fc.array(anyField.filter(({ failure }) => !failure))),
    includeMeta: fc.boolean(),
    inferred: fc.array(fc.string()),
  })
  .map(({ fields, includeMeta, inferred }) => ({
    includeMeta,
    answer: {
      queryId: "0192",
      deployment: { id: "dpl_1", environmentId: "env_1", environmentName: "default" } as LiveDeployment,
      queryHash: "abc",
      nowMicros: 1_714_564_800_000_001n,
      durationMs: 0.25,
      shared: {},
      fields,
      failures: fields.flatMap(({ failure }) => failure ?? []),
      inferred,
      explanation: includeMeta ? "plan" : "",
      traceId: includeMeta ? "" : "4bf92f3577b34da6a3ce929d0e0e4736",
      stages: [],
    },
  }));
