/** Rows of a has-many relation as a resolver's argument: filtered, cut and projected. */

import type { FeatureValue } from "../../../domain/value.ts";
import type { CompiledExpression } from "../../expressions/compiled.ts";
import type { RowGroups } from "../../python/pool.ts";
import type { RowsParameter } from "../graph/index-types.ts";
import type { Row } from "../plan/ids.ts";
import type { PlanInput } from "../plan/plan.ts";
import { type ChildColumn, childRows, gather, type RowsValue } from "../run/child-rows.ts";
import { observedTime } from "../run/outcome.ts";
import type { Run } from "../run/run.ts";

/**
 * The argument for some rows. A row whose child rows failed has none, where the parameter allows
 * that.
 */
export function rowGroups(run: Run, input: PlanInput, parameter: RowsParameter, rows: readonly Row[]): RowGroups {
  const values = rows.map((row) => (input.slot === undefined ? undefined : run.cells.childRows(run.cells.at(input.slot, row))));
  const total = values.reduce((sum, value) => sum + (value ? value.to - value.from : 0), 0);
  const chosen = choose(run, parameter, rows, values, total);
  const table = values.find((value) => value !== undefined)?.table;
  const names =
    parameter.columns.length > 0
      ? parameter.columns
      : (table?.whole ?? []).map((column) => ({ name: column.feature.fqn, path: column.feature.name }));
  const columns: Record<string, FeatureValue[]> = {};
  for (const { name, path } of names) {
    const column = gather(values, total, (one) => one.columns.get(path)?.values);
    columns[name] = chosen.rows.map((row) => column[row] ?? null);
  }
  return { offsets: chosen.offsets, columns };
}

/** The rows that the parameter's conditions and its limit leave, by position among all rows. */
function choose(
  run: Run,
  { filters, limit, many }: RowsParameter,
  rows: readonly Row[],
  values: readonly (RowsValue | undefined)[],
  total: number,
): { readonly rows: readonly number[]; readonly offsets: readonly number[] } {
  const nowMicros = run.times
    ? values.flatMap((value, at) => new Array<bigint>(value ? value.to - value.from : 0).fill(run.timeOf(rows[at] as Row).micros))
    : run.context.now.micros;
  const compiled = filters.map((filter) => run.context.compile(filter, many.foreign) as CompiledExpression);
  const tests = compiled.map((filter) => filter.evaluate({ ...childRows(values, filter.references), rows: total }, { nowMicros }).values);
  const time = many.foreign.featureTime;
  const times =
    limit > 0 && time ? gather<ChildColumn["values"][number]>(values, total, (table) => table.columns.get(time.name)?.values) : undefined;
  const chosen: number[] = [];
  const offsets = [0];
  let at = 0;
  for (const value of values) {
    let own: number[] = [];
    for (const end = at + (value ? value.to - value.from : 0); at < end; at++) if (tests.every((test) => test[at] === true)) own.push(at);
    if (limit > 0) {
      if (times) own.sort((a, b) => (observedTime(times[b]) ?? 0) - (observedTime(times[a]) ?? 0));
      own = own.slice(0, limit);
    }
    chosen.push(...own);
    offsets.push(chosen.length);
  }
  return { rows: chosen, offsets };
}
