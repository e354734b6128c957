/**
 * Offline queries: begun, listed, ended, and begun again. A query is a row and jobs of one
 * workflow: one reads its rows, each shard has one, and the last completes the revision. Nothing of
 * a query that does not complete stays.
 */

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../context/clock.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import { checkDatasetName } from "../datasets/names.ts";
import type { DatasetFile, RevisionMaker } from "../datasets/revisions.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { Protection } from "../deployments/environment-states.ts";
import { namedDeployment } from "../deployments/named-deployment.ts";
import { jobSlots, requireGroup, type Specs } from "../deployments/worker-groups.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { JobHandler } from "../jobs/runner.ts";
import type { Log } from "../log.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import { createEngine } from "../query/create-engine.ts";
import type { JobTracerOptions } from "../query/job-tracer.ts";
import type { SpineRun } from "../query/spine/spine-run.ts";
import type {
  OfflineQueryFilter,
  OfflineQueryRecord,
  OfflineQueryRequest,
  OfflineQueryStanding,
  OfflineRows,
  OfflineRowsFormat,
} from "../stores/metadata/offline-queries.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { MAX_LARGE_OBJECT_BYTES, type ObjectStore } from "../stores/objects/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { JobErrorRecorder } from "../stores/telemetry/store.ts";
import type { TableEngine } from "../tables/engine.ts";
import { TableError } from "../tables/engine.ts";
import type { ValueSinks } from "../writes/value-sinks.ts";
import { createInputs, type Inputs } from "./inputs.ts";
import { createQueryHandler, originOf } from "./query-handler.ts";
import { jobIdsOf, OFFLINE_QUERY_JOB, queryJobs } from "./query-jobs.ts";
import { checkRows, planSpine } from "./spine-plan.ts";
import { columnsSource, encodeInline, fileSource, inlineSource } from "./spine-source.ts";
import { selectSpine } from "./spine-sql.ts";
import { type ChangedQuery, checkWish, type OfflineQueryWish, type WishedRows } from "./wish.ts";

/** Milliseconds that the trial of a statement may take, on tables without rows. */
const TRIAL_MS = 30_000;
/** Most queries of an environment that may wait or run. */
const MAX_OPEN = 1_000;

/** The services that offline queries need. */
export interface OfflineQueriesOptions {
  readonly metadata: Pick<
    MetadataStore,
    "createUpload" | "datasets" | "environment" | "jobs" | "knownFeatures" | "offlineQueries" | "upload"
  >;
  readonly objects: ObjectStore;
  readonly deployments: Deployments;
  readonly protection: Protection;
  readonly specs: Specs;
  /** Workers of a resource group that does not say how many. */
  readonly workers: number;
  readonly online: Pick<OnlineStore, "dropped" | "flush">;
  readonly offline: () => Promise<OfflineStore>;
  readonly sinks: Pick<ValueSinks, "dropped" | "flush">;
  readonly revisions: RevisionMaker;
  readonly tables: () => Promise<TableEngine>;
  /**
   * Folder of this node for files that are being written; what is in it at the start is removed.
   */
  readonly folder: string;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly metrics: MetricRecorder;
  readonly log: Log;
  /** Takes what queries failed with; absent = nobody does. */
  readonly recordError?: JobErrorRecorder | undefined;
  /** Where and how often queries are traced; absent = none is. */
  readonly tracing?: JobTracerOptions | undefined;
}

/** The capability. */
export interface OfflineQueries {
  /**
   * Stores a query and its jobs, durably when this resolves. Rejects with Failure before anything
   * runs: invalid_argument for what is wrong with it, failed_precondition for a deployment that may
   * not run it, resource_exhausted when too many wait.
   * @param traceparent of the caller that asks for a trace
   */
  start(target: DeploymentTarget, wish: OfflineQueryWish, traceparent?: string): Promise<OfflineQueryStanding>;
  /** A query of an environment. Rejects with Failure not_found. */
  find(id: string, environmentId: string): Promise<OfflineQueryStanding>;
  /** Selected queries, newest first. */
  list(filter: OfflineQueryFilter): Promise<OfflineQueryStanding[]>;
  /** The files of a completed query. Rejects with Failure not_found or failed_precondition. */
  files(id: string, environmentId: string): Promise<readonly DatasetFile[]>;
  /**
   * The table of a completed query as one object, which is removed a day later. Rejects with
   * Failure as `files` does.
   */
  export(id: string, environmentId: string, format: OfflineRowsFormat): Promise<ExportedTable>;
  /**
   * Ends a query, of which nothing stays. Rejects with Failure not_found, and failed_precondition
   * when it has ended.
   */
  cancel(id: string, environmentId: string): Promise<OfflineQueryStanding>;
  /**
   * Begins the request of an ended query again, for a client. Rejects as `start` does, and with
   * Failure not_found when the file of its rows is gone.
   * @param changes all that is asked for beside the rows, or the resource group alone; undefined =
   * as it was
   */
  retry(
    id: string,
    target: DeploymentTarget,
    agentId: string,
    changes?: ChangedQuery | { readonly resourceGroup: string },
  ): Promise<OfflineQueryStanding>;
  /** Files with rows that callers put. */
  readonly inputs: Inputs;
  /** Removes what ended queries left, old ones and files that no query needs. */
  upkeep(signal: AbortSignal): Promise<void>;
  /** The handler of OFFLINE_QUERY_JOB jobs. */
  readonly handler: JobHandler;
}

/** Makes the capability. */
export function createOfflineQueries(options: OfflineQueriesOptions): OfflineQueries {
  const { metadata, objects, deployments, revisions, metrics, bus, clock, log, folder } = options;
  const { offlineQueries: store } = metadata;
  const engine = createEngine({ clock, log, metering: { metrics, operation: "offline" } });
  const inputs = createInputs(options);

  /** Runs with a folder of its own, which is removed afterwards. */
  const inFolder = async <T>(run: (path: string) => Promise<T>): Promise<T> => {
    const path = join(folder, crypto.randomUUID());
    await mkdir(path, { recursive: true, mode: 0o700 });
    try {
      return await run(path);
    } finally {
      await rm(path, { recursive: true, force: true });
    }
  };

  /** Id of the deployment that is named, or of the live one. */
  const deploymentOf = async ({ environment, branch }: DeploymentTarget, named: string): Promise<string> => {
    if (named === "") return deployments.resolve({ environment, branch, deploymentId: "" });
    return namedDeployment(options, { environment, branch }, named, "queries");
  };

  /** Plans a query as its jobs will. Throws Failure for what is wrong with it. */
  const planned = async (target: DeploymentTarget, request: PlannedRequest, names: readonly string[]): Promise<SpineRun> => {
    const lease = await deployments.acquire(target);
    try {
      const run = planSpine(engine, lease.deployment, request, names);
      if (request.storeOffline && lease.deployment.sink === undefined)
        throw new Failure("invalid_argument", "A branch has no history of its own, so its values are not stored offline.", {
          hint: "Leave `--store-offline` out.",
        });
      return run;
    } finally {
      lease.release();
    }
  };

  /** Plans a query over rows that are kept, which are checked as far as they are there. */
  const planOver = async (target: DeploymentTarget, wish: OfflineQueryWish, rows: OfflineRows): Promise<SpineRun> => {
    const request = { ...wish, rows };
    const hasTime = wish.time !== undefined;
    switch (rows.from) {
      case "inline": {
        const source = inlineSource(await inputs.read(rows.key));
        const run = await planned(target, request, source.names);
        await checkRows(run, source);
        return run;
      }
      case "file":
        return inFolder(async (path) => {
          const local = join(path, "rows");
          await inputs.fetch(rows, local);
          const source = await fileSource(await options.tables(), local, { ...rows, hasTime }).catch(tableFailure);
          const run = await planned(target, request, source.names);
          await checkRows(run, source).catch(tableFailure);
          return run;
        });
      case "sql":
        return inFolder(async (folder) => {
          const tables = await options.tables();
          const lease = await deployments.acquire(target);
          try {
            const namespaces = engine.classesOf(lease.deployment);
            const tried = { ...options, tables, environmentId: target.environment.id, namespaces, folder };
            const selected = await selectSpine(rows.statement, { ...tried, signal: AbortSignal.timeout(TRIAL_MS) }, true);
            const source = await fileSource(tables, selected, { format: "parquet", timeColumn: rows.timeColumn, hasTime });
            return planned(target, request, source.names);
          } finally {
            lease.release();
          }
        });
      case "keys":
        return planned(target, request, []);
    }
  };

  /** Checks the rows as far as they are there, and keeps those that came with the call. */
  const settleRows = async (
    target: DeploymentTarget,
    wish: OfflineQueryWish,
  ): Promise<{ rows: OfflineRows; outputs: readonly string[] }> => {
    const environmentId = target.environment.id;
    const { rows } = wish;
    if (rows.from === "inline") {
      const source = columnsSource(rows.columns, rows.times);
      const run = await planned(target, { ...wish, rows }, source.names);
      await checkRows(run, source);
      const key = inputs.keyOf(environmentId, newId("row", clock.now()));
      const bytes = encodeInline(rows.columns, rows.times);
      await objects.put(key, once(bytes), { size: bytes.length });
      return { rows: { from: "inline", key }, outputs: pathsOf(run) };
    }
    const kept = await keptRows(environmentId, rows);
    return { rows: kept, outputs: pathsOf(await planOver(target, wish, kept)) };
  };

  /** Rows as they are kept with a query. */
  const keptRows = async (environmentId: string, rows: Exclude<WishedRows, { readonly from: "inline" }>): Promise<OfflineRows> => {
    switch (rows.from) {
      case "file": {
        const { uploadId, format, timeColumn } = rows;
        return { from: "file", ...(await inputs.upload(environmentId, uploadId)), format, timeColumn };
      }
      case "sql":
        return rows;
      case "keys":
        return { ...rows, lowerBound: rows.lowerBound ?? null, upperBound: rows.upperBound ?? null };
      case "kept":
        return rows.rows;
    }
  };

  /** Stores a query that was checked. */
  const keep = async (query: Parameters<typeof store.create>[0], traceparent?: string): Promise<OfflineQueryStanding> => {
    const { environmentId, request } = query;
    const { resourceGroup } = request;
    const grouped = { kind: OFFLINE_QUERY_JOB, environmentId, usual: options.workers };
    const group = resourceGroup === undefined ? undefined : jobSlots(await options.specs(environmentId), resourceGroup, grouped);
    const made = await store.create(query, queryJobs(query, clock.now(), { traceparent, group }), MAX_OPEN);
    if (made === "full")
      throw new Failure("resource_exhausted", `${MAX_OPEN} offline queries wait or run in this environment, which is as many as may.`, {
        hint: "Begin it again when some have ended; `svc offline-query list` shows them.",
      });
    bus.publish("jobs");
    noteChange(bus, "runs", query.environmentId);
    return made;
  };

  /** Removes what a query left that ended without a revision. */
  const tidy = async (query: OfflineQueryRecord): Promise<void> => {
    const revisionId = query.revisionId || (await revisions.begun(originOf(query)));
    if (revisionId) await revisions.abandon(revisionId);
    await store.tidied(query.id);
  };

  const find = async (id: string, environmentId: string): Promise<OfflineQueryStanding> => {
    const found = await store.query(id);
    if (found?.environmentId === environmentId) return found;
    throw new Failure("not_found", `There is no offline query '${id.slice(0, 50)}' in this environment.`, {
      hint: "`svc offline-query list` shows those that there are.",
    });
  };

  const begin = async (
    target: DeploymentTarget,
    wish: OfflineQueryWish,
    retryOf: string,
    traceparent?: string,
  ): Promise<OfflineQueryStanding> => {
    checkWish(wish);
    if (wish.resourceGroup !== undefined) requireGroup(await options.specs(target.environment.id), wish.resourceGroup);
    if (wish.datasetName !== "") checkDatasetName(wish.datasetName);
    const deploymentId = await deploymentOf(target, wish.deploymentId);
    const { rows, outputs } = await settleRows({ ...target, deploymentId }, wish);
    const query = {
      id: wish.id ?? newId("ofq", clock.now()),
      environmentId: target.environment.id,
      branch: target.branch,
      deploymentId,
      ...{ kind: wish.kind, agentId: wish.agentId, queryName: wish.queryName, queryNameVersion: wish.queryNameVersion },
      ...{ datasetName: wish.datasetName, outputs, request: requestOf(wish, rows), retryOf },
    };
    return keep(query, traceparent);
  };

  const queries: OfflineQueries = {
    start: (target, wish, traceparent) => begin(target, wish, "", traceparent),
    find,
    list: (filter) => store.list(filter),

    async files(id, environmentId) {
      const query = await find(id, environmentId);
      if (query.state !== "completed")
        throw new Failure("failed_precondition", `Offline query ${id} is ${query.state}, so it has no files.`, {
          hint: `\`svc offline-query get ${id}\` shows how far it is.`,
        });
      return revisions.files(query.revisionId);
    },

    async export(id, environmentId, format) {
      const files = (await queries.files(id, environmentId)).filter(({ kind }) => kind === "output").sort(byName);
      const rows = files.reduce((sum, file) => sum + file.rows, 0);
      const [only] = files;
      if (only && files.length === 1 && format === "parquet") return only;
      return inFolder(async (path) => {
        const parts: string[] = [];
        for (const [part, file] of files.entries()) {
          parts.push(join(path, `${part}.parquet`));
          await revisions.fetch(file, parts[part] as string);
        }
        const target = join(path, `table.${format}`);
        await (await options.tables()).convert(parts, target, format);
        const key = inputs.keyOf(environmentId, newId("exp", clock.now()));
        const put = await objects.put(key, Bun.file(target).stream(), { most: MAX_LARGE_OBJECT_BYTES });
        if (!put) throw new Error("an export took the place of another");
        return { name: `${id}.${format}`, kind: "output", key, rows, bytes: put.size, sha256: put.sha256 };
      });
    },

    async cancel(id, environmentId) {
      const query = await find(id, environmentId);
      if (!(await store.end(id, "canceled")))
        throw new Failure("failed_precondition", `Offline query ${id} has ended: it is ${(await find(id, environmentId)).state}.`);
      for (const job of jobIdsOf(query)) {
        await metadata.jobs.cancel(job);
        bus.publish("jobs", job);
      }
      noteChange(bus, "runs", environmentId);
      const ended = await find(id, environmentId);
      await tidy(ended).catch((error: unknown) => {
        log.warning("what a cancelled query left could not be removed yet", { query: id, error: String(error) });
      });
      return ended;
    },

    async retry(id, { environment, branch }, agentId, changes) {
      const query = await find(id, environment.id);
      if (query.endedAt === undefined)
        throw new Failure("failed_precondition", `Offline query ${id} has not ended: it is ${query.state}.`, {
          hint: `\`svc offline-query cancel ${id}\` ends it.`,
        });
      const { request } = query;
      if ("key" in request.rows && (await objects.size(request.rows.key)) === undefined)
        throw new Failure("not_found", `The rows of offline query ${id} were removed.`, { hint: "Begin a new query with them." });
      const target = { environment, branch: query.branch || branch, deploymentId: "" };
      const { queryName, queryNameVersion, datasetName, outputs } = query;
      if (changes && "outputs" in changes) {
        const { keys, ...options } = changes;
        if (keys && request.rows.from !== "keys")
          throw new Failure("invalid_argument", `The rows of offline query ${id} were given, so no keys are chosen for it.`);
        const rows: WishedRows = keys ? { from: "keys", ...keys } : { from: "kept", rows: request.rows };
        const { plannerOptions, time: given } = request;
        const time = given === "" ? undefined : BigInt(given);
        return begin(target, { ...options, rows, time, plannerOptions, kind: "manual", agentId, queryName, queryNameVersion }, id);
      }
      const deploymentId = await deploymentOf(target, request.deployment);
      return keep({
        ...{ id: newId("ofq", clock.now()), environmentId: environment.id, branch: target.branch, deploymentId, kind: "manual" },
        ...{ queryName, queryNameVersion, agentId, datasetName, outputs, request: { ...request, ...changes }, retryOf: id },
      });
    },

    inputs,

    async upkeep(signal) {
      for (const query of await store.untidy(TIDIED)) {
        signal.throwIfAborted();
        await tidy(query);
      }
      while ((await store.purge(KEPT_MS, TIDIED)) === TIDIED) signal.throwIfAborted();
      await inputs.sweep(signal);
    },

    handler: createQueryHandler({ ...options, engine, inputs, inFolder, tidy }),
  };
  return queries;
}

/** The table of a query as one object. */
export type ExportedTable = Pick<DatasetFile, "name" | "kind" | "key" | "rows" | "bytes" | "sha256">;

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/** Milliseconds that queries are kept after their end. */
const KEPT_MS = 90 * 86_400_000;
/** Most queries that are tidied or removed in one step. */
const TIDIED = 1_000;

/** What a plan takes of a wish or of a request. */
type PlannedRequest = Parameters<typeof planSpine>[2] & Pick<OfflineQueryRequest, "storeOffline">;

function requestOf(wish: OfflineQueryWish, rows: OfflineRows): OfflineQueryRequest {
  return {
    rows,
    time: wish.time === undefined ? "" : String(wish.time),
    ...{ outputs: wish.outputs, requiredOutputs: wish.requiredOutputs, recompute: wish.recompute },
    ...{ asKnown: wish.asKnown, includeObservedAt: wish.includeObservedAt, numShards: wish.numShards },
    ...{ storeOnline: wish.storeOnline, storeOffline: wish.storeOffline, tags: wish.tags },
    ...{ sampleFraction: wish.sampleFraction, testFraction: wish.testFraction, splitBy: wish.splitBy },
    ...{ plannerOptions: wish.plannerOptions, deployment: wish.deploymentId },
    ...(wish.resourceGroup !== undefined && { resourceGroup: wish.resourceGroup }),
  };
}

function pathsOf({ outputs }: SpineRun): readonly string[] {
  return outputs.map(({ path }) => path);
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** Throws what the table engine said as a failure of the caller's file. */
function tableFailure(error: unknown): never {
  if (!(error instanceof TableError)) throw error;
  if (error.code === "failed") throw error;
  if (error.code === "damaged")
    throw new Failure(
      "invalid_argument",
      "The file with the rows cannot be read: it is cut, damaged, or not of the format that was said.",
      {
        hint: "Write it again; nothing was begun.",
      },
    );
  throw new Failure(error.code === "unavailable" ? "failed_precondition" : "invalid_argument", error.message);
}
