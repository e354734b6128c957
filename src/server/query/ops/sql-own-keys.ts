/** The primary keys of all rows of a SQL body that takes no features. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { ResolverInfo, ScalarInfo, SqlInfo } from "../graph/index-types.ts";
import { QueryRefused, refusal } from "../refusal.ts";
import type { RunContext } from "../run/run.ts";
import { columnCoercer } from "./column-values.ts";
import { boundStatement, exactColumnNames } from "./sql-statement.ts";

/**
 * Reads the keys; rows without one have no owner and are left out. Rejects with SqlError or
 * TypeMismatch, and with QueryRefused when there are more than `most`.
 */
export async function keysOfBody(
  resolver: ResolverInfo,
  sql: SqlInfo,
  primary: ScalarInfo,
  most: number,
  context: RunContext,
  signal: AbortSignal,
): Promise<FeatureValue[]> {
  const source = context.deployment.sources.get(sql.source);
  const exactName = await (exactColumnNames(sql, source) ?? ((column: string) => column));
  const column = source.quote(exactName(sql.columns.get(primary.fqn) ?? primary.name));
  const text = `select q.${column} from (\n${boundStatement(sql, source)}\n) q limit ${most + 1}`;
  const { rows, types } = await source.query(
    text,
    sql.places.map(() => context.now.text),
    signal,
  );
  if (rows.length > most)
    throw new QueryRefused([refusal(ErrorCode.INVALID_QUERY, `${resolver.fqn} gives more than ${most} rows, the most of one run`)]);
  const coerce = columnCoercer(primary, types?.[0]);
  return rows.flatMap(([value]) => (value === null ? [] : [coerce(value)]));
}
