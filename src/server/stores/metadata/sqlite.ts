/**
 * The metadata store in one SQLite file: WAL, synchronous=FULL, concurrent writes share a commit.
 */

import { once } from "../../../domain/once.ts";
import { createWriter } from "../sqlite/group-commit.ts";
import { openDatabase } from "../sqlite/open.ts";
import type { ApprovalStore } from "./approvals.ts";
import type { DeploymentStore } from "./deployments.ts";
import { METADATA_APPLICATION_ID, METADATA_MIGRATIONS } from "./schema.ts";
import { sqliteAudit } from "./sqlite-audit.ts";
import { datasetQueries } from "./sqlite-datasets.ts";
import { insertsDeletion, sqliteDeletions } from "./sqlite-deletions.ts";
import { sqliteDocuments } from "./sqlite-documents.ts";
import { sqliteEvaluations } from "./sqlite-evaluations.ts";
import { sqliteExpiry } from "./sqlite-expiry.ts";
import { sqliteFunctionCalls } from "./sqlite-function-calls.ts";
import { sqliteFunctions } from "./sqlite-functions.ts";
import { sqliteGraphs } from "./sqlite-graphs.ts";
import { sqliteIdentity } from "./sqlite-identity.ts";
import { sqliteImageBuilds } from "./sqlite-image-builds.ts";
import { incrementalQueries } from "./sqlite-incremental.ts";
import { jobQueries } from "./sqlite-jobs.ts";
import { sqliteMonitors } from "./sqlite-monitors.ts";
import { nodeQueries } from "./sqlite-nodes.ts";
import { sqliteNotebooks } from "./sqlite-notebooks.ts";
import { offlineQueryQueries } from "./sqlite-offline-queries.ts";
import { outboxPlace } from "./sqlite-outbox.ts";
import { processQueries } from "./sqlite-processes.ts";
import { progressQueries } from "./sqlite-progress.ts";
import { sqliteProjects } from "./sqlite-projects.ts";
import { resolverRunQueries } from "./sqlite-resolver-runs.ts";
import { scheduleQueries } from "./sqlite-schedules.ts";
import { sqliteSeries } from "./sqlite-series.ts";
import { sqliteSessions } from "./sqlite-sessions.ts";
import { sqliteStreams } from "./sqlite-streams.ts";
import { taskQueries } from "./sqlite-tasks.ts";
import { sqliteUploads } from "./sqlite-uploads.ts";
import { usageQueries } from "./sqlite-usage.ts";
import { sqliteValueUploads } from "./sqlite-value-uploads.ts";
import { sqliteVersions } from "./sqlite-versions.ts";
import { workflowQueries } from "./sqlite-workflows.ts";
import type { MetadataStore } from "./store.ts";

/**
 * Opens or creates the store. The parts for deployments and approvals need the contract's messages
 * and are loaded on first use, so that a server answers sooner.
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
  const insertDeletion = insertsDeletion(db);
  const now = options.now ?? Date.now;
  const { workflows, follower } = workflowQueries(db, writer, now);
  const { jobs, insertJob } = jobQueries(db, writer, now, follower);
  const { incremental, advance } = incrementalQueries(db, writer);
  const { usage, addUse } = usageQueries(db, writer, now);
  return {
    ...sqliteIdentity(db, writer),
    ...sqliteProjects(db, writer, insertJob),
    ...sqliteSessions(db, writer),
    ...sqliteUploads(db, writer),
    ...loadedOnFirstUse(DEPLOYMENT_METHODS, async () => {
      const { sqliteDeployments } = await import("./sqlite-deployments.ts");
      return sqliteDeployments(db, writer, insertJob);
    }),
    ...sqliteGraphs(db, writer),
    ...sqliteVersions(db, writer, insertDeletion),
    approvals: loadedOnFirstUse(APPROVAL_METHODS, async () => {
      const { sqliteApprovals } = await import("./sqlite-approvals.ts");
      return sqliteApprovals(db, writer, insertJob);
    }),
    audit: sqliteAudit(db, writer),
    datasets: datasetQueries(db, writer),
    deletions: sqliteDeletions(db, writer, insertDeletion),
    documents: sqliteDocuments(db, writer),
    functions: sqliteFunctions(db, writer),
    functionCalls: sqliteFunctionCalls(db, writer, now, insertJob),
    imageBuilds: sqliteImageBuilds(db, writer, now),
    incremental,
    jobs,
    offlineQueries: offlineQueryQueries(db, writer, now, insertJob),
    monitors: sqliteMonitors(db, writer),
    outbox: outboxPlace(options),
    nodes: nodeQueries(db, writer, now),
    notebooks: sqliteNotebooks(db, writer, now),
    processes: processQueries(db, writer, addUse),
    progress: progressQueries(db, writer, now),
    resolverRuns: resolverRunQueries(db, writer, now, insertJob, advance),
    series: sqliteSeries(db, writer, now),
    schedules: scheduleQueries(db, writer, now, insertJob),
    streams: sqliteStreams(db, writer, now),
    tasks: taskQueries(db, writer, now, insertJob),
    evaluations: sqliteEvaluations(db, writer, now, insertJob),
    usage,
    workflows,
    valueUploads: sqliteValueUploads(db, writer, now, insertJob),
    ...sqliteExpiry(db, writer, now),
    async bytes() {
      const row = db
        .query<{ bytes: number }, []>(
          `select (page_count - freelist_count) * page_size as bytes from pragma_page_count(), pragma_freelist_count(), pragma_page_size()`,
        )
        .get();
      return row?.bytes ?? 0;
    },
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

const APPROVAL_METHODS: { readonly [Method in keyof ApprovalStore]: true } = {
  create: true,
  get: true,
  ofDeployment: true,
  list: true,
  overdue: true,
  decide: true,
  settle: true,
  sealed: true,
  reseal: true,
  purge: true,
};

const DEPLOYMENT_METHODS: { readonly [Method in keyof DeploymentStore]: true } = {
  createDeployment: true,
  deployment: true,
  deployments: true,
  unfinishedDeployments: true,
  updateDeployment: true,
  holdDeployment: true,
  approveDeployments: true,
  promote: true,
  livePointers: true,
  branches: true,
  deleteDeployments: true,
  isSourceUsed: true,
  bundleOwners: true,
};

/** An object whose asynchronous methods are loaded when one of them is first called. */
function loadedOnFirstUse<Methods extends object>(
  names: { readonly [Name in keyof Methods]: true },
  load: () => Promise<Methods>,
): Methods {
  const loaded = once(load);
  const call = async (name: string, given: readonly unknown[]): Promise<unknown> => {
    const methods = (await loaded()) as Readonly<Record<string, (...given: readonly unknown[]) => unknown>>;
    return methods[name]?.(...given);
  };
  return Object.fromEntries(Object.keys(names).map((name) => [name, (...given: readonly unknown[]) => call(name, given)])) as Methods;
}
