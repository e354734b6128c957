/** Computing a translated Python resolver for the rows of an op. */

import type { FeatureValue } from "../../../domain/value.ts";
import type { CompiledTranslation } from "../../expressions/python/compile-translation.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import type { Row } from "../plan/ids.ts";
import type { PlanOp } from "../plan/plan.ts";
import { type Awaitable, andThen } from "../run/awaitable.ts";
import { argumentOf, verdictOf } from "../run/op-inputs.ts";
import { accept } from "../run/outcome.ts";
import type { OpResults, Outcome, Run } from "../run/run.ts";
import { settleOutcomes } from "../run/settle-results.ts";
import type { Op } from "./op.ts";
import { pythonOp } from "./python-op.ts";

/**
 * Computes rows here but those that only Python can say: for these the resolver is called as if it
 * had no translation.
 */
export const translatedOp: Op<OpResults> = { verdict: verdictOf, run: computeTranslated, settle: settleOutcomes };

function computeTranslated(run: Run, op: PlanOp, rows: readonly Row[]): Awaitable<OpResults> {
  const { context } = run;
  const { translation } = op.resolver as ResolverInfo;
  const started = performance.now();
  const results = rows.map((row) => (translation as CompiledTranslation).run(op.inputs.map((input) => argumentOf(run, input, row))));
  const left = rows.filter((_, at) => results[at] === undefined);
  const computed = rows.length - left.length;
  context.trace?.ran(op, computed, computed, performance.now() - started);
  if (left.length === 0) return outcomesOf(run, op, results, undefined);
  context.trace?.fellBack(op, left.length);
  return andThen(pythonOp.run(run, op, left), (python) => outcomesOf(run, op, results, python));
}

/**
 * The results of all rows: `python` has those of the rows without a result here, in their order.
 */
function outcomesOf(
  { plan }: Run,
  op: PlanOp,
  results: readonly (readonly FeatureValue[] | undefined)[],
  python: OpResults | undefined,
): OpResults {
  const resolver = op.resolver as ResolverInfo;
  const frame = plan.frame(op.frame);
  const outcomes = op.outputs.map((id, output) => {
    const slot = plan.slot(id);
    const position = resolver.translation?.outputs.indexOf(slot.feature.fqn) ?? -1;
    let next = 0;
    return results.map((values): Outcome => {
      if (values) return accept(slot, values[position], slot.feature.strict, frame, resolver);
      return python?.outcomes[output]?.[next++] as Outcome;
    });
  });
  return { outcomes, observedAt: [] };
}
