/** Connects to PostgreSQL on the port of argv[2] without a password and prints what came of it. */

import { createSqlSources } from "../../../src/server/sql/create-sources.ts";

const sources = createSqlSources({
  declared: [],
  env: { PG_PGHOST: "127.0.0.1", PG_PGPORT: process.argv[2], PG_PGUSER: "svc_test", PG_PGDATABASE: "postgres" },
});
const outcome = await sources
  .get("pg")
  .query("select 1", [])
  .then(
    () => "connected",
    (error) => String(error.message),
  );
console.log(`${outcome} (user 'svc_test', database 'postgres')`);
await sources.close();
