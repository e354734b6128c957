/**
 * Aggregates of kept windows: whole buckets as tiles, and the rows of the window's edges.
 *
 * A window without rows, because no resolver gives any, is made of all tiles that it touches.
 */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { EvaluationError } from "../../../domain/expressions/evaluation-error.ts";
import { bucketOf, groupKey, type KeptWindow, type TileSeries } from "../../../domain/expressions/tile-series.ts";
import { widener } from "../../../domain/expressions/types.ts";
import { formatMicros } from "../../../domain/timestamp.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { allOf, type RowTest, withoutTimes } from "../../expressions/row-test.ts";
import { storeKey } from "../../stores/online/store.ts";
import type { TileRead } from "../../stores/tiles/store.ts";
import { type Coverage, coverageOf, type Filled, windowBegin } from "../../tiles/coverage.ts";
import type { MergedRange } from "../../tiles/merged-tiles.ts";
import type { ReadRows } from "../../tiles/series-rows.ts";
import { TileState } from "../../tiles/tile-state.ts";
import type { KeptInfo } from "../graph/index-types.ts";
import type { Row } from "../plan/ids.ts";
import type { PlanOp, PlanRows } from "../plan/plan.ts";
import { type Awaitable, andThen } from "../run/awaitable.ts";
import type { ChildTable, RowsValue } from "../run/child-rows.ts";
import { argumentOf, verdictOf } from "../run/op-inputs.ts";
import type { OpResults, Outcome, Run } from "../run/run.ts";
import { settleOutcomes } from "../run/settle-results.ts";
import { checked, fault } from "./expression-op.ts";
import type { Op } from "./op.ts";

/** Merges the tiles of a window, and adds the rows of its edges. */
export const tilesOp: Op<OpResults> = { verdict: verdictOf, run: aggregate, settle: settleOutcomes };

function aggregate(run: Run, op: PlanOp, rows: readonly Row[]): Awaitable<OpResults> {
  const kept = run.plan.outputOf(op).feature.kept as KeptInfo;
  const started = performance.now();
  return andThen(filledBy(run, kept.window.series), (filled) => {
    const covered = rows.map((row) => coveredBy(run, op, kept, filled, row));
    const reads = rows.flatMap((row, at) => readOf(run, op, kept, covered[at], row));
    return andThen(read(run, reads, kept.window.series), (found) => {
      const results = outcomesOf(run, op, kept, rows, covered, new Map(reads.map((one, at) => [one.row, found[at]])));
      run.context.trace?.ran(op, rows.length, rows.length, performance.now() - started);
      return results;
    });
  });
}

/** What was filled of a series, the same for all steps of a query. */
function filledBy({ context }: Run, series: TileSeries): Awaitable<Filled | undefined> {
  const { tiles } = context.deployment;
  const id = tiles?.seriesIds.get(series.key);
  if (!tiles || id === undefined) return undefined;
  const known = context.caches.filled;
  if (!known.has(series.key)) known.set(series.key, tiles.store.filled(tiles.scope, id));
  return known.get(series.key);
}

/** The buckets of a row's window that are read as tiles. */
function coveredBy(run: Run, op: PlanOp, { window }: KeptInfo, filled: Filled | undefined, row: Row): Coverage | undefined {
  const { micros } = run.timeOf(row);
  if (hasRows(op)) return coverageOf(window, filled, micros);
  const { series, windowMicros } = window;
  const [fromBucket, untilBucket] = [bucketOf(series, micros - windowMicros), bucketOf(series, micros) + 1];
  return { fromBucket, untilBucket, fromMicros: micros - windowMicros, untilMicros: micros };
}

function hasRows({ inputs }: PlanOp): boolean {
  return inputs.some((input) => input.needs !== undefined);
}

type RowRead = TileRead & { readonly row: Row };

function readOf(run: Run, op: PlanOp, { window, many }: KeptInfo, covered: Coverage | undefined, row: Row): readonly RowRead[] {
  const seriesId = run.context.deployment.tiles?.seriesIds.get(window.series.key);
  if (!covered || seriesId === undefined) return [];
  const values = many.join.map(({ foreign }, position) =>
    asForeign(argumentOf(run, op.inputs[position] as PlanOp["inputs"][number], row), foreign.lenient),
  );
  const group = groupKey(values, storeKey);
  return group === undefined ? [] : [{ row, seriesId, group, from: covered.fromBucket, until: covered.untilBucket }];
}

/** A value of the near side of a join as the far side has it. */
function asForeign(value: FeatureValue, coerce: (value: unknown) => FeatureValue): FeatureValue {
  return value === null ? null : coerce(value);
}

function read({ context }: Run, reads: readonly TileRead[], series: TileSeries): Awaitable<readonly MergedRange[]> {
  const { tiles } = context.deployment;
  return tiles && reads.length > 0 ? tiles.store.merged(tiles.scope, reads, series) : [];
}

function outcomesOf(
  run: Run,
  op: PlanOp,
  { window, reader }: KeptInfo,
  rows: readonly Row[],
  covered: readonly (Coverage | undefined)[],
  tiles: ReadonlyMap<Row, MergedRange | undefined>,
): OpResults {
  const slot = run.plan.outputOf(op);
  const input = op.inputs.find(({ needs }) => needs !== undefined);
  const widen = widener(window.resultType, slot.feature.dtype);
  const readers = new Map<ChildTable, ReadRows>();
  const rowsOf = (table: ChildTable): ReadRows => {
    const known = readers.get(table) ?? reader().read(columnsOf(table, window.series), table.rows);
    readers.set(table, known);
    return known;
  };
  const sources = { tiles: 0, rows: 0, both: 0 };
  let [mergedTiles, edgeRows] = [0, 0];
  const outcomes = rows.map((row, at): Outcome => {
    const state = new TileState(window.series);
    const children = input?.slot === undefined ? undefined : run.cells.childRows(run.cells.at(input.slot, row));
    const bounds = boundsOf(window, covered[at], run.timeOf(row).micros);
    let added = children ? addEdge(state, rowsOf(children.table), children, bounds.start, bounds.firstTile) : 0;
    const merged = tiles.get(row);
    if (merged?.state) state.merge(merged.state);
    if (children) added += addEdge(state, rowsOf(children.table), children, bounds.afterTiles, bounds.end);
    sources[covered[at] === undefined ? "rows" : added > 0 ? "both" : "tiles"]++;
    mergedTiles += merged?.tiles ?? 0;
    edgeRows += added;
    try {
      const result = state.result();
      return checked(slot, widen && result !== null ? widen(result) : result);
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      return fault(slot, error.message, ErrorCode.RESOLVER_FAILED);
    }
  });
  run.context.meter?.windowed(slot.feature, { sources, tiles: mergedTiles, rows: edgeRows });
  return { outcomes: [outcomes], observedAt: [] };
}

/** Instants of a window, each the first that does not belong to the part before. */
interface Bounds {
  readonly start: bigint;
  readonly firstTile: bigint;
  readonly afterTiles: bigint;
  readonly end: bigint;
}

function boundsOf(window: KeptWindow, covered: Coverage | undefined, now: bigint): Bounds {
  const end = now + (window.includesEnd ? 1n : 0n);
  return { start: windowBegin(window, now), firstTile: covered?.fromMicros ?? end, afterTiles: covered?.untilMicros ?? end, end };
}

/** Adds the rows of a part of the window, in the order in which they came; returns their number. */
function addEdge(state: TileState, rows: ReadRows, { from, to }: RowsValue, start: bigint, end: bigint): number {
  if (start >= end) return 0;
  const [first, after] = [formatMicros(start), end > LAST_MICROS ? AFTER_ALL : formatMicros(end)];
  let added = 0;
  for (let row = from; row < to; row++) {
    if (!rows.isBetween(row, first, after)) continue;
    rows.addTo(state, row);
    added++;
  }
  return added;
}

/** The last instant of the calendar, and text after that of every instant. */
const LAST_MICROS = BigInt(Date.parse("9999-12-31T23:59:59.999Z")) * 1000n + 999n;
const AFTER_ALL = ":";

function columnsOf(table: ChildTable, { reads }: TileSeries): ReadonlyMap<string, readonly FeatureValue[]> {
  return new Map(reads.map((path) => [path, table.columns.get(path)?.values ?? []]));
}

/**
 * The test of rows that a window's tiles do not stand for; undefined when every row may be needed,
 * as for rows with times of their own; "none" when no row is.
 */
export function edgesTest(run: Run, { givens, test }: PlanRows, { window }: KeptInfo): Awaitable<RowTest | "none" | undefined> {
  if (run.times) return test;
  return andThen(filledBy(run, window.series), (filled) => {
    const { micros } = run.context.now;
    const covered = coverageOf(window, filled, micros);
    if (!covered) return test;
    const path = window.series.time;
    const { start, end } = boundsOf(window, covered, micros);
    const edges = [
      { from: start, until: covered.fromMicros },
      { from: covered.untilMicros, until: end },
    ].filter(({ from, until }) => from < until);
    if (edges.length === 0) return "none";
    const outside: RowTest = { kind: "spans", path, spans: edges };
    const isGiven = givens.some(({ name }) => name === path);
    return isGiven ? allOf([withoutTimes(test, path), outside]) : test;
  });
}
