/**
 * Puts values into the online store at argv[2] until it is killed; prints the time of each batch
 * once another process could read it.
 */

import { Database } from "bun:sqlite";
import { openSqliteOnlineStore } from "../../../../src/server/stores/online/sqlite.ts";

const path = process.argv[2] ?? "";
const store = openSqliteOnlineStore(path);
const reader = new Database(path, { readonly: true });
const newest = reader.query<{ at: number | null }, []>("select max(observed_at) at from online");
let at = Math.max(newest.get()?.at ?? 0, 0);
while (true) {
  at++;
  store.put("main", {
    rows: [],
    values: Array.from({ length: 40 }, (_, index) => {
      const key = `i:${index % 10}`;
      const featureId = Math.floor(index / 10) + 1;
      return {
        namespace: "user",
        key,
        featureId,
        value: { key, fid: featureId, at },
        observedAt: at,
        resolver: "m.f",
      };
    }),
  });
  const written = newest.get()?.at ?? 0;
  if (at % 10 === 0) console.log(written);
  await Bun.sleep(1);
}
