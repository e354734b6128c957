/** Compilation of a graph's expressions. */

import { create } from "@bufbuild/protobuf";
import type { Expression, Graph } from "../../../../gen/svc/v1/graph_pb.ts";
import { DataTypeSchema, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { GraphIndex } from "../../../domain/graph-index.ts";
import { compileExpression, ExpressionError } from "../../expressions/compile.ts";
import type { CompiledExpression } from "../../expressions/compiled.ts";
import type { NamespaceInfo, ScalarInfo } from "./index-types.ts";

const BOOL = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.BOOL } });

/**
 * Compiles an expression of a feature, or a condition on the rows of a class. Returns the reason as
 * text when it cannot be evaluated.
 */
export type ExpressionCompiler = (expression: Expression, of: ScalarInfo | NamespaceInfo | undefined) => CompiledExpression | string;

/** The compiler of a graph's expressions. */
export function compilerOf(graph: Graph): ExpressionCompiler {
  const index = new GraphIndex(graph);
  return (expression, of) => {
    const isFeature = of !== undefined && "dtype" in of;
    const namespace = of === undefined ? "" : isFeature ? of.namespace : of.name;
    const set = index.sets.get(namespace);
    if (!set) return `its class '${namespace}' is not known`;
    const windowMicros = isFeature && of.windowMs !== undefined ? BigInt(of.windowMs) * 1000n : undefined;
    try {
      return compileExpression(
        expression,
        { index, set },
        { type: isFeature ? of.dtype : BOOL, ...(windowMicros === undefined ? {} : { windowMicros }) },
      );
    } catch (error) {
      if (error instanceof ExpressionError) return error.message;
      throw error;
    }
  };
}
