/**
 * The kinds of sources. A kind is there by its row; comparisons that its databases compute are
 * added in `condition.ts`.
 */

import { mysqlDriver } from "./mysql.ts";
import { postgresDriver } from "./postgres.ts";
import type { SourceDriver } from "./source-driver.ts";
import { sqliteDriver } from "./sqlite.ts";

/** All kinds. */
export const SOURCE_DRIVERS: readonly SourceDriver[] = [sqliteDriver, postgresDriver, mysqlDriver];
