/** Running of the statements that Python resolvers return, whose rows are their results. */

import { create } from "@bufbuild/protobuf";
import { ErrorCode, ExceptionInfoSchema } from "../../../../gen/svc/v1/error_pb.ts";
import { dialectOfKind } from "../../../domain/sql/dialect.ts";
import { namedParameters } from "../../../domain/sql/named-parameters.ts";
import { withoutTerminator } from "../../../domain/sql/statement.ts";
import { type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import type { ResolverCall, ResolverResult, ResultValue, ReturnedStatement, RowError } from "../../python/pool.ts";
import { ParameterError, SqlError, type SqlResult, type SqlSource } from "../../sql/source.ts";
import type { ResolverInfo, ScalarInfo } from "../graph/index-types.ts";
import type { PlanOp } from "../plan/plan.ts";
import { withDeadline } from "../run/deadline.ts";
import type { RunContext } from "../run/run.ts";
import { columnCoercer } from "./column-values.ts";
import { eachOf, runStatement } from "./run-statement.ts";
import { repetition } from "./unique-rows.ts";

/** A call whose resolver returned statements. */
export interface ReturnedCall {
  readonly context: RunContext;
  /** The step that the statements are recorded for; undefined = they are not recorded. */
  readonly op: PlanOp | undefined;
  readonly resolver: ResolverInfo;
  readonly call: ResolverCall;
  /** Milliseconds that are left of the call's time. */
  readonly leftMs: number;
}

/** The rows of a statement, as columns by feature. */
interface FoundRows {
  readonly columns: ReadonlyMap<ScalarInfo, readonly ResultValue[]>;
  readonly rows: number;
}

/** The error of a statement that does not fit what its resolver returns. */
class Misfit extends Error {}

/**
 * The result of a call with the rows of its statements. A statement that fails is the error of its
 * row. Rejects with Overran when the call's time is over, or with the caller's reason.
 */
export async function runReturned(
  returned: ReturnedCall,
  result: ResolverResult,
  statements: readonly ReturnedStatement[],
): Promise<ResolverResult> {
  const { call, context, leftMs, resolver } = returned;
  const found = new Map<number, FoundRows>();
  const errors = [...result.errors];
  const fail = (row: number, error: unknown): void => {
    const own = rowError(resolver, row, error);
    if (call.tables) for (let each = 0; each < call.rows; each++) errors.push({ ...own, row: each });
    else errors.push(own);
  };
  await withDeadline(leftMs, context.signal, async (signal) => {
    for (const statement of statements) await runEach(returned, statement, signal, (row, rows) => found.set(row, rows), fail);
  });
  errors.sort((a, b) => a.row - b.row);
  const { statements: _, ...rest } = result;
  if (resolver.shape === "values") return { ...rest, errors, columns: withValues(result, resolver, found) };
  return { ...rest, errors, groups: withRows(result, resolver, found) };
}

/** Runs a statement for each of its rows. Rejects with the signal's reason alone. */
async function runEach(
  { context, op, resolver }: ReturnedCall,
  statement: ReturnedStatement,
  signal: AbortSignal,
  give: (row: number, rows: FoundRows) => void,
  fail: (row: number, error: unknown) => void,
): Promise<void> {
  let source: SqlSource;
  let bound: { readonly text: string; readonly order: readonly number[] };
  try {
    const known = context.deployment.sources.get(statement.source);
    source = (op && context.observer?.source(known, op)) ?? known;
    bound = boundText(statement, source);
  } catch (error) {
    for (const row of statement.rows) fail(row, error);
    return;
  }
  const read = new Map<SqlResult, FoundRows>();
  await eachOf([...statement.rows.entries()], async ([at, row]) => {
    const values = statement.values[at] ?? [];
    const parameters = bound.order.map((position) => values[position] ?? null);
    try {
      const result = await runStatement(context, source, bound.text, parameters, signal);
      checkCount(statement, resolver, result.rows.length);
      const rows = read.get(result) ?? readRows(statement, resolver, result);
      read.set(result, rows);
      give(row, rows);
    } catch (error) {
      signal.throwIfAborted();
      fail(
        row,
        error instanceof ParameterError ? new Misfit(`:${statement.names[bound.order[error.position] ?? 0]} ${error.problem}`) : error,
      );
    }
  });
}

/** The text with the source's placeholders, and for each the position of its argument. */
function boundText(
  { text, names, floats }: ReturnedStatement,
  source: SqlSource,
): { readonly text: string; readonly order: readonly number[] } {
  const dialect = dialectOfKind(source.kind);
  const order: number[] = [];
  let written = "";
  let from = 0;
  for (const { name, offset, length } of namedParameters(text, dialect)) {
    const position = names.indexOf(name);
    if (position < 0) throw new Misfit(`placeholder :${name} of its statement has no value: give it in args=`);
    order.push(position);
    written += text.slice(from, offset) + source.placeholder(order.length, floats.includes(name) ? "float" : undefined);
    from = offset + length;
  }
  const unused = names.find((_, position) => !order.includes(position));
  if (unused !== undefined) throw new Misfit(`args= has '${unused}', which is no placeholder of its statement`);
  return { text: withoutTerminator(written + text.slice(from), dialect), order };
}

function checkCount({ count }: ReturnedStatement, { shape }: ResolverInfo, rows: number): void {
  const isSingle = count === "one" || count === "one_or_none" || (count === "" && shape === "values");
  if (isSingle && rows > 1) throw new Misfit(`its statement gave ${rows} rows, and at most one is expected`);
  if (count === "one" && rows === 0) throw new Misfit("its statement gave no row, and .one() expects one");
}

/**
 * The rows of a result by feature. A value that the feature's type does not take stays as it is,
 * and is refused where it is used.
 */
function readRows({ fields, keys }: ReturnedStatement, resolver: ResolverInfo, result: SqlResult): FoundRows {
  const columns = new Map<ScalarInfo, readonly ResultValue[]>();
  for (const [position, column] of result.columns.entries()) {
    const feature = featureOf(column, fields, resolver);
    if (!feature && keys.some((key) => key.toLowerCase() === column.toLowerCase())) continue;
    if (!feature) throw new Misfit(`column '${column}' of its statement fills no feature that it returns`);
    if (columns.has(feature)) throw new Misfit(`two columns of its statement fill ${feature.fqn}`);
    const coerce = columnCoercer(feature, result.types?.[position]);
    columns.set(
      feature,
      result.rows.map((row) => {
        const value = row[position];
        try {
          return value === null || value === undefined ? null : coerce(value);
        } catch (error) {
          if (!(error instanceof TypeMismatch)) throw error;
          return value as FeatureValue;
        }
      }),
    );
  }
  const missing = resolver.features.find((feature) => !columns.has(feature));
  if (missing)
    throw new Misfit(`its statement has no column for ${missing.fqn}; its columns are ${result.columns.slice(0, 20).join(", ")}`);
  const repeated = repetition(resolver, {
    rows: result.rows.length,
    cellOf: (feature, row) => columns.get(feature)?.[row],
    typeOf: () => undefined,
  });
  if (repeated) throw repeated;
  return { columns, rows: result.rows.length };
}

/** The feature that a column fills; undefined = it fills none of the resolver's. */
function featureOf(column: string, fields: ReturnedStatement["fields"], { features }: ResolverInfo): ScalarInfo | undefined {
  const lower = column.toLowerCase();
  const fqn = fields[column] ?? Object.entries(fields).find(([name]) => name.toLowerCase() === lower)?.[1];
  if (fqn !== undefined) return features.find((one) => one.fqn === fqn);
  return features.find(({ name }) => name === column) ?? features.find(({ name }) => name.toLowerCase() === lower);
}

function withValues(result: ResolverResult, { features }: ResolverInfo, found: ReadonlyMap<number, FoundRows>): ResolverResult["columns"] {
  const columns = features.map(({ fqn }): [string, ResultValue[]] => [fqn, [...(result.columns[fqn] ?? [])]]);
  for (const [row, { columns: own }] of found)
    for (const [at, feature] of features.entries()) (columns[at] as [string, ResultValue[]])[1][row] = own.get(feature)?.[0] ?? null;
  return Object.fromEntries(columns);
}

/** The rows of a relation, by the row that asked, or those of a class. */
function withRows(
  { groups }: ResolverResult,
  { features, shape }: ResolverInfo,
  found: ReadonlyMap<number, FoundRows>,
): NonNullable<ResolverResult["groups"]> {
  const before = groups?.offsets ?? [0];
  const offsets = [0];
  const columns = features.map(({ fqn }): [string, ResultValue[]] => [fqn, []]);
  const add = (values: (fqn: string, feature: ScalarInfo) => readonly ResultValue[]): void => {
    for (const [at, feature] of features.entries())
      for (const value of values(feature.fqn, feature)) (columns[at] as [string, ResultValue[]])[1].push(value);
  };
  let total = 0;
  for (let row = 0; row < before.length - 1; row++) {
    const [start, end] = [before[row] as number, before[row + 1] as number];
    add((fqn) => groups?.columns[fqn]?.slice(start, end) ?? []);
    total += end - start;
    const own = shape === "relation" ? found.get(row) : undefined;
    if (own) add((_, feature) => own.columns.get(feature) ?? []);
    total += own?.rows ?? 0;
    if (shape === "relation") offsets.push(total);
  }
  if (shape === "relation") return { offsets, columns: Object.fromEntries(columns) };
  for (const own of found.values()) {
    add((_, feature) => own.columns.get(feature) ?? []);
    total += own.rows;
  }
  return { offsets: [0, total], columns: Object.fromEntries(columns) };
}

function rowError(resolver: ResolverInfo, row: number, error: unknown): RowError {
  const isKnown = error instanceof SqlError || error instanceof Misfit;
  if (!isKnown) throw error;
  const { file, fqn, line } = resolver;
  const exception = create(ExceptionInfoSchema, { kind: "SqlError", message: error.message, file, line });
  return { row, code: ErrorCode.RESOLVER_FAILED, message: `${fqn}: ${error.message}`, exception };
}
