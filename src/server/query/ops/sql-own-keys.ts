/** The primary keys of the rows of a SQL body that takes no features: of all, or of what is new. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { IncrementalMode } from "../../../../gen/svc/v1/graph_pb.ts";
import { PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { parseInstant } from "../../../domain/timestamp.ts";
import { compileCoercer, type FeatureValue, TypeMismatch } from "../../../domain/value.ts";
import { comparisonSql } from "../../sql/condition.ts";
import type { SqlSource } from "../../sql/source.ts";
import type { ResolverInfo, ScalarInfo, SqlInfo } from "../graph/index-types.ts";
import { QueryRefused, refusal } from "../refusal.ts";
import type { RunContext } from "../run/run.ts";
import { columnCoercer } from "./column-values.ts";
import { boundStatement, exactColumnNames, placeValues } from "./sql-statement.ts";
import { repetitionInRows } from "./unique-rows.ts";

/** Keys of a body. */
export interface BodyKeys {
  readonly keys: readonly FeatureValue[];
  /**
   * Latest time in what an incremental run read: of its column, or in mode PARAMETER of the feature
   * time; in microseconds since 1970. Undefined = there is none.
   */
  readonly latest: bigint | undefined;
}

/** What keys are read of. */
export interface BodyKeysOptions {
  readonly resolver: ResolverInfo;
  readonly sql: SqlInfo;
  readonly primary: ScalarInfo;
  /** The feature time of the class; undefined = it has none. */
  readonly featureTime: ScalarInfo | undefined;
  /** Most keys. */
  readonly most: number;
  /** In an incremental run its settings; undefined = the keys of all rows are read. */
  readonly incremental: SqlInfo["incremental"];
  readonly context: RunContext;
  readonly signal: AbortSignal;
}

const toDatetime = compileCoercer({ kind: { case: "primitive", value: PrimitiveType.DATETIME } } as ScalarInfo["dtype"], "lenient");

/**
 * Reads the keys; rows without one have no owner and are left out. In an incremental run those are
 * left out too that are before its bound (`context.since`), or that have no time once there is one.
 * Rejects with SqlError or TypeMismatch, and with QueryRefused when there are more than `most`, or
 * two of those that are read are alike in what the resolver promises.
 */
export async function keysOfBody({
  resolver,
  sql,
  primary,
  featureTime,
  most,
  incremental,
  context,
  signal,
}: BodyKeysOptions): Promise<BodyKeys> {
  const source = context.deployment.sources.get(sql.source);
  const exactName = await (exactColumnNames(sql, source) ?? ((column: string) => column));
  const hasBound = incremental !== undefined && incremental.mode !== IncrementalMode.PARAMETER;
  const timeName = hasBound ? incremental.column : incremental && featureTime && sql.columns.get(featureTime.fqn);
  const timeColumn = timeName === undefined ? undefined : source.quote(exactName(timeName));
  const column = source.quote(exactName(sql.columns.get(primary.fqn) ?? primary.name));
  const body = boundStatement(sql, source);
  const condition = hasBound ? await sinceCondition(sql, source, body, incremental.column, context.since) : undefined;
  const promised = resolver.uniqueOn.map((feature) => source.quote(exactName(sql.columns.get(feature.fqn) ?? feature.name)));
  const selected = [column, ...(timeColumn === undefined ? [] : [timeColumn]), ...promised].map((name) => `q.${name}`);
  const text = `select ${selected.join(", ")} from (\n${body}\n) q${
    condition === undefined ? "" : ` where ${condition.text}`
  } limit ${most + 1}`;
  const parameters = [...placeValues(sql, context.now.text, context.since), ...(condition?.parameters ?? [])];
  const { rows, types } = await source.query(text, parameters, signal);
  if (rows.length > most) throw refused(`${resolver.fqn} gives more than ${most} rows, the most of one run`);
  const coerce = columnCoercer(primary, types?.[0]);
  const bound = context.since === undefined || !hasBound ? undefined : microsOf(context.since);
  const keys: FeatureValue[] = [];
  let latest: bigint | undefined;
  const read: (readonly unknown[])[] = [];
  for (const row of rows) {
    const [key, time] = row;
    if (timeColumn !== undefined) {
      const at = timeOf(time, resolver, timeName ?? "");
      if (bound !== undefined && (at === undefined || at < bound)) continue;
      if (at !== undefined && (latest === undefined || at > latest)) latest = at;
    }
    if (promised.length > 0) read.push(row);
    if (key !== null) keys.push(coerce(key));
  }
  const first = selected.length - promised.length;
  const repeated = repetitionInRows(resolver, { rows: read, types }, (feature) => first + resolver.uniqueOn.indexOf(feature));
  if (repeated) throw refused(`${resolver.fqn}: ${repeated.message}`);
  return { keys, latest };
}

/** A condition in the database that lets all rows through that are at or after the bound. */
async function sinceCondition(
  sql: SqlInfo,
  source: SqlSource,
  body: string,
  column: string,
  since: string | undefined,
): Promise<{ readonly text: string; readonly parameters: readonly FeatureValue[] } | undefined> {
  if (since === undefined) return undefined;
  const types = await source.columnTypes(body).catch(() => undefined);
  const [name, type] = [...(types ?? [])].find(([known]) => known.toLowerCase() === column.toLowerCase()) ?? [];
  if (name === undefined || type === undefined) return undefined;
  const parameters: FeatureValue[] = [];
  const text = comparisonSql(
    sql.sourceKind,
    { column: `q.${source.quote(name)}`, type, feature: PrimitiveType.DATETIME, nullable: true, operator: "ge", values: [since] },
    (value) => {
      parameters.push(value);
      return source.placeholder(sql.places.length + parameters.length);
    },
  );
  return text === undefined ? undefined : { text, parameters };
}

/** Microseconds of a time as the database gave it; undefined = null. */
function timeOf(value: unknown, resolver: ResolverInfo, column: string): bigint | undefined {
  if (value === null || value === undefined) return undefined;
  try {
    return microsOf(toDatetime(value) as string);
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    throw refused(`${resolver.fqn} cannot run incrementally: column '${column}' holds ${error.given}, which is no time`);
  }
}

function refused(why: string): QueryRefused {
  return new QueryRefused([refusal(ErrorCode.INVALID_QUERY, why)]);
}

function microsOf(text: string): bigint {
  const instant = parseInstant(text);
  if (!instant) throw new TypeError(`not a canonical datetime: ${text}`);
  return instant.micros;
}
