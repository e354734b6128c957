/**
 * The list of drivers. A new kind of source is added here, and its comparisons in SQL in
 * `condition.ts`.
 */

import { bigqueryDriver } from "./bigquery.ts";
import { clickhouseDriver } from "./clickhouse.ts";
import { duckdbDriver } from "./duckdb.ts";
import { mysqlDriver } from "./mysql.ts";
import { postgresDriver } from "./postgres.ts";
import { snowflakeDriver } from "./snowflake.ts";
import type { SourceDriver } from "./source-driver.ts";
import { sqliteDriver } from "./sqlite-driver.ts";

/** The drivers of all kinds of sources. */
export const SOURCE_DRIVERS: readonly SourceDriver[] = [
  sqliteDriver,
  postgresDriver,
  mysqlDriver,
  clickhouseDriver,
  duckdbDriver,
  snowflakeDriver,
  bigqueryDriver,
];
