/** Evaluating a feature's expression for the rows of an op. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { readableName } from "../../../domain/name.ts";
import { type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import type { ChildRows, CompiledExpression } from "../../expressions/compiled.ts";
import type { Row } from "../plan/ids.ts";
import type { PlanOp, PlanSlot } from "../plan/plan.ts";
import { childRows } from "../run/child-rows.ts";
import { argumentOf, verdictOf } from "../run/op-inputs.ts";
import { failed } from "../run/outcome.ts";
import type { OpResults, Outcome, Run } from "../run/run.ts";
import { settleOutcomes } from "../run/settle-results.ts";
import type { Op } from "./op.ts";

/** Evaluates the expression of a feature for all rows at once. */
export const expressionOp: Op<OpResults> = { verdict: verdictOf, run: evaluate, settle: settleOutcomes };

function evaluate(run: Run, op: PlanOp, rows: readonly Row[]): OpResults {
  const { context, plan, cells } = run;
  const expression = op.expression as CompiledExpression;
  const slot = plan.outputOf(op);
  const started = performance.now();
  const columns = new Map<string, readonly FeatureValue[]>();
  const relations = new Map<string, ChildRows>();
  for (const input of op.inputs) {
    const { name } = input.parameter;
    const { slot: id } = input;
    const reference = input.needs && expression.references.relations.find((relation) => relation.path === name);
    if (!reference || id === undefined)
      columns.set(
        name,
        rows.map((row) => argumentOf(run, input, row)),
      );
    else
      relations.set(
        name,
        childRows(
          rows.map((row) => cells.childRows(cells.at(id, row))),
          reference.references,
        ),
      );
  }
  const { values, errors } = expression.evaluate({ rows: rows.length, columns, relations }, { nowMicros: run.microsOf(rows) });
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

/** The outcome of a value that an expression gave. */
export function checked(slot: PlanSlot, value: FeatureValue): Outcome {
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

/** The outcome of an expression that has no value. */
export function fault({ path }: PlanSlot, message: string, code: ErrorCode): Outcome {
  return failed({ code, message: `${readableName(path)}: ${message}`, path, resolver: "" });
}
