import { join } from "node:path";
import { createSqliteMetadataStore } from "../../../../src/server/stores/metadata/sqlite.ts";
import { openOutbox } from "../../../../src/server/stores/metadata/sqlite-outbox.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import type { QueueOwner } from "./jobs.conformance.ts";

/** The drivers of queues that are stores of their own. */
export const QUEUE_DRIVERS: readonly Driver<QueueOwner>[] = [
  {
    name: "SQLite, outbox",
    open(folder, options) {
      const jobs = openOutbox({ path: join(folder, "meta.outbox.db"), programVersion: "1.0.0" }, options?.now ?? Date.now);
      return { jobs, close: async () => jobs.close() };
    },
  },
];

/** The drivers of the metadata store. */
export const METADATA_DRIVERS: readonly Driver<MetadataStore>[] = [
  {
    name: "SQLite",
    open: (folder, options) => createSqliteMetadataStore({ ...options, path: join(folder, "meta.db"), programVersion: "1.0.0" }),
  },
];
