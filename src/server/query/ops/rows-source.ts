/**
 * Sources of the rows of has-many relations: values given, resolvers of the relation, SQL queries
 * and scans by the join.
 */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { type Coercer, type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import type { SqlType } from "../../sql/source.ts";
import type { ResolverInfo, ScalarInfo, SqlInfo } from "../graph/index-types.ts";
import type { Row } from "../plan/ids.ts";
import type { PlanOp, PlanRows, RowsSourceKind } from "../plan/plan.ts";
import { nameResolver } from "../plan/plan-reasons.ts";
import type { Awaitable } from "../run/awaitable.ts";
import type { CellFailure } from "../run/cells.ts";
import { withDeadline } from "../run/deadline.ts";
import { argumentOf } from "../run/op-inputs.ts";
import { callFailure } from "../run/outcome.ts";
import type { Run } from "../run/run.ts";
import { columnCoercer } from "./column-values.ts";
import { eachTime, takesTime } from "./each-time.ts";
import { nearestRows } from "./nearest-rows.ts";
import { callPool, inChunks } from "./python-op.ts";
import { scanOf } from "./scan-op.ts";
import { sqlFailure } from "./sql-refusal.ts";
import { queryBodies, queryByKey, sourceOf } from "./sql-rows.ts";
import { edgesTest } from "./tiles-op.ts";

/** Rows as their source returned them. */
export interface SourceRows {
  /** For each parent, its rows; or why it has none. */
  readonly groups: readonly (readonly number[] | CellFailure)[];
  /** Values by feature, checked; absent features are not known. */
  readonly columns: ReadonlyMap<ScalarInfo, readonly FeatureValue[]>;
  /** Reasons why there is no value, by feature and row. */
  readonly broken: ReadonlyMap<ScalarInfo, ReadonlyMap<number, CellFailure>>;
  readonly rows: number;
}

/** Columns of values as their source returned them, before they are checked. */
export interface RawColumns {
  readonly groups: readonly (readonly number[] | CellFailure)[];
  readonly columns: ReadonlyMap<ScalarInfo, readonly unknown[]>;
  /** Of the columns of a database. */
  readonly types?: ReadonlyMap<ScalarInfo, SqlType | undefined>;
  readonly rows: number;
}

/** Rows as a source of one kind has them for some parents. Rejects when they cannot be fetched. */
type Fetch = (run: Run, op: PlanOp, rows: PlanRows, resolver: ResolverInfo, parents: readonly Row[]) => Promise<RawColumns>;

/** The fetcher of each kind of source that is a resolver. */
const FETCHES: Readonly<Record<Exclude<RowsSourceKind, "given" | "nearest">, Fetch>> = {
  relation: relationRows,
  sql: queriedRows,
  scan: scannedRows,
};

/**
 * The rows of a relation for some parents; synchronously when they were given. Never rejects:
 * failures are in the groups.
 */
export function fetchRows(run: Run, op: PlanOp, rows: PlanRows, parents: readonly Row[]): Awaitable<SourceRows> {
  const { source } = rows;
  if (source === "nearest") return nearestRows(run, op, rows, parents);
  return source === "given" ? givenRows(run, op, rows, parents) : fetchedRows(run, op, rows, FETCHES[source], parents);
}

async function fetchedRows(run: Run, op: PlanOp, rows: PlanRows, fetch: Fetch, parents: readonly Row[]): Promise<SourceRows> {
  const path = pathOf(run, op, rows);
  const resolver = op.resolver as ResolverInfo;
  const started = performance.now();
  const fetchPart = (part: readonly Row[]) =>
    fetch(run, op, rows, resolver, part).catch((error: unknown): RawColumns => {
      const failure = resolver.sql ? sqlFailure(error, path, resolver, resolver.sql) : callFailure(error, path, resolver);
      return { groups: part.map(() => failure), columns: new Map(), rows: 0 };
    });
  const takesOneTime = rows.source !== "relation" && op.keys.length > 0 && takesTime(resolver);
  const raw = takesOneTime ? await fetchEachTime(run, parents, fetchPart) : await fetchPart(parents);
  run.context.trace?.ran(op, parents.length, raw.rows, performance.now() - started);
  const source = checked(raw, wantedOf(run, op, rows), resolver, path);
  for (const [feature, values] of source.columns)
    if (feature.softRules) for (const value of values) run.context.meter?.checked(feature, value);
  return source;
}

async function fetchEachTime(run: Run, parents: readonly Row[], fetch: (part: readonly Row[]) => Promise<RawColumns>): Promise<RawColumns> {
  const parts = await eachTime(run, parents, async (part) => (part.length === parents.length ? fetch(part) : foundOnly(await fetch(part))));
  return joined(parts, parents.length);
}

/** The rows of parents only: a scan for each time would otherwise keep too many. */
function foundOnly({ groups, columns, types }: RawColumns): RawColumns {
  const places = new Map<number, number>();
  const moved = groups.map((group) => {
    if ("code" in group) return group;
    return group.map((row) => {
      const place = places.get(row) ?? places.size;
      places.set(row, place);
      return place;
    });
  });
  const kept = [...places.keys()];
  const found = new Map([...columns].map(([feature, values]) => [feature, kept.map((row) => values[row])]));
  return { groups: moved, columns: found, ...(types ? { types } : {}), rows: kept.length };
}

/** The rows fetched for the parents of each time, one after another. */
function joined(parts: readonly { readonly positions: readonly number[]; readonly result: RawColumns }[], parents: number): RawColumns {
  const [only] = parts;
  if (only && parts.length === 1) return only.result;
  const groups = new Array<RawColumns["groups"][number]>(parents);
  const columns = new Map<ScalarInfo, unknown[]>();
  const types = new Map<ScalarInfo, SqlType | undefined>();
  let total = 0;
  for (const { positions, result } of parts) {
    for (const [at, position] of positions.entries()) {
      const group = result.groups[at] as RawColumns["groups"][number];
      groups[position] = "code" in group ? group : group.map((row) => total + row);
    }
    for (const [feature, values] of result.columns) {
      const column = columns.get(feature) ?? [];
      columns.set(feature, column);
      for (const value of values) column.push(value);
      types.set(feature, result.types?.get(feature) ?? types.get(feature));
    }
    total += result.rows;
  }
  return { groups, columns, types, rows: total };
}

function givenRows(run: Run, op: PlanOp, rows: PlanRows, parents: readonly Row[]): SourceRows {
  const slot = op.inputs.at(-1)?.slot;
  const lists = parents.map((parent) => {
    const list = slot === undefined ? null : run.cells.value(run.cells.at(slot, parent));
    return Array.isArray(list) ? (list as Record<string, FeatureValue>[]) : [];
  });
  const [first = {}] = lists.flatMap((items) => items.slice(0, 1));
  const columns = new Map<ScalarInfo, FeatureValue[]>();
  for (const feature of rows.givens) if (Object.hasOwn(first, feature.name)) columns.set(feature, []);
  const groups: number[][] = [];
  let total = 0;
  for (const items of lists) {
    const from = total;
    groups.push(items.map((_, i) => from + i));
    total += items.length;
    for (const [feature, column] of columns) for (const item of items) column.push(item[feature.name] ?? null);
  }
  return { groups, columns, broken: new Map(), rows: total };
}

async function scannedRows(run: Run, op: PlanOp, rows: PlanRows, resolver: ResolverInfo, parents: readonly Row[]): Promise<RawColumns> {
  const scan = await scanOf(run, op, resolver, run.timeOf(parents[0] as Row));
  const index = scan.indexOf(op.keys);
  const failure = index.broken && {
    code: ErrorCode.VALIDATION_FAILED,
    message: `${nameResolver(resolver)} cannot say whose rows it gave: ${index.broken}`,
    path: pathOf(run, op, rows),
    resolver: resolver.fqn,
  };
  return {
    groups: argumentsOf(run, op, parents).map((key) => failure || (key.includes(null) ? [] : index.find(key))),
    columns: scan.columns,
    rows: scan.rows,
  };
}

async function queriedRows(run: Run, op: PlanOp, rows: PlanRows, resolver: ResolverInfo, parents: readonly Row[]): Promise<RawColumns> {
  const { context } = run;
  const sql = resolver.sql as SqlInfo;
  const wanted = [...wantedOf(run, op, rows)].filter((feature) => sql.columns.has(feature.fqn));
  const args = argumentsOf(run, op, parents);
  const wantedRows = isStored(run, op) ? undefined : rows.edgesOf ? await edgesTest(run, rows, rows.edgesOf) : rows.test;
  if (wantedRows === "none") return { groups: parents.map(() => []), columns: new Map(wanted.map((feature) => [feature, []])), rows: 0 };
  return withDeadline(resolver.timeoutMs, context.signal, (signal) => {
    const source = sourceOf(context, op, sql);
    const path = pathOf(run, op, rows);
    const times = parents.map((row) => run.timeOf(row));
    const call = { op, sql, source, wanted, namespace: rows.many.foreign, resolver, path, test: wantedRows, times, context, signal };
    return op.keys.length > 0 ? queryByKey(call, args) : queryBodies(call, args);
  });
}

function argumentsOf(run: Run, op: PlanOp, parents: readonly Row[]): FeatureValue[][] {
  return parents.map((row) => op.inputs.map((input) => argumentOf(run, input, row)));
}

async function relationRows(run: Run, op: PlanOp, rows: PlanRows, resolver: ResolverInfo, parents: readonly Row[]): Promise<RawColumns> {
  const path = pathOf(run, op, rows);
  const groups: (readonly number[] | CellFailure)[] = [];
  const columns = new Map<ScalarInfo, unknown[]>();
  let total = 0;
  for (const chunk of inChunks(parents, run.plan.options.maxBatchRows)) {
    const result = await callPool(run, op, chunk);
    const offsets = result.groups?.offsets ?? [];
    const errors = new Map(result.errors.map((error) => [error.row, error]));
    for (let at = 0; at < chunk.length; at++) {
      const error = errors.get(at);
      const from = offsets[at] ?? 0;
      groups.push(
        error
          ? { code: error.code, message: error.message, path, resolver: resolver.fqn, exception: error.exception }
          : Array.from({ length: (offsets[at + 1] ?? from) - from }, (_, i) => total + from + i),
      );
    }
    for (const feature of rows.givens) {
      const column = result.groups?.columns[feature.fqn];
      if (!column) continue;
      const values = columns.get(feature) ?? [];
      columns.set(feature, values);
      for (const value of column) values.push(value);
    }
    total += offsets.at(-1) ?? 0;
  }
  return { groups, columns, rows: total };
}

/** The relation's path. */
function pathOf({ plan }: Run, op: PlanOp, { many }: PlanRows): string {
  return `${plan.frame(op.frame).path}.${many.name}`;
}

/**
 * Whether the rows are stored: then all their features are read, so that they serve every query.
 */
function isStored({ plan }: Run, op: PlanOp): boolean {
  return plan.outputOf(op).stored;
}

function wantedOf(run: Run, op: PlanOp, rows: PlanRows): ReadonlySet<ScalarInfo> {
  return isStored(run, op) ? new Set(rows.givens) : rows.used;
}

/** Coerces values to their features' types. */
export function checked(raw: RawColumns, wanted: ReadonlySet<ScalarInfo>, resolver: ResolverInfo, path: string): SourceRows {
  const columns = new Map<ScalarInfo, readonly FeatureValue[]>();
  const broken = new Map<ScalarInfo, ReadonlyMap<number, CellFailure>>();
  for (const [feature, given] of raw.columns) {
    if (!wanted.has(feature)) continue;
    const coerce = resolver.sql ? columnCoercer(feature, raw.types?.get(feature)) : feature.strict;
    const { values, failures } = checkedColumn(feature, given, coerce, resolver, path);
    columns.set(feature, values);
    if (failures.size > 0) broken.set(feature, failures);
  }
  return { groups: raw.groups, columns, broken, rows: raw.rows };
}

/** The values of a column; null where there is none, with the reason where one must be. */
export function checkedColumn(
  feature: ScalarInfo,
  given: readonly unknown[],
  coerce: Coercer,
  resolver: Pick<ResolverInfo, "fqn">,
  path: string,
): { readonly values: readonly FeatureValue[]; readonly failures: ReadonlyMap<number, CellFailure> } {
  const failures = new Map<number, CellFailure>();
  const fail = (row: number, why: string) => failures.set(row, mismatch(feature, `${path}.${feature.name}: ${why}`, resolver, path));
  const values = new Array<FeatureValue>(given.length);
  for (let row = 0; row < given.length; row++) {
    const value = given[row];
    values[row] = null;
    if (value === null || value === undefined) {
      if (feature.nullable) continue;
      if (feature.defaultValue !== undefined) values[row] = feature.defaultValue;
      else fail(row, `expected ${feature.typeName}, got null from ${resolver.fqn}, and the feature is not optional`);
      continue;
    }
    try {
      values[row] = coerce(value);
    } catch (error) {
      if (!(error instanceof TypeMismatch)) throw error;
      fail(row, `${error.message} from ${resolver.fqn}`);
    }
  }
  return { values, failures };
}

function mismatch(feature: ScalarInfo, message: string, resolver: Pick<ResolverInfo, "fqn">, path: string): CellFailure {
  return { code: ErrorCode.VALIDATION_FAILED, message, path: `${path}.${feature.name}`, resolver: resolver.fqn };
}
