/**
 * Kept aggregates of environments: which series there are, their backfills, asked for or by
 * schedule, and the removal of tiles that nothing reads any more.
 */

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { didYouMean } from "../../domain/closest.ts";
import { DAY_MS } from "../../domain/day.ts";
import { errorText } from "../../domain/error-text.ts";
import { bucketOf, bucketStart, groupKey } from "../../domain/expressions/tile-series.ts";
import { GraphIndex } from "../../domain/graph-index.ts";
import { type SeriesUse, seriesOf } from "../../domain/kept-series.ts";
import { readableName } from "../../domain/name.ts";
import { once } from "../../domain/once.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { RevisionMaker } from "../datasets/revisions.ts";
import type { DeletedValues } from "../deletions/deleted-values.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { suspended } from "../deployments/environment-states.ts";
import { createLiveSchedules, type LiveSchedule, type LiveSchedules, type LiveSchedulesOptions } from "../deployments/live-schedules.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import { type Attempt, JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { ScheduledRun } from "../jobs/scheduler.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import type { ClassRows, ClassTable, TimeSpan } from "../query/class-rows.ts";
import { createEngine } from "../query/create-engine.ts";
import { type LiveDeployment, QueryRefused } from "../query/live-deployment.ts";
import type { DeletedRows } from "../stores/metadata/deletions.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { JobState } from "../stores/metadata/jobs.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import { type OnlineStore, storeKey } from "../stores/online/store.ts";
import type { SeriesMeasures, TileStore } from "../stores/tiles/store.ts";
import type { TableEngine } from "../tables/engine.ts";
import { type Filled, filledOf, filledRead, filledTile, marksRead } from "../tiles/coverage.ts";
import { identifySeries } from "../tiles/series-ids.ts";
import { createSeriesReader } from "../tiles/series-rows.ts";
import { backfill, ENDLESS_MICROS, endFilling, spanOf } from "./backfill.ts";
import { erasedRows, erasureOf, keyName } from "./erased-rows.ts";
import { createPublication, publicationOrigin, publishedDataset } from "./publication.ts";
import { selectedRows } from "./selected-rows.ts";
import { createTurns } from "./turns.ts";

/** The kind of the jobs, and of the schedules that make them. */
export const BACKFILL_JOB = "aggregate_backfill";

/** Scope of the tiles of live deployments. */
const SCOPE = "main";
const MAX_ATTEMPTS = 5;
const ATTEMPT_TIMEOUT_MS = 12 * 3_600_000;
const ENDED: ReadonlySet<JobState> = new Set(["succeeded", "failed", "cancelled"]);
/** Milliseconds that a series is kept after its last use: a deployment may come back. */
const UNUSED_KEPT_MS = DAY_MS;

/** The services that kept aggregates need. */
export interface AggregatesOptions extends LiveSchedulesOptions {
  readonly metadata: Pick<
    MetadataStore,
    "datasets" | "environment" | "environments" | "jobs" | "knownFeatures" | "livePointers" | "schedules" | "series" | "streams"
  >;
  readonly deployments: Deployments;
  readonly tiles: () => Promise<TileStore>;
  readonly online: Pick<OnlineStore, "read">;
  readonly deleted: Pick<DeletedValues, "rowsOf">;
  readonly offline: () => Promise<OfflineStore>;
  readonly revisions: RevisionMaker;
  readonly tables: () => Promise<TableEngine>;
  /** Names of an environment's resource groups. */
  readonly resourceGroups: (environmentId: string) => Promise<readonly string[]>;
  /** Folder of this node for files that are being written. */
  readonly folder: string;
  readonly metrics: MetricRecorder;
  readonly clock: Clock;
}

/** What is to be backfilled. */
export interface BackfillWish {
  /** FQN, with or without a window, or a namespace. */
  readonly feature: string;
  /** Microseconds since 1970. */
  readonly lower: bigint | undefined;
  readonly upper: bigint | undefined;
  /** Name of a resolver; empty = that of the definition. */
  readonly resolver: string;
  /** Tags for choosing the resolver; empty = those of resolvers do not matter. */
  readonly tags: readonly string[];
  /** Statement that gives the rows; empty = a resolver does. */
  readonly inputSql: string;
  /** Whether no tiles are stored for queries. */
  readonly computeOnly: boolean;
  /** Whether tiles are published in datasets. */
  readonly storeOffline: boolean;
  /** Whether published groups have tiles of buckets without rows. */
  readonly allowEmptyTiles: boolean;
  /** Empty = of none. */
  readonly resourceGroup: string;
  /** Client that asks for it. */
  readonly createdBy: string;
}

/** A series as it stands. */
export interface SeriesStanding extends SeriesUse {
  readonly id: number;
  readonly measures: SeriesMeasures;
  readonly filled: Filled | undefined;
  /** Time of the latest row that a stream counted, microseconds since 1970; undefined = no row. */
  readonly streamedUntil: number | undefined;
  readonly schedule: LiveSchedule | undefined;
}

/** What a backfill of a series would do. */
export interface BackfillPlan {
  readonly id: number;
  readonly features: readonly string[];
  /** Empty = a statement. */
  readonly resolver: string;
  /** Dataset in which tiles are published; empty = none. */
  readonly dataset: string;
  readonly span: TimeSpan;
  /** Undefined = all that there are. */
  readonly buckets: number | undefined;
  readonly rows: number | undefined;
  readonly tiles: number | undefined;
  readonly bytes: number | undefined;
}

/** The capability. */
export interface Aggregates {
  /** The series of the environment's live deployment, by id. */
  list(environment: EnvironmentRecord): Promise<SeriesStanding[]>;
  /**
   * What a backfill would do; `isExact` = rows are counted. Rejects with Failure or QueryRefused.
   */
  plan(environment: EnvironmentRecord, wish: BackfillWish, isExact: boolean): Promise<BackfillPlan[]>;
  /** Stores the job of a backfill. Rejects with Failure or QueryRefused. */
  begin(environment: EnvironmentRecord, wish: BackfillWish): Promise<{ readonly jobId: string; readonly series: readonly number[] }>;
  /** The schedules of backfills, named by a feature of each series. */
  readonly schedules: LiveSchedules;
  /** The handler of BACKFILL_JOB jobs. */
  readonly handler: JobHandler;
  /**
   * Removes the tiles of an environment that may hold rows that were deleted. Windows are computed
   * of rows where tiles were filled of them, until they are filled again.
   */
  forget(environmentId: string, rows: readonly DeletedRows[], signal: AbortSignal): Promise<void>;
  /** Removes tiles that are too old to be read, and series that nothing has used for a day. */
  upkeep(signal: AbortSignal): Promise<void>;
}

/** The payload of a job that was asked for. */
interface AskedBackfill extends Pick<BackfillWish, "feature" | "resolver" | "computeOnly">, Partial<WrittenSince> {
  readonly environmentId: string;
  readonly lower?: string;
  readonly upper?: string;
}

/** What payloads of versions before have not. */
type WrittenSince = Pick<BackfillWish, "tags" | "inputSql" | "storeOffline" | "allowEmptyTiles" | "resourceGroup" | "createdBy">;

const WISHES: WrittenSince & Pick<BackfillWish, "resolver" | "computeOnly"> = {
  ...{ resolver: "", computeOnly: false, tags: [], inputSql: "", storeOffline: false, allowEmptyTiles: false },
  ...{ resourceGroup: "", createdBy: "" },
};

/** The payload of a schedule's jobs. */
interface ScheduledBackfill {
  readonly environmentId: string;
  readonly feature: string;
}

/** Makes the capability; schedules are kept once they are started. */
export function createAggregates(options: AggregatesOptions): Aggregates {
  const { metadata, deployments, metrics, clock, bus, log } = options;
  const engine = createEngine({ clock, log });
  const inTurn = createTurns();
  const emptied = once(() => rm(options.folder, { recursive: true, force: true }));
  const nowMicros = (): bigint => BigInt(Math.floor(clock.now())) * 1000n;

  const liveGraph = async (environment: EnvironmentRecord): Promise<Graph> =>
    deployments.graph(await deployments.resolve({ environment, branch: "", deploymentId: "" }));

  const schedules = createLiveSchedules(
    options,
    BACKFILL_JOB,
    (graph) =>
      seriesOf(graph).flatMap(({ series, features: [feature = ""] }) =>
        series.backfillSchedule === "" ? [] : [{ name: feature, text: series.backfillSchedule, environments: [] }],
      ),
    (environmentId, feature): ScheduledBackfill => ({ environmentId, feature }),
  );

  const filledBy = async (id: number): Promise<Filled | undefined> => {
    const [found = []] = await (await options.tiles()).read(SCOPE, [filledRead(id)]);
    return filledOf(found);
  };

  /** Up to when streams of the live deployment have counted rows, by the series' keys. */
  const streamed = async (environment: EnvironmentRecord, graph: Graph, uses: readonly SeriesUse[]): Promise<Map<string, number>> => {
    const found = new Map<string, number>();
    if (graph.streamResolvers.length === 0) return found;
    const store = await options.tiles();
    for (const { id, name } of await metadata.streams.list(environment.id)) {
      const outputs = new Set(graph.streamResolvers.find(({ fqn }) => fqn === name)?.outputs);
      const fed = uses.filter(({ series }) => [...outputs].some((fqn) => fqn.startsWith(`${series.namespace}.`)));
      if (fed.length === 0) continue;
      for (const { watermark = 0 } of await store.positions(SCOPE, id))
        for (const { series } of fed) if (watermark > (found.get(series.key) ?? 0)) found.set(series.key, watermark);
    }
    return found;
  };

  /** The series that a wish means, with their ids. */
  const chosen = async (environment: EnvironmentRecord, graph: Graph, feature: string) => {
    const all = seriesOf(graph);
    const uses = all.filter(({ features }) => features.some((fqn) => names(fqn, feature)));
    if (uses.length === 0) {
      const near = didYouMean(feature, new Set(all.flatMap(({ features }) => features.map(withoutWindow))));
      throw new Failure("invalid_argument", `'${feature}' is no feature whose aggregate is kept${near ? `; ${near}` : "."}`, {
        hint: "`svc aggregate list` shows those that are: windowed(..., materialization=...).",
      });
    }
    const ids = await identifySeries(metadata.series, environment.id, graph);
    return uses.map((use) => ({ ...use, id: ids.get(use.series.key) as number }));
  };

  /** The rows of a series; with their keys if some were deleted and the resolver gives keys. */
  const rowsOf = (deployment: LiveDeployment, { series }: SeriesUse, { resolver, tags }: BackfillWish, table?: ClassTable): ClassRows => {
    const rowsWith = (features: readonly string[]): ClassRows =>
      engine.classRows(deployment, {
        ...{ namespace: series.namespace, features, time: series.time, tags, table },
        ...{ resolver: resolver || series.backfillResolver, now: clock.now() },
      });
    const key = keyName(new GraphIndex(deployment.graph), series.namespace);
    const isKeyed = options.deleted.rowsOf(deployment.environmentId).some(({ namespace }) => namespace === series.namespace);
    if (!isKeyed || key === "" || series.reads.includes(key)) return rowsWith(series.reads);
    try {
      return rowsWith([...series.reads, key]);
    } catch (error) {
      if (!(error instanceof QueryRefused)) throw error;
      return rowsWith(series.reads);
    }
  };

  /** The rows of all series of a wish; one of its tags has to be a resolver's. */
  const rowsOfAll = (deployment: LiveDeployment, uses: readonly SeriesUse[], wish: BackfillWish, table?: ClassTable): ClassRows[] => {
    const all = uses.map((use) => rowsOf(deployment, use, wish, table));
    if (wish.tags.length > 0 && !all.some(({ tags }) => tags.length > 0))
      throw new Failure("invalid_argument", `No resolver of these rows has the tags ${wish.tags.join(", ")}.`, {
        hint: `The rows are those of ${all.map(({ resolver }) => resolver).join(", ")}: leave out --tag, or give a resolver the tag.`,
      });
    return all;
  };

  /** Runs with the table of a wish's statement, and a folder that is removed afterwards. */
  const withTable = async <T>(
    deployment: LiveDeployment,
    { inputSql, storeOffline }: BackfillWish,
    { isTried, signal }: { readonly isTried: boolean; readonly signal: AbortSignal },
    run: (table: ClassTable | undefined, folder: string) => Promise<T>,
  ): Promise<T> => {
    if (inputSql === "" && !storeOffline) return run(undefined, "");
    await emptied();
    const folder = join(options.folder, crypto.randomUUID());
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      if (inputSql === "") return await run(undefined, folder);
      const parts = { metadata, revisions: options.revisions, tables: await options.tables(), offline: options.offline };
      const { environmentId } = deployment;
      const namespaces = engine.classesOf(deployment);
      return await run(await selectedRows(inputSql, { ...parts, environmentId, namespaces, folder, signal }, isTried), folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };

  /**
   * Groups by stored values of rows: of those that are aggregated, or of their parents. They are
   * all in which a row has been, as far as a store knows: the history every one, the online store
   * the latest.
   */
  const groupsOf = async (
    environmentId: string,
    namespace: string,
    names: readonly string[],
    keys: readonly string[],
    signal: AbortSignal,
  ): Promise<string[]> => {
    if (keys.length === 0) return [];
    const known = await metadata.knownFeatures(environmentId);
    const ids = names.map((name) => known.filter(({ fqn }) => fqn === `${namespace}.${name}`).map(({ id }) => id));
    const groups = new Set<string>();
    /** Adds the group of a row, whose values are given by feature. */
    const add = (storedOf: (id: number) => FeatureValue): void => {
      const group = ids.map((own) => own.map(storedOf).find((value) => value !== null) ?? null);
      const named = groupKey(group, storeKey);
      if (named !== undefined) groups.add(named);
    };
    const read = { namespace, keys, featureIds: ids.flat() };
    const { values } = await options.online.read(SCOPE, { values: [read], rows: [] });
    for (const found of values[0] ?? []) add((id) => found[read.featureIds.indexOf(id)]?.value ?? null);
    const history = await options.offline();
    for (let at = 0; at < keys.length; at += KEYS_AT_ONCE) {
      let rows = keys.slice(at, at + KEYS_AT_ONCE).map((key) => ({ key, time: Number.MAX_SAFE_INTEGER }));
      while (rows.length > 0) {
        signal.throwIfAborted();
        const spine = { keys: rows.map(({ key }) => key), times: rows.map(({ time }) => time) };
        const columns = await history.sample(
          spine,
          read.featureIds.map((featureId) => ({ featureId })),
        );
        const byId = new Map(columns.map((column) => [column.featureId, column.values]));
        rows = rows.flatMap(({ key }, row) => {
          const times = columns.flatMap(({ observedAt }) => (Number.isNaN(observedAt[row]) ? [] : [observedAt[row] as number]));
          if (times.length === 0) return [];
          add((id) => byId.get(id)?.[row] ?? null);
          return { key, time: Math.max(...times) - A_MICROSECOND };
        });
      }
    }
    return [...groups];
  };

  /** Throws Failure for a wish that contradicts itself. */
  const checkWish = async ({ id }: EnvironmentRecord, wish: BackfillWish): Promise<void> => {
    const { allowEmptyTiles, inputSql, lower, resolver, resourceGroup, storeOffline, tags, upper } = wish;
    const refuse = (message: string, hint: string): Failure => new Failure("invalid_argument", message, { hint });
    if (lower !== undefined && upper !== undefined && lower >= upper)
      throw refuse("The lower bound is not before the upper bound.", "Give an earlier --lower-bound.");
    if (inputSql !== "" && (resolver !== "" || tags.length > 0))
      throw refuse("Rows come from a statement or from a resolver.", "Leave out --input-sql, or --resolver and --tag.");
    if (storeOffline && (lower === undefined || upper === undefined))
      throw refuse("Published tiles are those of a stated time.", "Give --lower-bound and --upper-bound with --store-offline.");
    if (allowEmptyTiles && !storeOffline)
      throw refuse("Only published tiles can be empty.", "Give --store-offline with --allow-empty-tiles, or leave it out.");
    const groups = resourceGroup === "" ? [] : await options.resourceGroups(id);
    if (resourceGroup !== "" && !groups.includes(resourceGroup))
      throw refuse(
        `The environment has no resource group '${resourceGroup.slice(0, 100)}'.`,
        didYouMean(resourceGroup, new Set(groups)) || `It has ${groups.join(", ")}; \`svc environment update\` adds others.`,
      );
  };

  const runnable = async (environmentId: string): Promise<EnvironmentRecord> => {
    const environment = await metadata.environment(environmentId);
    if (!environment) throw new JobFailed("its environment was deleted");
    if (environment.suspendedAt !== undefined) throw new JobFailed(`environment '${environment.name}' is suspended`);
    return environment;
  };

  /** Backfills the series of a wish, each for the time that `spanFor` gives. */
  const fill = async (
    environment: EnvironmentRecord,
    jobId: string,
    wish: BackfillWish,
    spanFor: (use: SeriesUse & { readonly id: number }) => Promise<TimeSpan>,
    { progress, signal }: Attempt,
  ): Promise<void> => {
    const lease = await deployments.acquire({ environment, branch: "", deploymentId: "" });
    const { deployment } = lease;
    try {
      await withTable(deployment, wish, { isTried: false, signal }, async (table, folder) => {
        const store = await options.tiles();
        for (const use of await chosen(environment, deployment.graph, wish.feature)) {
          const { series, id: seriesId } = use;
          const origin = publicationOrigin(environment.id, jobId, seriesId);
          const isPublished = wish.storeOffline && (await metadata.datasets.begun(origin))?.state === "complete";
          if (isPublished && wish.computeOnly) continue;
          const { allowEmptyTiles: allowsEmpty, createdBy } = wish;
          const tables = wish.storeOffline ? await options.tables() : undefined;
          const parts = { revisions: options.revisions, deployment, use, jobId, createdBy, allowsEmpty, folder, signal };
          const done = await backfill(
            store,
            {
              ...{ seriesId, series, scope: SCOPE, job: jobId, isStored: !wish.computeOnly, span: await spanFor(use), inTurn },
              publish: tables && !isPublished ? () => createPublication({ ...parts, tables }) : undefined,
              reader: createSeriesReader(deployment.graph, series),
              erased: erasedRows(deployment.graph, use, () => options.deleted.rowsOf(environment.id)),
              rows: rowsOf(deployment, use, wish, table),
            },
            signal,
            (rows) => progress(`${rows} rows of series ${seriesId}`),
          );
          const label = { feature: use.features[0] ?? "" };
          metrics.counter("aggregate.backfill_rows", environment.id, label).add(done.rows);
          log.info("a series was backfilled", { environment: environment.id, series: seriesId, ...done });
        }
      });
    } finally {
      lease.release();
    }
  };

  const ended = (environmentId: string, feature: string, state: "succeeded" | "failed" | "cancelled"): void => {
    if (metrics.isOn) metrics.counter("aggregate.backfills", environmentId, { feature, state }).add();
  };

  /** The series of live deployments, by environment, as long as the same ones are live. */
  const liveSeries = new Map<string, { readonly live: string; readonly features: ReadonlyMap<number, string> }>();
  const sampleLags = async (): Promise<void> => {
    for (const environment of await metadata.environments()) {
      const live = deployments.live(environment.id, "");
      if (live === undefined) continue;
      let known = liveSeries.get(environment.id);
      if (known?.live !== live) {
        const graph = await deployments.graph(live);
        const ids = await identifySeries(metadata.series, environment.id, graph);
        known = {
          live,
          features: new Map(seriesOf(graph).map(({ features, series }) => [ids.get(series.key) as number, features[0] ?? ""])),
        };
        liveSeries.set(environment.id, known);
      }
      for (const [id, feature] of known.features) {
        const filled = await filledBy(id);
        if (filled) metrics.gauge("aggregate.lag", environment.id, { feature }).set(Math.max(0, Number(nowMicros() - filled.until) / 1e6));
      }
    }
  };
  if (metrics.isOn)
    metrics.sample(() =>
      sampleLags().catch((error: unknown) => log.debug("the lag of backfills could not be read", { error: errorText(error) })),
    );

  return {
    schedules,

    async list(environment) {
      const graph = await liveGraph(environment);
      const uses = seriesOf(graph);
      if (uses.length === 0) return [];
      const ids = await identifySeries(metadata.series, environment.id, graph);
      const measures = await (await options.tiles()).measure();
      const planned = new Map((await schedules.list(environment.id)).map((one) => [one.name, one]));
      const streamedUntil = await streamed(environment, graph, uses);
      const standings = uses.map(async (use): Promise<SeriesStanding> => {
        const id = ids.get(use.series.key) as number;
        const filled = await filledBy(id);
        const { tiles = 0, groups = 0, bytes = 0 } = measures.get(id) ?? {};
        const [marks = []] = await (await options.tiles()).read(SCOPE, [marksRead(id)]);
        return {
          ...{ ...use, id, filled, streamedUntil: streamedUntil.get(use.series.key), schedule: planned.get(use.features[0] ?? "") },
          measures: { tiles: tiles - marks.length, groups: groups - Math.min(marks.length, 1), bytes },
        };
      });
      return (await Promise.all(standings)).sort((a, b) => a.id - b.id);
    },

    async plan(environment, wish, isExact) {
      await checkWish(environment, wish);
      const signal = AbortSignal.timeout(COUNT_TIMEOUT_MS);
      const lease = await deployments.acquire({ environment, branch: "", deploymentId: "" });
      try {
        const { deployment } = lease;
        return await withTable(deployment, wish, { isTried: !isExact, signal }, async (table) => {
          const measures = await (await options.tiles()).measure();
          const uses = await chosen(environment, deployment.graph, wish.feature);
          const all = rowsOfAll(deployment, uses, wish, table);
          const plans: BackfillPlan[] = [];
          for (const [at, use] of uses.entries()) {
            const rows = all[at] as ClassRows;
            const span = spanOf(use, { ...wish, now: nowMicros(), isBeyond: wish.storeOffline });
            const counted = isExact ? await rows.count(span, signal) : undefined;
            plans.push({
              ...{ id: use.id, features: use.features, resolver: rows.resolver, span },
              dataset: wish.storeOffline ? publishedDataset(use.id) : "",
              ...estimate(use, span, counted, measures.get(use.id)),
            });
          }
          return plans;
        });
      } finally {
        lease.release();
      }
    },

    async begin(environment, wish) {
      await checkWish(environment, wish);
      if (environment.suspendedAt !== undefined) throw suspended(environment);
      const lease = await deployments.acquire({ environment, branch: "", deploymentId: "" });
      try {
        const { deployment } = lease;
        const uses = await chosen(environment, deployment.graph, wish.feature);
        const signal = AbortSignal.timeout(COUNT_TIMEOUT_MS);
        await withTable(deployment, { ...wish, storeOffline: false }, { isTried: true, signal }, async (table) => {
          rowsOfAll(deployment, uses, wish, table);
        });
        const jobId = newId("job", clock.now());
        const { lower, upper, resourceGroup, ...others } = wish;
        const payload: AskedBackfill = {
          ...{ environmentId: environment.id, ...others },
          ...(lower !== undefined && { lower: String(lower) }),
          ...(upper !== undefined && { upper: String(upper) }),
        };
        await metadata.jobs.enqueue({
          ...{ id: jobId, kind: BACKFILL_JOB, payload, name: "backfill", scope: environment.id, subject: wish.feature },
          ...(resourceGroup !== "" && { group: { name: `${BACKFILL_JOB}/${environment.id}/${resourceGroup}`, slots: 1 } }),
          ...{ maxAttempts: MAX_ATTEMPTS, attemptTimeoutMs: ATTEMPT_TIMEOUT_MS },
        });
        bus.publish("jobs");
        return { jobId, series: uses.map(({ id }) => id) };
      } finally {
        lease.release();
      }
    },

    handler: {
      isLong: true,
      async run({ id, payload }, attempt) {
        try {
          if ("payload" in (payload as object)) {
            const { environmentId, feature } = (payload as ScheduledRun).payload as ScheduledBackfill;
            const environment = await metadata.environment(environmentId);
            const live = environment && environment.suspendedAt === undefined ? deployments.live(environmentId, "") : undefined;
            const use =
              live === undefined ? undefined : seriesOf(await deployments.graph(live)).find(({ features }) => features[0] === feature);
            if (!environment || !use || use.series.backfillSchedule === "") return;
            const wish = { ...WISHES, feature, lower: undefined, upper: undefined };
            await fill(environment, id, wish, async (one) => nextSpan(one, await filledBy(one.id), nowMicros()), attempt);
            ended(environmentId, feature, "succeeded");
          } else {
            const { environmentId, lower, upper, ...asked } = payload as AskedBackfill;
            const wish: BackfillWish = {
              ...{ ...WISHES, ...asked },
              ...{ lower: lower === undefined ? undefined : BigInt(lower), upper: upper === undefined ? undefined : BigInt(upper) },
            };
            const spanFor = async (use: SeriesUse) => spanOf(use, { ...wish, now: nowMicros(), isBeyond: wish.storeOffline });
            await fill(await runnable(environmentId), id, wish, spanFor, attempt);
            ended(environmentId, wish.feature, "succeeded");
          }
        } catch (error) {
          if (error instanceof QueryRefused) throw new JobFailed(error.errors.map(({ message }) => message).join("; "));
          if (error instanceof Failure && error.kind !== "unavailable") throw new JobFailed(error.message);
          throw error;
        }
      },
      async giveUp({ id, isCancelRequested, payload }) {
        const isScheduled = "payload" in (payload as object);
        const given = isScheduled ? (payload as ScheduledRun).payload : payload;
        const { environmentId, feature } = given as ScheduledBackfill;
        const store = await options.tiles();
        for (const { id: seriesId } of await metadata.series.list(environmentId)) {
          await endFilling(store, { scope: SCOPE, seriesId }, (job) => job === id);
          const begun = await metadata.datasets.begun(publicationOrigin(environmentId, id, seriesId));
          if (begun?.state === "writing") await options.revisions.abandon(begun.id);
        }
        ended(environmentId, feature, isCancelRequested ? "cancelled" : "failed");
      },
    },

    async forget(environmentId, rows, signal) {
      const kept = await metadata.series.list(environmentId);
      if (kept.length === 0) return;
      const environment = await metadata.environment(environmentId);
      const live = environment && deployments.live(environmentId, "");
      const graph = live === undefined ? undefined : await deployments.graph(live);
      const ids = graph ? await identifySeries(metadata.series, environmentId, graph) : new Map<string, number>();
      const store = await options.tiles();
      const inUse = new Set(ids.values());
      const unused = kept.flatMap(({ id }) => (inUse.has(id) ? [] : [id]));
      await inTurn(() => store.dropSeries(unused, signal));
      if (!graph) return;
      const index = new GraphIndex(graph);
      for (const use of seriesOf(graph))
        for (const deleted of rows) {
          signal.throwIfAborted();
          const erasure = erasureOf(index, use, deleted);
          if (!erasure) continue;
          const seriesId = ids.get(use.series.key) as number;
          await inTurn(async () => {
            const [marks = []] = await store.read(SCOPE, [marksRead(seriesId)]);
            const isShared = erasure.rows.length + erasure.parents.length > 0;
            if (isShared && marks.length > 0) await store.dropSeries([seriesId], signal);
            const groups = [...erasure.groups];
            if (marks.length === 0) {
              groups.push(...(await groupsOf(environmentId, use.series.namespace, use.series.group, erasure.rows, signal)));
              for (const { namespace, local, keys } of erasure.parents)
                groups.push(...(await groupsOf(environmentId, namespace, local, keys, signal)));
            }
            await store.deleteGroups(
              SCOPE,
              groups.map((group) => ({ seriesId, group })),
            );
          });
        }
    },

    async upkeep(signal) {
      const now = nowMicros();
      const store = await options.tiles();
      const kept = await metadata.series.list();
      if (kept.length === 0) return;
      for (const environment of await metadata.environments()) {
        const live = deployments.live(environment.id, "");
        if (live === undefined) continue;
        const graph = await deployments.graph(live);
        const ids = await identifySeries(metadata.series, environment.id, graph);
        for (const { series, retentionMicros } of seriesOf(graph)) {
          signal.throwIfAborted();
          if (retentionMicros >= ENDLESS_MICROS) continue;
          const id = ids.get(series.key) as number;
          await inTurn(() => forgetBefore(store, id, bucketStart(series, bucketOf(series, now - retentionMicros))));
          await store.prune(id, bucketOf(series, now - retentionMicros - LONGEST_BACKFILL_MICROS), signal);
        }
      }
      for (const { id: seriesId } of kept)
        await endFilling(store, { scope: SCOPE, seriesId }, async (job) => ENDED.has((await metadata.jobs.job(job))?.state ?? "failed"));
      const ids = kept.map(({ id }) => id);
      const unused = await metadata.series.forget(ids, clock.now() - UNUSED_KEPT_MS);
      await store.dropSeries(unused, signal);
    },
  };
}

/**
 * A backfill that began so long ago may still tell that it filled what was in reach then: that is
 * not removed before.
 */
const LONGEST_BACKFILL_MICROS = BigInt(2 * ATTEMPT_TIMEOUT_MS) * 1000n;
/** Keys whose values are looked up in the history at once. */
const KEYS_AT_ONCE = 1_000;
/** In milliseconds. */
const A_MICROSECOND = 0.001;
/** Milliseconds that a plan counts rows at most. */
const COUNT_TIMEOUT_MS = 60_000;

function withoutWindow(fqn: string): string {
  return fqn.replace(/__\d+__$/, "");
}

/** Whether a name means a feature: whole, without its window, or its class. */
function names(fqn: string, name: string): boolean {
  return [fqn, readableName(fqn), withoutWindow(fqn), fqn.slice(0, fqn.indexOf("."))].includes(name);
}

/** What a schedule fills: what came since the last time, and what may have come late. */
function nextSpan(use: SeriesUse, filled: Filled | undefined, now: bigint): TimeSpan {
  const whole = spanOf(use, { lower: undefined, upper: undefined, now });
  const reaches = filled && (filled.from === undefined || (whole.from !== undefined && filled.from <= whole.from));
  return reaches ? spanOf(use, { lower: filled.until - use.series.bufferMicros, upper: undefined, now }) : whole;
}

/** Tells that tiles before a time are no longer there, before they are removed. */
async function forgetBefore(store: TileStore, seriesId: number, before: bigint): Promise<void> {
  const [found = []] = await store.read(SCOPE, [filledRead(seriesId)]);
  const filled = filledOf(found);
  if (!filled || (filled.from !== undefined && filled.from >= before)) return;
  const mark = filledTile(seriesId, { from: before, until: filled.until > before ? filled.until : before });
  await store.replace(SCOPE, [{ seriesId, from: mark.bucket, until: mark.bucket + 1, tiles: [mark] }]);
}

function estimate(
  { series }: SeriesUse,
  { from, until }: TimeSpan,
  rows: number | undefined,
  stored: SeriesMeasures | undefined,
): Pick<BackfillPlan, "buckets" | "rows" | "tiles" | "bytes"> {
  const buckets = from === undefined ? undefined : Number((until - from) / series.bucketMicros);
  const groups = stored && stored.groups > 1 ? stored.groups - 1 : undefined;
  const byGroups = groups === undefined || buckets === undefined ? undefined : groups * buckets;
  const bounds = [rows, byGroups].filter((bound) => bound !== undefined);
  const tiles = bounds.length === 0 ? undefined : Math.min(...bounds);
  const bytes = tiles === undefined || !stored || stored.tiles === 0 ? undefined : Math.ceil((tiles * stored.bytes) / stored.tiles);
  return { buckets, rows, tiles, bytes };
}
