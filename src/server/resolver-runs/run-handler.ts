/**
 * The work of a run: the rows in parts of bounded size, each stored before it counts. An attempt
 * goes on after the last part of the one before; a part that was cut off is stored again with the
 * same time, that of the run.
 */

import { IncrementalBasis, IncrementalMode } from "../../../gen/svc/v1/graph_pb.ts";
import { errorText } from "../../domain/error-text.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { SPAN_ATTRIBUTES as ATTRIBUTE } from "../../domain/span-attributes.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { Failure } from "../failure.ts";
import { type Attempt, JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { ScheduledRun } from "../jobs/scheduler.ts";
import type { OnlineEngine } from "../query/create-engine.ts";
import { createJobTracer } from "../query/job-tracer.ts";
import type { LiveDeployment } from "../query/live-deployment.ts";
import type { Tracing } from "../query/query-context.ts";
import { QueryRefused } from "../query/refusal.ts";
import { type ComputedRows, type KnownRows, MAX_RUN_ROWS, PART_ROWS, type ResolverRun } from "../query/resolver-run.ts";
import { CallFailed } from "../query/run/outcome.ts";
import type { IncrementalKey, IncrementalStep } from "../stores/metadata/incremental.ts";
import type { JobRecord } from "../stores/metadata/jobs.ts";
import type { IncrementalSpan, NewResolverRun, ResolverRunRecord } from "../stores/metadata/resolver-runs.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import { primaryKeyOf } from "../stores/online/store.ts";
import { stored } from "../writes/stored.ts";
import type { ResolverRunsOptions } from "./resolver-runs.ts";

/** Most characters of an error that are kept. */
const MAX_ERROR = 2_000;
/** The beginning of the year 2, which every database knows, in microseconds since 1970. */
const EARLIEST = Date.parse("0002-01-01T00:00:00Z") * 1_000;

/** The payload of a schedule's jobs. */
export interface ScheduledResolver {
  readonly environmentId: string;
  /** FQN. */
  readonly resolver: string;
}

/** The payload of the job of a run that was asked for. */
export interface AskedRun {
  readonly environmentId: string;
  /** Of the caller that asked for a trace; absent = it did not. */
  readonly traceparent?: string;
}

/** Makes the handler. */
export function createRunHandler(options: ResolverRunsOptions & { readonly engine: OnlineEngine }): JobHandler {
  const { metadata, deployments, engine, log } = options;
  const tracer = createJobTracer(options.tracing, options.clock);

  /**
   * The run of a job, as it is to be stored if it is not; undefined when nothing is to run any
   * more.
   */
  const runOf = async ({ id, payload }: JobRecord): Promise<NewResolverRun | undefined> => {
    const known = await metadata.resolverRuns.run(id);
    if (known) return known;
    const { environmentId, resolver } = (payload as ScheduledRun).payload as ScheduledResolver;
    const environment = await metadata.environment(environmentId);
    const live = environment && environment.suspendedAt === undefined ? deployments.live(environmentId, "") : undefined;
    const found = live === undefined ? undefined : (await deployments.graph(live)).resolvers.find(({ fqn }) => fqn === resolver);
    if (!found || found.schedule === "") return undefined;
    const everywhere = { persistOnline: true, persistOffline: true, lowerBound: null, upperBound: null };
    const request = { resolver, deploymentId: "", ...everywhere };
    return { id, environmentId, cause: "schedule", request, idempotencyKey: undefined };
  };

  const environmentOf = async ({ environmentId }: NewResolverRun) => {
    const environment = await metadata.environment(environmentId);
    if (!environment) throw new JobFailed("its environment was deleted");
    if (environment.suspendedAt !== undefined) throw new JobFailed(`environment '${environment.name}' is suspended`);
    return environment;
  };

  /**
   * What an incremental run goes on from; undefined = it reads everything, as one does that was
   * asked for in a deployment of its own or without storing all.
   */
  const continuation = async (run: ResolverRunRecord): Promise<Omit<IncrementalSpan, "until"> | undefined> => {
    const { environmentId, deploymentId, request, incremental } = run;
    if (incremental) return incremental;
    if (request.deploymentId !== "" || !request.persistOnline || !request.persistOffline) return undefined;
    const { resolvers } = await deployments.graph(deploymentId);
    const body = resolvers.find(({ fqn }) => fqn === request.resolver)?.body;
    const settings = body?.case === "sql" ? body.value.incremental : undefined;
    if (!settings) return undefined;
    const progress = await metadata.incremental.progress(progressKey(environmentId, request.resolver));
    const basis = settings.basis === IncrementalBasis.LAST_EXECUTION ? progress.lastExecution : progress.maxIngested;
    const lookback = settings.lookback ? durationToMs(settings.lookback) * 1_000 : 0;
    return { since: basis === undefined ? null : Math.max(basis - lookback, EARLIEST), revision: progress.revision };
  };

  /** Computes and stores all rows of a run. */
  const compute = async (
    run: ResolverRunRecord,
    job: JobRecord,
    { signal, progress }: Attempt,
    tracing: Tracing | undefined,
  ): Promise<ComputedRows & { readonly span: IncrementalSpan | undefined }> => {
    const { request, createdAt: now } = run;
    const environment = await environmentOf(run);
    const target = { environment, branch: "", deploymentId: run.deploymentId };
    const into = { online: request.persistOnline, offline: request.persistOffline };
    const continued = await continuation(run);
    const since = continued?.since === null ? undefined : continued && BigInt(continued.since);
    const incremental = continued && { since };
    const begin = (deployment: LiveDeployment): ResolverRun =>
      engine.runResolver(deployment, { resolver: request.resolver, now, operation: run.id, tracing, into, signal, incremental });
    const offline = await options.offline();
    let lease = await deployments.acquire(target);
    try {
      let resolverRun = begin(lease.deployment);
      const found = resolverRun.hasOwnRows ? await resolverRun.newKeys() : undefined;
      const all = found?.keys ?? (await resolverRun.sampledKeys?.()) ?? (await historyKeys(resolverRun, run, offline));
      const span = continued && (run.incremental ?? { ...continued, until: untilOf(found?.latest, resolverRun, now) });
      if (span && !run.incremental && !(await metadata.resolverRuns.update(run.id, job.fence, { incremental: span })))
        throw new Error("another node has the run");
      const divided =
        all.length > PART_ROWS ? await resolverRun.divide?.(all, (keys) => knownRows(resolverRun, run, keys, offline)) : undefined;
      const tried = divided || run.position === "" ? 0 : all.indexOf(run.position) + 1;
      const { failedRows: undivided = 0, error: why = "" } = divided ?? {};
      let sum: ComputedRows = tried === 0 ? { rows: undivided, failedRows: undivided, error: why } : run;
      const parts = divided?.parts ?? partsOf(all.slice(tried));
      for (let at = 0; at < parts.length; ) {
        if (!lease.isCurrent()) {
          lease.release();
          lease = await deployments.acquire(target);
          resolverRun = begin(lease.deployment);
        }
        const keys = parts[at] as readonly string[];
        const known = await knownRows(resolverRun, run, keys, offline);
        const { rows, failedRows, error } = await stored(options, async () => {
          const computed = await resolverRun.compute(known, all.length > PART_ROWS);
          signal.throwIfAborted();
          return computed;
        });
        await environmentOf(run);
        // Values of versions that were ended meanwhile were not stored.
        if (!lease.isCurrent()) continue;
        at++;
        const position = divided ? "" : (keys.at(-1) ?? "");
        sum = { rows: sum.rows + rows, failedRows: sum.failedRows + failedRows, error: sum.error || error.slice(0, MAX_ERROR) };
        progress(`${sum.rows} rows`);
        if (!(await metadata.resolverRuns.update(run.id, job.fence, { ...sum, position }))) throw new Error("another node has the run");
      }
      return { rows: sum.rows, failedRows: sum.failedRows, error: sum.error, span };
    } finally {
      lease.release();
    }
  };

  const failed = ({ id, environmentId, deploymentId, request }: ResolverRunRecord, message: string, failedRows: number): void =>
    options.recordError?.({
      ...{ environmentId, deploymentId, branch: "", operationId: id, operationKind: "run", queryName: "" },
      ...{ resolver: request.resolver, message: message.slice(0, MAX_ERROR), failedRows },
    });

  return {
    async run(job, attempt) {
      const wanted = await runOf(job);
      if (!wanted) {
        log.debug("a schedule's run is dropped: the resolver has no schedule any more", { job: job.id });
        return;
      }
      const deploymentId = wanted.request.deploymentId || deployments.live(wanted.environmentId, "");
      const run = await metadata.resolverRuns.begin(wanted, job.fence, job.createdAt, deploymentId ?? "");
      if (!run) return;
      if (run.deploymentId === "") throw new JobFailed("nothing is live in its environment");
      const trace = tracer.begin(run, `run ${run.resolver}`, (job.payload as Partial<AskedRun>).traceparent);
      const { span, ...done } = await compute(run, job, attempt, trace?.tracing).catch((error: unknown) => {
        trace?.end({}, errorText(error));
        throw isFinal(error) ? new JobFailed(error.message) : error;
      });
      trace?.end({ [ATTRIBUTE.rowsOut]: done.rows - done.failedRows, [ATTRIBUTE.rowsFailed]: done.failedRows || undefined }, done.error);
      const state = done.rows > 0 && done.failedRows === done.rows ? "failed" : "succeeded";
      const step = span && done.failedRows === 0 ? stepOf(run, span) : undefined;
      await metadata.resolverRuns.update(run.id, job.fence, { ...done, state }, step);
      if (done.failedRows > 0) failed(run, done.error, done.failedRows);
    },

    async giveUp(job, reason) {
      await metadata.resolverRuns.update(job.id, job.fence, { state: "failed", error: reason.slice(0, MAX_ERROR) });
      const run = await metadata.resolverRuns.run(job.id);
      if (run) failed(run, reason, 0);
    },
  };
}

/** Rows in parts, in their order. */
function partsOf(keys: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(keys.length / PART_ROWS) }, (_, part) => keys.slice(part * PART_ROWS, (part + 1) * PART_ROWS));
}

/** The key of a resolver's progress. */
export function progressKey(environmentId: string, resolver: string): IncrementalKey {
  return { environmentId, kind: "resolver", name: resolver };
}

/** What a run adds to the progress, when no row of it failed: such a row would be lost. */
function stepOf({ environmentId, request, createdAt }: ResolverRunRecord, { until, revision }: IncrementalSpan): IncrementalStep {
  const key = progressKey(environmentId, request.resolver);
  return { key, revision, maxIngested: until ?? undefined, lastExecution: createdAt * 1_000 };
}

/**
 * Up to when a run has read: the latest time that it found, but not later than its own time, so
 * that a time in the future hides nothing. A statement without a time has read up to the run's.
 */
function untilOf(latest: bigint | undefined, { incremental, namespace }: ResolverRun, now: number): number | null {
  const hasTime = incremental?.mode !== IncrementalMode.PARAMETER || namespace.featureTime !== undefined;
  if (latest === undefined) return hasTime ? null : now * 1_000;
  return Math.min(Number(latest), now * 1_000);
}

/** Whether another attempt would fail alike. */
function isFinal(error: unknown): error is Error {
  if (error instanceof QueryRefused || (error instanceof CallFailed && error.exception)) return true;
  return error instanceof Failure && error.kind !== "unavailable";
}

/** The store's keys of the rows of a class that the history knows, in its order. */
async function historyKeys({ namespace }: ResolverRun, { environmentId }: ResolverRunRecord, offline: OfflineStore): Promise<string[]> {
  const keys = await offline.scanKeys(environmentId, namespace.name, {}, MAX_RUN_ROWS + 1);
  if (keys.length > MAX_RUN_ROWS) throw new JobFailed(`the history knows more than ${MAX_RUN_ROWS} rows, the most of one run`);
  return keys;
}

/** Rows with the newest values of inputs and the filter's, without those outside of the bounds. */
async function knownRows(
  { inputs, filterInputs }: ResolverRun,
  { createdAt, request: { lowerBound, upperBound } }: ResolverRunRecord,
  keys: readonly string[],
  offline: OfflineStore,
): Promise<KnownRows> {
  const latest = upperBound === null ? createdAt : Math.min(createdAt, upperBound - 1);
  const features = [...inputs, ...filterInputs];
  const times = keys.map(() => latest);
  const sampled =
    features.length === 0
      ? []
      : await offline.sample(
          { keys, times },
          features.map(({ featureId }) => ({ featureId: featureId as number })),
        );
  const isBounded = lowerBound !== null || upperBound !== null;
  const earliest = lowerBound ?? Number.NEGATIVE_INFINITY;
  const rows = [...keys.keys()].filter(
    (row) => !isBounded || sampled.slice(0, inputs.length).every(({ observedAt }) => (observedAt[row] as number) >= earliest),
  );
  const columns = features.map((input, at) => {
    const { values, observedAt } = sampled[at] as (typeof sampled)[number];
    return [input, rows.map((row) => knownValue(values[row] as FeatureValue, observedAt[row] as number, input.nullable))] as const;
  });
  return { keys: rows.map((row) => primaryKeyOf(keys[row] as string)), inputs: new Map(columns) };
}

/** A value of the history; undefined where nothing was observed, or null where that is no value. */
function knownValue(value: FeatureValue, observedAt: number, isNullable: boolean): FeatureValue | undefined {
  return Number.isNaN(observedAt) || (value === null && !isNullable) ? undefined : value;
}
