/** Evaluating a feature's expression for the rows of an op. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { readableName } from "../../../domain/name.ts";
import { type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import type { ChildRows, CompiledExpression } from "../../expressions/compiled.ts";
import type { PlanOp, PlanSlot } from "../plan/plan.ts";
import { childRows } from "../run/child-rows.ts";
import type { Execution } from "../run/executor.ts";
import { failed } from "../run/outcome.ts";
import type { OpResults, Outcome } from "../run/run-context.ts";
import { argumentOf } from "./arguments.ts";

/** Evaluates the expression for all rows at once. */
export function evaluate(execution: Execution, op: PlanOp, rows: readonly number[]): OpResults {
  const { context, plan, cells } = execution;
  const expression = op.expression as CompiledExpression;
  const slot = plan.slots[op.outputs[0] as number] as PlanSlot;
  const started = performance.now();
  const columns = new Map<string, readonly FeatureValue[]>();
  const relations = new Map<string, ChildRows>();
  for (const input of op.inputs) {
    const { name } = input.parameter;
    const reference = input.needs && expression.references.relations.find((relation) => relation.path === name);
    if (!reference)
      columns.set(
        name,
        rows.map((row) => argumentOf(execution, input, row)),
      );
    else
      relations.set(
        name,
        childRows(
          rows.map((row) => cells.rowsAt.get(input.slot * execution.rows + row)),
          reference.references,
        ),
      );
  }
  const { values, errors } = expression.evaluate({ rows: rows.length, columns, relations }, { nowMicros: execution.microsOf(rows) });
  context.trace?.ran(op, rows.length, rows.length - errors.size, performance.now() - started);
  return {
    outcomes: [
      rows.map((_, at): Outcome => {
        const error = errors.get(at);
        return error === undefined ? checked(slot, values[at] as FeatureValue) : fault(slot, error, ErrorCode.RESOLVER_FAILED);
      }),
    ],
    observedAt: [],
  };
}

function checked(slot: PlanSlot, value: FeatureValue): Outcome {
  const { feature, path } = slot;
  if (value === null || value === undefined) {
    if (feature.nullable) return { kind: "value", value: null };
    const message = `${readableName(path)}: expected ${feature.typeName}, got null from its expression, and the feature is not optional`;
    return { kind: "failed", isNull: true, failure: { code: ErrorCode.VALIDATION_FAILED, message, path, resolver: "" } };
  }
  try {
    return { kind: "value", value: feature.strict(value) };
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    return {
      kind: "failed",
      final: true,
      failure: {
        code: ErrorCode.VALIDATION_FAILED,
        message: `${readableName(path)}: ${error.message} from its expression`,
        path,
        resolver: "",
      },
    };
  }
}

function fault({ path }: PlanSlot, message: string, code: ErrorCode): Outcome {
  return failed({ code, message: `${readableName(path)}: ${message}`, path, resolver: "" });
}
