/**
 * Scheduled queries: offline queries that run by themselves, as the live deployment says, or when
 * somebody asks. A run is an offline query; of an incremental one a job after it counts what it has
 * read. One runs at a time: a run that is due while the one before goes on is left out.
 */

import type { Graph, ScheduledQuery } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { durationToMs, timestampToMs } from "../../domain/proto-time.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { scheduledQueryNamed } from "../deployments/graph-names.ts";
import { createLiveSchedules, type LiveSchedules } from "../deployments/live-schedules.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import { JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { ScheduledRun } from "../jobs/scheduler.ts";
import type { Log } from "../log.ts";
import type { OfflineQueries } from "../offline-queries/offline-queries.ts";
import { jobIdsOf } from "../offline-queries/query-jobs.ts";
import type { OfflineQueryWish } from "../offline-queries/wish.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { IncrementalKey } from "../stores/metadata/incremental.ts";
import type { OfflineQueryStanding } from "../stores/metadata/offline-queries.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";

/** The kind of the jobs, and of the schedules that make them. */
export const SCHEDULED_QUERY_JOB = "scheduled_query";

/** The services that scheduled queries need. */
export interface ScheduledQueriesOptions {
  readonly metadata: Pick<MetadataStore, "environment" | "environments" | "incremental" | "jobs" | "livePointers" | "schedules">;
  readonly deployments: Deployments;
  readonly queries: () => Promise<Pick<OfflineQueries, "find" | "list" | "start">>;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** The capability. */
export interface ScheduledQueries {
  readonly schedules: LiveSchedules;
  /** The scheduled queries of the environment's live deployment, by name. */
  list(environment: EnvironmentRecord): Promise<readonly ScheduledQuery[]>;
  /** Pauses the schedule of one, or has it run again. Rejects with Failure not_found. */
  pause(environment: EnvironmentRecord, name: string, isPaused: boolean): Promise<void>;
  /**
   * Begins a run now, for a client. Rejects with Failure not_found, failed_precondition while a run
   * goes on, and as `OfflineQueries.start` does.
   * @param resourceGroup empty = that of the query
   */
  trigger(environment: EnvironmentRecord, name: string, agentId: string, resourceGroup: string): Promise<OfflineQueryStanding>;
  /** The handler of SCHEDULED_QUERY_JOB jobs. */
  readonly handler: JobHandler;
}

/** The payload of a schedule's jobs. */
interface ScheduledName {
  readonly environmentId: string;
  readonly name: string;
}

/** Which run begins, and for whom. */
interface Begun {
  readonly id: string;
  /** Empty = the platform itself. */
  readonly agentId: string;
  /** Empty = that of the query. */
  readonly resourceGroup: string;
}

/** The payload of the job after an incremental run. */
interface CountedRun {
  readonly counts: { readonly queryId: string; readonly key: IncrementalKey; readonly revision: number };
}

const MAX_ATTEMPTS = 5;
const ATTEMPT_TIMEOUT_MS = 600_000;

/** Makes the capability; schedules are kept once they are started. */
export function createScheduledQueries(options: ScheduledQueriesOptions): ScheduledQueries {
  const { metadata, deployments, bus, clock, log } = options;

  const liveGraph = async (environment: EnvironmentRecord): Promise<Graph> =>
    deployments.graph(await deployments.resolve({ environment, branch: "", deploymentId: "" }));

  /** The run of a query that has not ended. */
  const openRun = async ({ id: environmentId }: EnvironmentRecord, queryName: string): Promise<OfflineQueryStanding | undefined> => {
    const queries = await options.queries();
    for (const state of ["working", "queued"] as const) {
      const [open] = await queries.list({ environmentId, kind: "scheduled_query", queryName, state, limit: 1 });
      if (open) return open;
    }
    return undefined;
  };

  /** A run by its id; undefined when it was not begun. */
  const known = async (environmentId: string, id: string): Promise<OfflineQueryStanding | undefined> =>
    (await options.queries()).find(id, environmentId).catch((error: unknown) => {
      if (error instanceof Failure && error.kind === "not_found") return undefined;
      throw error;
    });

  /** Begins a run, and enqueues the job that counts what it reads. */
  const begin = async (environment: EnvironmentRecord, graph: Graph, query: ScheduledQuery, begun: Begun) => {
    const key: IncrementalKey = { environmentId: environment.id, kind: "query", name: query.name };
    const progress = query.incrementalResolvers.length > 0 ? await metadata.incremental.progress(key) : undefined;
    const run = await (await options.queries()).start(
      { environment, branch: "", deploymentId: "" },
      wishOf(query, progress?.maxIngested, lookbackOf(graph, query), begun),
    );
    if (progress) await count(run, key, progress.revision);
    return run;
  };

  const count = async (run: OfflineQueryStanding, key: IncrementalKey, revision: number): Promise<void> => {
    const payload: CountedRun = { counts: { queryId: run.id, key, revision } };
    await metadata.jobs.enqueue({
      ...{ id: newId("job", clock.now()), kind: SCHEDULED_QUERY_JOB, payload, name: "count", scope: key.environmentId, subject: run.id },
      idempotencyKey: `count ${run.id}`,
      after: jobIdsOf(run).slice(-1),
      maxAttempts: MAX_ATTEMPTS,
      attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
    });
    bus.publish("jobs");
    noteChange(bus, "runs", key.environmentId);
  };

  /** Has a run counted that began from the progress as it is now; what others set since stays. */
  const countAgain = async (run: OfflineQueryStanding, graph: Graph, query: ScheduledQuery): Promise<void> => {
    if (query.incrementalResolvers.length === 0) return;
    const key: IncrementalKey = { environmentId: run.environmentId, kind: "query", name: query.name };
    const { maxIngested, revision } = await metadata.incremental.progress(key);
    const { rows } = run.request;
    if (rows.from === "keys" && rows.lowerBound === (lowerBoundOf(query, maxIngested, lookbackOf(graph, query)) ?? null))
      await count(run, key, revision);
  };

  /** Counts what a run that is complete has read, unless rows of it failed. */
  const counted = async ({ counts: { queryId, key, revision } }: CountedRun): Promise<void> => {
    const run = await (await options.queries()).find(queryId, key.environmentId);
    if (run.state !== "completed" || run.failedRows > 0) return;
    // Values that the run itself stored have its own time, and are nothing new.
    await metadata.incremental.advance({ key, revision, maxIngested: (run.createdAt + 1) * 1_000, lastExecution: run.createdAt * 1_000 });
  };

  const schedules = createLiveSchedules(
    options,
    SCHEDULED_QUERY_JOB,
    ({ scheduledQueries }) => scheduledQueries.map(({ name, schedule }) => ({ name, text: schedule, environments: [] })),
    (environmentId, name): ScheduledName => ({ environmentId, name }),
  );

  return {
    schedules,

    list: async (environment) => (await liveGraph(environment)).scheduledQueries,

    async pause(environment, name, isPaused) {
      await schedules.setPaused(environment.id, scheduledQueryNamed(await liveGraph(environment), name).name, isPaused);
    },

    async trigger(environment, name, agentId, resourceGroup) {
      const graph = await liveGraph(environment);
      const query = scheduledQueryNamed(graph, name);
      const open = await openRun(environment, query.name);
      if (open)
        throw new Failure("failed_precondition", `A run of '${query.name}' goes on: ${open.id}.`, {
          hint: `It runs once at a time. \`svc offline-queries get ${open.id}\` shows how far it is, and \`svc offline-queries cancel\` ends it.`,
        });
      return begin(environment, graph, query, { id: newId("ofq", clock.now()), agentId, resourceGroup });
    },

    handler: {
      async run({ id, payload }) {
        if (payload !== null && typeof payload === "object" && "counts" in payload) return counted(payload as CountedRun);
        const { environmentId, name } = (payload as ScheduledRun).payload as ScheduledName;
        const environment = await metadata.environment(environmentId);
        if (!environment || environment.suspendedAt !== undefined) return;
        const graph = await liveGraph(environment);
        const query = graph.scheduledQueries.find((one) => one.name === name);
        if (!query) {
          log.debug("a schedule's run is dropped: the scheduled query is gone", { job: id });
          return;
        }
        const runId = runIdOf(id);
        const begun = await known(environmentId, runId);
        if (begun) {
          // An attempt before this one began it, and may have been cut off before the rest.
          await countAgain(begun, graph, query);
          return;
        }
        const open = await openRun(environment, name);
        if (open) {
          log.info("a run of a scheduled query is left out: the one before goes on", { query: name, run: open.id });
          return;
        }
        await begin(environment, graph, query, { id: runId, agentId: "", resourceGroup: "" }).catch((error: unknown) => {
          throw error instanceof Failure && error.kind !== "unavailable" && error.kind !== "resource_exhausted"
            ? new JobFailed(error.message)
            : error;
        });
      },
      giveUp: () => Promise.resolve(),
    },
  };
}

/** The id of the run that a schedule's job begins, in whichever attempt. */
function runIdOf(jobId: string): string {
  return `ofq_${jobId.slice(jobId.indexOf("_") + 1)}`;
}

/**
 * The time, in milliseconds, from which an incremental run reads again what may have come late: the
 * longest lookback of the resolvers that it names.
 */
function lookbackOf({ resolvers }: Graph, { incrementalResolvers }: ScheduledQuery): number {
  const named = resolvers.filter(({ fqn }) => incrementalResolvers.some((name) => fqn === name || fqn.endsWith(`.${name}`)));
  const lookbacks = named.map(({ body }) => (body.case === "sql" ? body.value.incremental?.lookback : undefined));
  return Math.max(0, ...lookbacks.map((lookback) => (lookback ? durationToMs(lookback) : 0)));
}

/** The time, in milliseconds, from which a run reads; undefined = all times. */
function lowerBoundOf(query: ScheduledQuery, maxIngested: number | undefined, lookbackMs: number): number | undefined {
  const lower = query.lowerBound && timestampToMs(query.lowerBound);
  const read = maxIngested === undefined ? undefined : Math.floor(maxIngested / 1_000) - lookbackMs;
  const bounds = [lower, read].filter((time) => time !== undefined);
  return bounds.length > 0 ? Math.max(...bounds) : undefined;
}

/** The offline query of a run. */
function wishOf(query: ScheduledQuery, maxIngested: number | undefined, lookbackMs: number, begun: Begun): OfflineQueryWish {
  const resourceGroup = begun.resourceGroup || query.resourceGroup;
  return {
    id: begun.id,
    rows: {
      from: "keys",
      lowerBound: lowerBoundOf(query, maxIngested, lookbackMs),
      upperBound: query.upperBound && timestampToMs(query.upperBound),
      maxSamples: Number(query.maxSamples),
    },
    time: undefined,
    outputs: query.outputs,
    requiredOutputs: [],
    recompute: query.recompute ? "all" : query.recomputeFeatures,
    ...{ asKnown: false, includeObservedAt: false, numShards: 1, sampleFraction: 0, testFraction: 0, splitBy: "key" },
    ...{ storeOnline: query.storeOnline, storeOffline: query.storeOffline, tags: query.tags, plannerOptions: {} },
    ...(resourceGroup !== "" && { resourceGroup }),
    ...{ deploymentId: "", kind: "scheduled_query", agentId: begun.agentId, queryName: query.name, queryNameVersion: "", datasetName: "" },
  };
}
