/** The members that every kind of operation has. */

import type { Row } from "../plan/ids.ts";
import type { PlanOp } from "../plan/plan.ts";
import type { Awaitable } from "../run/awaitable.ts";
import type { OpVerdict } from "../run/op-inputs.ts";
import type { RowFound, Run } from "../run/run.ts";
import type { Settlement } from "../run/settlement.ts";

/**
 * A kind of operation: the code that runs its steps. `answer/op-descriptions.ts` describes them for
 * people.
 */
export interface Op<Results = unknown> {
  /** Whether a step can run for a row whose inputs are settled, and else why not. */
  verdict(run: Run, op: PlanOp, row: Row): OpVerdict;
  /**
   * The results of a step for rows that it can run for; synchronously when nothing has to be
   * awaited. Failures are in the results: it throws, or rejects, only because of a defect in the
   * engine.
   */
  run(run: Run, op: PlanOp, rows: readonly Row[]): Awaitable<Results>;
  /**
   * Settles the cells of a step with the results of `run`. Cells that were settled meanwhile stay
   * as they are.
   * @returns for each row whether it exists, of a step that looks rows up
   */
  settle(settlement: Settlement, op: PlanOp, rows: readonly Row[], results: Results): readonly RowFound[] | undefined;
}
