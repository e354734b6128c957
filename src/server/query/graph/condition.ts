/** The conditions of resolvers (`when=`). */

import { create } from "@bufbuild/protobuf";
import type { Resolver } from "../../../../gen/svc/v1/graph_pb.ts";
import { DataTypeSchema, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { AnswerType } from "./answer-type.ts";
import type { ScalarInfo } from "./index-types.ts";
import { rowsInfo } from "./relation-index.ts";

const BOOL = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.BOOL } });
const ANSWER_TYPE = new AnswerType(BOOL);

/**
 * The pseudo-feature of a resolver's condition, which its expression computes for a row.
 * Undefined = it has none.
 */
export function conditionInfo({ fqn, when }: Resolver, namespace: string): ScalarInfo | undefined {
  if (!when) return undefined;
  const pseudo = rowsInfo({ namespace }, `when(${fqn})`);
  return { ...pseudo, dtype: BOOL, answerType: ANSWER_TYPE, typeName: "bool", nullable: true, expression: when, conditionOf: fqn };
}
