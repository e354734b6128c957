/**
 * Puts values into the online store at argv[2], says so once they are flushed, and waits to be
 * killed.
 */

import { openSqliteOnlineStore } from "../../../../src/server/stores/online/sqlite.ts";

const store = openSqliteOnlineStore(process.argv[2] ?? "");
store.put("main", {
  values: Array.from({ length: 1_000 }, (_, key) => ({
    namespace: "user",
    key: `i:${key}`,
    featureId: 1,
    value: key,
    observedAt: 1,
    resolver: "m.f",
  })),
  rows: [],
});
await store.flush();
console.log("flushed");
setInterval(() => undefined, 1_000);
