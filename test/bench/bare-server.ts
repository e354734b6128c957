/**
 * The least that could answer the benchmark's queries: `Bun.serve` with JSON in and out, and one
 * read of 20 values from a SQLite file, or of the amounts of an account, which it sums. Prints its
 * port. Arguments: the file, which it makes, how many rows, and, to sum, a file with a table `txn`.
 */

import { Database } from "bun:sqlite";
import { STORED_FEATURES } from "./generate-project.ts";

const [path = ":memory:", rows = "1000", shop] = process.argv.slice(2);
const db = new Database(path);
db.run("pragma journal_mode = wal");
db.run("pragma synchronous = normal");
db.run("create table online (pk integer, fid integer, value text, ts integer, primary key (pk, fid)) without rowid");
db.transaction(() => {
  const insert = db.prepare("insert into online values (?, ?, ?, ?)");
  for (let pk = 1; pk <= Number(rows); pk++)
    for (const [fid, name] of STORED_FEATURES.entries())
      insert.run(pk, fid, JSON.stringify(fid % 2 ? `${name} of ${pk}` : pk * 1.5), Date.now());
})();
const read = db.prepare<{ fid: number; value: string; ts: number }, [number]>("select fid, value, ts from online where pk = ?");

const amounts = shop
  ? new Database(shop, { readonly: true }).prepare<{ amount: number }, [number]>(
      "select id, account_id, amount from txn where account_id = ?",
    )
  : undefined;

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  routes: {
    "/v1/query/online": {
      POST: async (request) => {
        const { inputs } = (await request.json()) as { inputs: Record<string, number> };
        const id = inputs["profile.id"] ?? 0;
        const data = read.all(id).map(({ fid, value, ts }) => ({
          field: `profile.${STORED_FEATURES[fid]}`,
          value: JSON.parse(value),
          pkey: id,
          ts: new Date(ts).toISOString(),
        }));
        return Response.json({ data });
      },
    },
    "/sum": {
      POST: async (request) => {
        const { inputs } = (await request.json()) as { inputs: Record<string, number> };
        const id = inputs["account.id"] ?? 0;
        const value = amounts?.all(id).reduce((sum, { amount }) => sum + amount, 0);
        return Response.json({ data: [{ field: "account.total", value, pkey: id }] });
      },
    },
  },
});
console.log(server.port);
