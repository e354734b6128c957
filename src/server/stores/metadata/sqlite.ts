/** The metadata store in one SQLite file: WAL, synchronous=FULL, writes that come together share a commit. */

import { createWriter } from "../sqlite/group-commit.ts";
import { openDatabase } from "../sqlite/open.ts";
import { METADATA_APPLICATION_ID, METADATA_MIGRATIONS } from "./schema.ts";
import { browserSessionQueries } from "./sqlite-browser-sessions.ts";
import type { DeploymentMethods } from "./sqlite-deployments.ts";
import { expiryQueries } from "./sqlite-expiry.ts";
import { graphQueries } from "./sqlite-graph.ts";
import { identityQueries } from "./sqlite-identity.ts";
import { jobQueries } from "./sqlite-jobs.ts";
import { nodeQueries } from "./sqlite-nodes.ts";
import { progressQueries } from "./sqlite-progress.ts";
import { scheduleQueries } from "./sqlite-schedules.ts";
import type { MetadataStore } from "./store.ts";

/**
 * Opens or creates the store. What has to do with deployments needs the contract's messages and is loaded on first use: a server answers before that.
 * @param options.path absolute path of `meta.db`, or `:memory:`
 * @throws StartError when the file cannot be used
 */
export function createSqliteMetadataStore(options: {
  readonly path: string;
  readonly programVersion: string;
  /** The store's clock, epoch milliseconds; default: the system's. */
  readonly now?: () => number;
}): MetadataStore {
  const db = openDatabase({
    path: options.path,
    applicationId: METADATA_APPLICATION_ID,
    migrations: METADATA_MIGRATIONS,
    synchronous: "full",
    programVersion: options.programVersion,
  });
  const writer = createWriter(db);
  const now = options.now ?? Date.now;
  const { jobs, insertJob } = jobQueries(db, writer, now);
  let loading: Promise<DeploymentMethods> | undefined;
  const deployments = (): Promise<DeploymentMethods> => {
    loading ??= import("./sqlite-deployments.ts").then(({ deploymentQueries }) => deploymentQueries(db, writer, insertJob));
    return loading;
  };
  return {
    ...identityQueries(db, writer),
    ...browserSessionQueries(db, writer),
    createDeployment: async (deployment, build) => (await deployments()).createDeployment(deployment, build),
    deployment: async (id) => (await deployments()).deployment(id),
    deployments: async (filter) => (await deployments()).deployments(filter),
    unfinishedDeployments: async () => (await deployments()).unfinishedDeployments(),
    updateDeployment: async (id, patch, at) => (await deployments()).updateDeployment(id, patch, at),
    promote: async (id, at) => (await deployments()).promote(id, at),
    livePointers: async () => (await deployments()).livePointers(),
    branches: async (environmentId) => (await deployments()).branches(environmentId),
    ...graphQueries(db, writer),
    jobs,
    nodes: nodeQueries(db, writer, now),
    progress: progressQueries(db, writer, now),
    schedules: scheduleQueries(db, writer, now, insertJob),
    ...expiryQueries(db, writer, now),
    async probe() {
      const token = Date.now();
      await writer.write(() => db.query("insert into probe (id, at) values (1, ?1) on conflict (id) do update set at = ?1").run(token));
      const row = db.query<{ at: number }, []>("select at from probe where id = 1").get();
      if (!row || row.at < token) throw new Error("a row that was written could not be read back");
    },
    async close() {
      writer.flush();
      db.close();
    },
  };
}
