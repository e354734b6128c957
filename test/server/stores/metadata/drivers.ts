import { join } from "node:path";
import { createSqliteMetadataStore } from "../../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";

/** The drivers of the metadata store. */
export const METADATA_DRIVERS: readonly Driver<MetadataStore>[] = [
  {
    name: "SQLite",
    open: (folder, options) => createSqliteMetadataStore({ ...options, path: join(folder, "meta.db"), programVersion: "1.0.0" }),
  },
];
