/** `select 1` in databases that the runtime has a driver for. */

import { mysqlDriver } from "../sql/mysql.ts";
import { postgresDriver } from "../sql/postgres.ts";
import type { SourceDriver } from "../sql/source-driver.ts";
import { unlessAborted } from "../unless-aborted.ts";
import type { Probe } from "./probe-result.ts";

/** `nameOf` is the name of the integration's variable for one of the driver's. */
function probeDatabase(
  driver: SourceDriver,
  prefix: string,
  nameOf: (variable: string) => string,
  defaults: Record<string, string> = {},
): Probe {
  return async (variables, { signal }) => {
    const source = driver.open({
      name: prefix,
      prefix,
      read: (variable) => variables[nameOf(variable)] ?? defaults[variable],
      declared: {},
      sourceRoot: undefined,
      home: undefined,
    });
    try {
      await unlessAborted(source.test(), signal);
      signal.throwIfAborted();
    } finally {
      source.close().catch(() => undefined);
    }
    return { status: "ok", message: "the database ran `select 1`" };
  };
}

/** PostgreSQL. */
export const postgresqlProbe: Probe = probeDatabase(postgresDriver, "postgresql", (variable) => variable);

/** MySQL and MariaDB. */
export const mysqlProbe: Probe = probeDatabase(mysqlDriver, "mysql", (variable) => variable);

/** Redshift, which speaks the protocol of PostgreSQL. */
export const redshiftProbe: Probe = probeDatabase(postgresDriver, "redshift", (variable) => variable.replace(/^PG/, "REDSHIFT_"), {
  PGPORT: "5439",
});
