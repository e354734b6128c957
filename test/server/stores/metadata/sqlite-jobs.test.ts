import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { createSqliteMetadataStore } from "../../../../src/server/stores/metadata/sqlite.ts";
import { NEWEST_OF_PLACE, NEXT_KIND, NEXT_OF_GROUP, NEXT_SCOPE } from "../../../../src/server/stores/metadata/sqlite-jobs.ts";
import { TempFolder } from "../../../harness/running-server.ts";

test("a page of the queue is found by searches of indexes alone, which sort nothing", async () => {
  using folder = new TempFolder();
  const path = join(folder.path, "meta.db");
  await createSqliteMetadataStore({ path, programVersion: "1.0.0" }).close();
  using db = new Database(path);
  const plan = (sql: string) =>
    db
      .query<{ detail: string }, []>(`explain query plan ${sql}`)
      .all()
      .map(({ detail }) => detail);
  expect(plan(NEXT_KIND)).toEqual(["SEARCH job USING COVERING INDEX job_by_scope (kind>?)"]);
  expect(plan(NEXT_SCOPE)).toEqual(["SEARCH job USING COVERING INDEX job_by_scope (kind=? AND scope>?)"]);
  expect(plan(NEWEST_OF_PLACE)).toEqual([
    "SEARCH job USING COVERING INDEX job_by_scope (kind=? AND scope=? AND state=? AND seq>? AND seq<?)",
  ]);
  expect(plan(NEXT_OF_GROUP)).toEqual(["SEARCH job USING INDEX job_waiting_in_group (resource_group=?)"]);
});
