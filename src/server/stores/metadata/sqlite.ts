/** The metadata store in one SQLite file: WAL, synchronous=FULL, writes that come together share a commit. */

import { openDatabase } from "../sqlite/open.ts";
import { createWriter } from "../sqlite/group-commit.ts";
import { METADATA_APPLICATION_ID, METADATA_MIGRATIONS } from "./schema.ts";
import { deploymentQueries } from "./sqlite-deployments.ts";
import { graphQueries } from "./sqlite-graph.ts";
import { identityQueries } from "./sqlite-identity.ts";
import type { MetadataStore } from "./store.ts";

/**
 * Opens or creates the store.
 * @param options.path absolute path of `meta.db`, or `:memory:`
 * @throws StartError when the file cannot be used
 */
export function createSqliteMetadataStore(options: { readonly path: string; readonly programVersion: string }): MetadataStore {
  const db = openDatabase({
    path: options.path,
    applicationId: METADATA_APPLICATION_ID,
    migrations: METADATA_MIGRATIONS,
    synchronous: "full",
    programVersion: options.programVersion,
  });
  const writer = createWriter(db);
  return {
    ...identityQueries(db, writer),
    ...deploymentQueries(db, writer),
    ...graphQueries(db, writer),
    async probe() {
      const token = Date.now();
      await writer.write(() => db.query("insert into probe (id, at) values (1, ?1) on conflict (id) do update set at = ?1").run(token));
      const row = db.query<{ at: number }, []>("select at from probe where id = 1").get();
      if (row?.at !== token) throw new Error("a row that was written could not be read back");
    },
    async close() {
      writer.flush();
      db.close();
    },
  };
}
