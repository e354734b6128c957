/** Computing a translated Python resolver for the rows of an op. */

import type { FeatureValue } from "../../../domain/value.ts";
import type { CompiledTranslation } from "../../expressions/python/compile-translation.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import type { PlanFrame, PlanOp, PlanSlot } from "../plan/plan.ts";
import type { Execution } from "../run/executor.ts";
import { accept } from "../run/outcome.ts";
import type { OpResults, Outcome } from "../run/run-context.ts";
import { argumentOf } from "./arguments.ts";
import { callPython } from "./python-op.ts";

/** Computes all rows here but those that only Python can say: for these the resolver is called as if it had no translation. */
export function computeTranslated(execution: Execution, op: PlanOp, rows: readonly number[]): OpResults | Promise<OpResults> {
  const { context } = execution;
  const { translation } = op.resolver as ResolverInfo;
  const started = performance.now();
  const results = rows.map((row) => (translation as CompiledTranslation).run(op.inputs.map((input) => argumentOf(execution, input, row))));
  const left = rows.filter((_, at) => results[at] === undefined);
  const computed = rows.length - left.length;
  context.trace?.ran(op, computed, computed, performance.now() - started);
  if (left.length === 0) return outcomesOf(execution, op, results, undefined);
  context.trace?.fellBack(op, left.length);
  return callPython(execution, op, left).then((python) => outcomesOf(execution, op, results, python));
}

/** The results of all rows: `python` has those of the rows without a result here, in their order. */
function outcomesOf(
  { plan }: Execution,
  op: PlanOp,
  results: readonly (readonly FeatureValue[] | undefined)[],
  python: OpResults | undefined,
): OpResults {
  const resolver = op.resolver as ResolverInfo;
  const frame = plan.frames[op.frame] as PlanFrame;
  const outcomes = op.outputs.map((id, output) => {
    const slot = plan.slots[id] as PlanSlot;
    const position = resolver.translation?.outputs.indexOf(slot.feature.fqn) ?? -1;
    let next = 0;
    return results.map((values): Outcome => {
      if (values) return accept(slot, values[position], slot.feature.strict, frame, resolver);
      return python?.outcomes[output]?.[next++] as Outcome;
    });
  });
  return { outcomes, observedAt: [] };
}
