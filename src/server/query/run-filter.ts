/** The filter of a resolver's runs: a bool that is computed for rows before the resolver runs. */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { Derivation } from "../../domain/derivation.ts";
import { CheckedValue } from "../../domain/validations.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { storeKey } from "../stores/online/store.ts";
import type { BulkAnswer } from "./bulk.ts";
import type { GraphIndex } from "./graph/graph-index.ts";
import type { NamespaceInfo, ScalarInfo } from "./graph/index-types.ts";
import type { Scan } from "./ops/scan.ts";
import { DividedPartitions } from "./partitions.ts";
import { QueryRefused } from "./refusal.ts";
import { type BulkInput, bulkColumn, type QueryRequest } from "./request/request.ts";
import type { KnownRows } from "./resolver-run.ts";

/** The rows of a part, divided. */
export interface FilteredRows {
  /** Those of which the filter is true. */
  readonly chosen: KnownRows;
  /** The number of those for which it failed. */
  readonly failedRows: number;
  /** The message of the first of them; empty = none failed. */
  readonly error: string;
}

/** Positions of rows in groups of which the same inputs are known. */
export function alike(keys: readonly FeatureValue[], known: KnownRows["inputs"]): Iterable<number[]> {
  const columns = [...known.values()];
  const maskOf = (row: number): string => columns.map((values) => (values[row] === undefined ? "0" : "1")).join("");
  return Map.groupBy(keys.keys(), maskOf).values();
}

/** The columns of a query for a group of rows: their keys, and what is known of them. */
export function columnsOf(primary: ScalarInfo, { keys, inputs }: KnownRows, rows: readonly number[]): BulkInput[] {
  const given = [...inputs].filter(([, values]) => values[rows[0] as number] !== undefined);
  const columns = given.map(([feature, values]) =>
    bulkColumn(
      feature.fqn,
      rows.map((row) => values[row] as FeatureValue),
    ),
  );
  return [
    bulkColumn(
      primary.fqn,
      rows.map((row) => keys[row] as FeatureValue),
    ),
    ...columns,
  ];
}

/**
 * The features of a class that a path is computed from and that a query has to be given: those that
 * the history alone may know, because no resolver or expression gives them to a query, and `own`.
 * @param own FQNs of features that the resolver has just returned
 */
export function leavesOf(graph: Graph, index: GraphIndex, namespace: NamespaceInfo, path: string, own: ReadonlySet<string>): ScalarInfo[] {
  const derivation = new Derivation(graph);
  const seen = new Set<string>();
  const leaves: ScalarInfo[] = [];
  const waiting = [...derivation.needsOf(path)];
  for (let need = waiting.pop(); need; need = waiting.pop()) {
    const feature = index.scalars.get(need.feature);
    if (need.foreign || feature?.namespace !== namespace.name || seen.has(need.feature)) continue;
    seen.add(need.feature);
    const providers = own.has(need.feature) ? [] : (derivation.providers.get(need.feature) ?? []);
    const steps = providers.filter(({ isOnline }) => isOnline);
    for (const { needs, optionalNeeds } of steps) waiting.push(...needs, ...optionalNeeds);
    if (steps.length === 0 && !feature.primary && feature.featureId !== undefined) leaves.push(feature);
  }
  return leaves;
}

/** The same rows with what a resolver has returned of some features. */
export function withReturned(known: KnownRows, scan: Scan, primary: ScalarInfo, features: readonly ScalarInfo[]): KnownRows {
  const rows = new Map((scan.columns.get(primary) ?? []).map((key, row) => [storeKeyOf(primary.strict(key)), row]));
  const returned = features.map((feature) => {
    const column = scan.columns.get(feature);
    const values = known.keys.map((key) => column?.[rows.get(storeKeyOf(key)) ?? -1]);
    // A value that breaks a check is read by the filter, and fails when the row runs.
    return [feature, values.map((value) => (value instanceof CheckedValue ? value.value : value))] as const;
  });
  return { keys: known.keys, inputs: new Map([...known.inputs, ...returned]) };
}

function storeKeyOf(key: FeatureValue): string {
  return key === null ? "" : storeKey(key);
}

/**
 * Divides the rows of a part by a bool. A row runs when it is true, not when it is null, and counts
 * as failed when it cannot be computed.
 * @param answer a bulk query that stores nothing
 */
export async function filterRows(
  path: string,
  primary: ScalarInfo,
  known: KnownRows,
  request: QueryRequest,
  answer: (request: QueryRequest, columns: readonly BulkInput[]) => Promise<BulkAnswer>,
): Promise<FilteredRows> {
  const passing: number[] = [];
  let failedRows = 0;
  let error = "";
  const fail = (rows: number, message: string): void => {
    failedRows += rows;
    error ||= `the filter ${path}: ${message}`;
  };
  for (const rows of alike(known.keys, known.inputs)) {
    try {
      const { columns, failures } = await answer({ ...request, outputs: [path] }, columnsOf(primary, known, rows));
      const failed = new Set(failures.map(({ row }) => row));
      if (failed.size > 0) fail(failed.size, failures[0]?.message ?? "");
      passing.push(...rows.filter((_, at) => columns[0]?.values[at] === true && !failed.has(at)));
    } catch (thrown) {
      if (!(thrown instanceof QueryRefused)) throw thrown;
      fail(rows.length, thrown.message);
    }
  }
  passing.sort((a, b) => a - b);
  const chosen = {
    keys: passing.map((row) => known.keys[row] as FeatureValue),
    inputs: new Map([...known.inputs].map(([feature, values]) => [feature, passing.map((row) => values[row])])),
  };
  return { chosen, failedRows, error };
}

/**
 * Rows with all of their inputs: those that are not known of a row are computed, and are null where
 * that fails, as a column of a table is.
 * @param answer a bulk query that stores nothing
 */
export async function withAllInputs(
  primary: ScalarInfo,
  known: KnownRows,
  request: QueryRequest,
  answer: (request: QueryRequest, columns: readonly BulkInput[]) => Promise<BulkAnswer>,
): Promise<KnownRows> {
  const inputs = new Map([...known.inputs].map(([feature, values]) => [feature, [...values]]));
  for (const rows of alike(known.keys, known.inputs)) {
    const missing = [...inputs].filter(([feature]) => known.inputs.get(feature)?.[rows[0] as number] === undefined);
    if (missing.length === 0) continue;
    const asked = { ...request, outputs: missing.map(([{ fqn }]) => fqn) };
    const found = await answer(asked, columnsOf(primary, known, rows)).catch((error: unknown) => {
      if (error instanceof QueryRefused && !(error instanceof DividedPartitions)) return undefined;
      throw error;
    });
    for (const [output, [, values]] of missing.entries())
      for (const [at, row] of rows.entries()) values[row] = found?.columns[output]?.values[at] ?? null;
  }
  return { keys: known.keys, inputs };
}
