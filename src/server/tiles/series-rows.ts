/** Rows of a class as a series takes them: which count, what each adds, and when it was. */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { TileSeries } from "../../domain/expressions/tile-series.ts";
import { PRIMITIVES } from "../../domain/expressions/types.ts";
import { GraphIndex } from "../../domain/graph-index.ts";
import { parseInstant } from "../../domain/timestamp.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { compileExpression } from "../expressions/compile.ts";
import type { CompiledExpression, Evaluated } from "../expressions/compiled.ts";
import type { TileState } from "./tile-state.ts";

/** Rows of which a series is made. */
export interface ReadRows {
  /** The time of a row, microseconds since 1970; undefined = it has none, and never counts. */
  micros(row: number): bigint | undefined;
  /** Whether a row's time is at one instant or later, and before another; canonical texts. */
  isBetween(row: number, from: string, until: string): boolean;
  /** Adds a row to a state, if it counts. */
  addTo(state: TileState, row: number): void;
}

/** Reads rows for a series. Holds nothing of them, so that queries share it. */
export interface SeriesReader {
  /**
   * @param columns values by the feature's name, of all features that the series reads
   * @param failures by feature's name and row: why there is no value
   */
  read(
    columns: ReadonlyMap<string, readonly FeatureValue[]>,
    rows: number,
    failures?: ReadonlyMap<string, ReadonlyMap<number, string>>,
  ): ReadRows;
}

/** Compiles the conditions and the column of a series. */
export function createSeriesReader(graph: Graph, series: TileSeries): SeriesReader {
  const index = new GraphIndex(graph);
  const set = index.sets.get(series.namespace);
  if (!set) throw new Error(`the graph has no class ${series.namespace}`);
  const filters = series.filters.map((filter) => compileExpression(filter, { index, set }, { type: PRIMITIVES.bool }));
  const column = series.column && compileExpression(series.column, { index, set });
  const choice = series.choice && compileExpression(series.choice, { index, set });
  const groupBy = series.groupBy.map((group) => compileExpression(group, { index, set }));
  const { widen, widenKey } = series.accumulator;
  const order = set.featureTime === "" ? undefined : set.featureTime.slice(series.namespace.length + 1);
  return {
    read(columns, rows, failures) {
      const evaluate = (expression: CompiledExpression) => expression.evaluate({ rows, columns }, { nowMicros: 0n });
      const conditions = filters.map(evaluate);
      const values = column && evaluate(column);
      const choices = choice && evaluate(choice);
      const groups = groupBy.map(evaluate);
      const times = columns.get(series.time) ?? [];
      const orders = order === undefined ? undefined : columns.get(order);
      const failureOf = (row: number): string | undefined => {
        if (!failures || failures.size === 0) return undefined;
        for (const own of failures.values()) if (own.has(row)) return own.get(row);
        return undefined;
      };
      return {
        micros(row) {
          const time = times[row];
          return typeof time === "string" ? parseInstant(time)?.micros : undefined;
        },
        isBetween(row, from, until) {
          const time = times[row];
          return typeof time === "string" && time >= from && time < until;
        },
        addTo(state, row) {
          const broken = failureOf(row);
          if (broken !== undefined) {
            state.fail(broken);
            return;
          }
          for (const { values: passed, errors } of conditions) {
            const error = errors.get(row);
            if (error !== undefined) {
              state.fail(error);
              return;
            }
            if (passed[row] !== true) return;
          }
          const error = values?.errors.get(row) ?? choices?.errors.get(row) ?? firstError(groups, row);
          if (error !== undefined) {
            state.fail(error);
            return;
          }
          const value = values ? (values.values[row] as FeatureValue) : true;
          const own = widen && value !== null ? widen(value) : value;
          const group = groups.map((column) => column.values[row] ?? null);
          if (!choices) state.add(own, orders?.[row] ?? null, ...group);
          else {
            const by = choices.values[row] as FeatureValue;
            // A row without a key is none of those that are chosen among, but its group is there.
            if (by !== null) state.add(own, orders?.[row] ?? null, widenKey ? widenKey(by) : by, ...group);
            else if (group.length > 0) state.add(null, null, null, ...group);
          }
        },
      };
    },
  };
}

function firstError(columns: readonly Evaluated[], row: number): string | undefined {
  for (const { errors } of columns) if (errors.has(row)) return errors.get(row);
  return undefined;
}
