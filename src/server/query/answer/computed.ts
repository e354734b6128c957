/**
 * What a query's resolvers did and the values that were computed, for those who asked to be told.
 */

import { toPlainJson } from "../../../domain/value.ts";
import type { Row } from "../plan/ids.ts";
import type { PlanFrame, PlanOp } from "../plan/plan.ts";
import { CellState } from "../run/cells.ts";
import type { Run } from "../run/run.ts";

/** What a resolver did for a query. */
export interface ResolverFigures {
  /** FQN. */
  readonly resolver: string;
  calls: number;
  rows: number;
  /** Rows for which it gave no value and an error. */
  failed: number;
  /** Milliseconds of its calls together; they may have run at once. */
  ms: number;
}

/** A value that was computed; as JSON. */
export interface ComputedCell {
  readonly fqn: string;
  /** Primary key of its row; null when it is not known. */
  readonly key: unknown;
  readonly value: unknown;
  /** FQN of the resolver; empty = an expression. */
  readonly resolver: string;
}

/** Collects them while the query runs. */
export class ComputedRecorder {
  readonly cells: ComputedCell[] = [];
  /** Values for which there was no room. */
  omitted = 0;
  readonly #wants: (fqn: string) => boolean;
  readonly #maxValues: number;
  readonly #figures = new Map<string, ResolverFigures>();
  readonly #began = new Map<readonly Row[], number>();

  /**
   * @param options.wants says whether the values of a feature are kept
   * @param options.maxValues most values that are kept
   */
  constructor({ wants, maxValues }: { readonly wants: (fqn: string) => boolean; readonly maxValues: number }) {
    this.#wants = wants;
    this.#maxValues = maxValues;
  }

  /** What each resolver did, in the order of their first ends. */
  resolvers(): ResolverFigures[] {
    return [...this.#figures.values()];
  }

  /** An op starts for the very list of rows that it ends with. */
  began(rows: readonly Row[]): void {
    this.#began.set(rows, performance.now());
  }

  /** The results of an op were taken. */
  ended(run: Run, op: PlanOp, rows: readonly Row[]): void {
    if (op.resolver) this.#count(run, op, op.resolver.fqn, rows);
    for (const id of op.outputs) {
      const { feature, frame } = run.plan.slot(id);
      if (feature.rowsOf || !this.#wants(feature.fqn)) continue;
      for (const row of rows) {
        const cell = run.cells.at(id, row);
        if (!run.cells.isOk(cell)) continue;
        if (this.cells.length >= this.#maxValues) {
          this.omitted++;
          continue;
        }
        const value = toPlainJson(run.cells.value(cell), feature.dtype);
        this.cells.push({ fqn: feature.fqn, key: keyOf(run, run.plan.frame(frame), row), value, resolver: op.resolver?.fqn ?? "" });
      }
    }
  }

  #count({ cells }: Run, op: PlanOp, resolver: string, rows: readonly Row[]): void {
    const figures = this.#figures.get(resolver) ?? { resolver, calls: 0, rows: 0, failed: 0, ms: 0 };
    this.#figures.set(resolver, figures);
    figures.calls++;
    figures.rows += rows.length;
    figures.failed += rows.filter((row) => op.outputs.some((id) => cells.state(cells.at(id, row)) === CellState.FAILED)).length;
    figures.ms += performance.now() - (this.#began.get(rows) ?? performance.now());
    this.#began.delete(rows);
  }
}

function keyOf(run: Run, { namespace: { primaryKey }, primarySlot }: PlanFrame, row: Row): unknown {
  if (!primaryKey || primarySlot === undefined) return null;
  const cell = run.cells.at(primarySlot, row);
  return run.cells.isOk(cell) ? toPlainJson(run.cells.value(cell), primaryKey.dtype) : null;
}
