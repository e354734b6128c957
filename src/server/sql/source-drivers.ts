/**
 * The list of drivers. A new kind of source is added here, and its comparisons in SQL in
 * `condition.ts`.
 */

import { mysqlDriver } from "./mysql.ts";
import { postgresDriver } from "./postgres.ts";
import type { SourceDriver } from "./source-driver.ts";
import { sqliteDriver } from "./sqlite.ts";

/** The drivers of all kinds of sources. */
export const SOURCE_DRIVERS: readonly SourceDriver[] = [sqliteDriver, postgresDriver, mysqlDriver];
