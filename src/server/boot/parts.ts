/**
 * The stores and capabilities of a server; those that a start does not need are opened on first
 * use.
 */

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Once, once } from "../../domain/once.ts";
import { samplingOf } from "../../domain/span-sampling.ts";
import { createFirstTenant, type InitialCredentials } from "../access/first-tenant.ts";
import { loadServerKeys, type ServerKeys } from "../access/keys.ts";
import { createObjectAddresses } from "../access/object-addresses.ts";
import { resealingOf } from "../access/resealing.ts";
import { createSealer, type Sealer } from "../access/sealing.ts";
import type { Aggregates } from "../aggregates/aggregates.ts";
import type { Approvals } from "../approvals/approvals.ts";
import { auditRetention } from "../audit/retention.ts";
import type { Benchmarks } from "../benchmarks/benchmarks.ts";
import type { Statements } from "../catalog/statements.ts";
import type { Connections } from "../connections/create-connections.ts";
import type { ContainerCapabilities } from "../containers/create-containers.ts";
import type { DatasetCapabilities } from "../datasets/create-datasets.ts";
import type { Deletions } from "../deletions/deletions.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { Specs } from "../deployments/worker-groups.ts";
import type { CollectionParts } from "../documents/collection.ts";
import type { Configurations } from "../environments/configuration.ts";
import type { Evaluations } from "../evaluations/evaluations.ts";
import type { Functions } from "../functions/functions.ts";
import type { Images } from "../images/images.ts";
import {
  type ComponentRecord,
  type Components,
  configuredTopic,
  createComponents,
  logLimits,
  metricLimits,
  telemetryLimits,
  topicLimits,
} from "../infrastructure/components.ts";
import { type Bus, createMemoryBus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { JobQueue } from "../jobs/queue.ts";
import type { RecurringJob } from "../jobs/recurring.ts";
import type { JobHandler, JobRunner } from "../jobs/runner.ts";
import type { Scheduler } from "../jobs/scheduler.ts";
import type { Workflows } from "../jobs/workflows.ts";
import type { Log } from "../log.ts";
import { createLogRecorder, type LogRecorder } from "../logs/recorder.ts";
import { sampleDropped } from "../metrics/dropped-sampler.ts";
import { createFeatureRecorder, type FeatureRecorder } from "../metrics/feature-recorder.ts";
import { sampleProcess } from "../metrics/process-sampler.ts";
import type { MetricReader } from "../metrics/reader.ts";
import { createMetricRecorder, type MetricRecording } from "../metrics/recorder.ts";
import { timedStore, timedStores } from "../metrics/timed-store.ts";
import type { Monitors } from "../monitors/monitors.ts";
import { createGoneNodes } from "../nodes/gone-nodes.ts";
import { createHistoryRetention, type HistoryRetention } from "../nodes/history-retention.ts";
import { readNodeId } from "../nodes/node-id.ts";
import { retentionJobs } from "../nodes/retention.ts";
import { sampleWaitingJobs } from "../nodes/waiting-jobs.ts";
import type { Notebooks } from "../notebooks/notebooks.ts";
import type { OfflineQueries } from "../offline-queries/offline-queries.ts";
import type { OtlpExporter } from "../otlp/exporter.ts";
import type { MetricStreams } from "../otlp/metric-streams.ts";
import type { OtlpSettings } from "../otlp/settings.ts";
import type { Processes } from "../processes/processes.ts";
import type { ResolverRunCapabilities } from "../resolver-runs/create-resolver-runs.ts";
import type { ScalingGroups } from "../scaling-groups/scaling-groups.ts";
import type { ScheduledQueries } from "../scheduled-queries/scheduled-queries.ts";
import type { SecretCapabilities } from "../secrets/create-secrets.ts";
import type { Shells } from "../shells/shells.ts";
import type { LogStore } from "../stores/logs/store.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { DEFAULT_RESOURCE_GROUP } from "../stores/metadata/usage.ts";
import type { MetricStore } from "../stores/metrics/store.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { JobErrorRecorder, SpanRecord, TelemetryStore } from "../stores/telemetry/store.ts";
import type { TopicStore } from "../stores/topics/store.ts";
import type { StreamRunner } from "../streams/stream-runner.ts";
import type { Streams } from "../streams/streams.ts";
import type { TableEngine } from "../tables/engine.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { MergedTiles } from "../tiles/merged-tiles.ts";
import type { EmbeddedTopics } from "../topics/embedded.ts";
import type { Homes } from "../topics/homes.ts";
import type { TopicSources } from "../topics/topic-sources.ts";
import { createQueryCounts, type QueryCounts } from "../usage/query-counts.ts";
import { createStorageMeter, STORAGE_MEASURE_MS, type StorageMeter } from "../usage/storage-meter.ts";
import type { ValueUploads } from "../value-uploads/value-uploads.ts";
import { gatherNotes, notedLines, notedTelemetry } from "../watches/noted-records.ts";
import { createRecentChanges, type RecentChanges } from "../watches/recent-changes.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { ValueSinks } from "../writes/value-sinks.ts";
import type { DataDirectory } from "./data-directory.ts";
import { openStores } from "./open-stores.ts";
import type { StartOptions } from "./options.ts";
import type { StoreSettings } from "./store-settings.ts";
import { type Sweep, type SweepOptions, startSweep } from "./sweep.ts";

/** Milliseconds between two sweeps for expired stages, and for expired online values. */
const STAGES_SWEEP_MS = 60_000;
const ONLINE_SWEEP_MS = 600_000;
/** Milliseconds between two removals of old metrics. */
const METRICS_SWEEP_MS = 600_000;
/** Milliseconds between two removals of old messages of topics. */
const TOPICS_SWEEP_MS = 60_000;
/** Milliseconds between two looks whether an hour is over of which no drift was recorded. */
const DRIFT_MS = 120_000;
/** Milliseconds to the first measure of stored bytes: by then the deployments are restored. */
const FIRST_STORAGE_MEASURE_MS = 60_000;
/** Milliseconds between two removals of old observations, and to the first. */
const HISTORY_SWEEP_MS = 3_600_000;
const FIRST_HISTORY_SWEEP_MS = 120_000;
/** Calls of the offline store that are timed. */
const TIMED_OFFLINE = ["append", "sample", "scanKeys", "scan", "latest", "deleteKeys", "trim", "dropVersion"] as const;
/** Variable with which `test/bench` turns off metrics, the query log and the log of requests. */
const RECORDING_VARIABLE = "SVC_BENCH_RECORDING";
/** Most jobs that run at once: builds wait for Python and the disk more than they compute. */
const JOB_SLOTS = 8;
/** Most long jobs that run at once, which compute. */
const LONG_JOB_SLOTS = 4;

/**
 * The parts of a server. Their functions load a part on first use and return the same one from then
 * on.
 */
export interface Parts {
  readonly keys: ServerKeys;
  readonly metadata: MetadataStore;
  /**
   * Creates the tenant in empty metadata and returns its credentials; undefined when there was one.
   * Throws StartError when the metadata lost their tenant.
   */
  openTenant(): Promise<InitialCredentials | undefined>;
  readonly objects: ObjectStore;
  /** Notifications about changes, on this node and on others. */
  readonly bus: Bus;
  /** Changes that callers may follow. */
  readonly recentChanges: RecentChanges;
  /** What is recorded of the server's components. */
  readonly components: Components;
  /** Id of this node. */
  readonly node: () => string;
  readonly online: () => Promise<OnlineStore>;
  readonly offline: () => Promise<OfflineStore>;
  /** The sinks to which queries pass computed values for the offline store. */
  readonly sinks: () => Promise<ValueSinks>;
  /** The store of tiles. */
  readonly tiles: () => Promise<MergedTiles>;
  readonly telemetry: () => Promise<TelemetryStore>;
  /** The store of metrics. */
  readonly metricStore: () => Promise<MetricStore>;
  /** The recording of metrics on this node. */
  readonly metrics: MetricRecording;
  /** The recording of features' statistics on this node. */
  readonly featureRecorder: FeatureRecorder;
  /** What was recorded of metrics. */
  readonly metricReader: () => Promise<MetricReader>;
  readonly logs: () => Promise<LogStore>;
  /** The signals that are exported by OTLP, by name; none without an export. */
  readonly exported: () => ReturnType<OtlpExporter["standing"]>;
  /** Hands records to the log store, which it opens by itself. */
  readonly logRecorder: LogRecorder;
  /** What applications count. */
  readonly metricStreams: () => Promise<MetricStreams>;
  /** SQL statements over what is stored. */
  readonly statements: () => Promise<Statements>;
  /** The table engine; its process starts with its first call. */
  readonly tables: () => Promise<TableEngine>;
  /** The processes of this node. */
  readonly processes: () => Promise<Processes>;
  /** The count of this node's queries. */
  readonly queryCounts: QueryCounts;
  /** The meter of stored bytes. */
  readonly storage: StorageMeter;
  readonly deployments: () => Promise<Deployments>;
  /** The removal of old observations on this node. */
  readonly historyRetention: HistoryRetention;
  /** The deletion of stored values; what was deleted is known when it resolves. */
  readonly deletions: () => Promise<Deletions>;
  /** Datasets, and revisions as they are made. */
  readonly datasets: () => Promise<DatasetCapabilities>;
  /** Encryption of secrets at rest. */
  readonly sealer: Sealer;
  readonly webhooks: () => Promise<Webhooks>;
  /** Address of the online store, without credentials. */
  readonly onlineAddress: string;
  /** The stores and signals of collections of documents. */
  readonly collections: CollectionParts;
  /** Secrets and integrations. */
  readonly secrets: () => Promise<SecretCapabilities>;
  /** The configurations of environments. */
  readonly configurations: () => Promise<Configurations>;
  /** Requests for approval. */
  readonly approvals: () => Promise<Approvals>;
  /** Resolvers of topics. */
  readonly streams: () => Promise<Streams>;
  /** Begins to read topics on this node. */
  readonly streamRunner: () => Promise<StreamRunner>;
  /** Runs of resolvers by themselves, and their schedules. */
  readonly resolverRuns: () => Promise<ResolverRunCapabilities>;
  /** Aggregates that are kept in tiles. */
  readonly aggregates: () => Promise<Aggregates>;
  /** Offline queries that run by themselves. */
  readonly scheduledQueries: () => Promise<ScheduledQueries>;
  /** Bounds of metrics, and what is told of them. */
  readonly monitors: () => Promise<Monitors>;
  /** Scripts, modules and functions that run once. */
  readonly tasks: () => Promise<Tasks>;
  readonly evaluations: () => Promise<Evaluations>;
  readonly functions: () => Promise<Functions>;
  readonly benchmarks: () => Promise<Benchmarks>;
  readonly shells: () => Promise<Shells>;
  readonly containers: () => Promise<ContainerCapabilities>;
  readonly images: () => Promise<Images>;
  /** Finds the containers again that ran when the server stopped, and keeps scaling groups. */
  readonly resumeContainers: () => Promise<void>;
  readonly scalingGroups: () => Promise<ScalingGroups>;
  /** Tells the base address of this server, once it listens. */
  listensAt(url: string): void;
  readonly notebooks: () => Promise<Notebooks>;
  /** The store of the server's own topics. */
  readonly topicStore: () => Promise<TopicStore>;
  /** The server's own topics. */
  readonly embeddedTopics: () => Promise<EmbeddedTopics>;
  /** Topics by the sources that mean them. */
  readonly topicSources: () => Promise<TopicSources>;
  /** Jobs with one purpose, as a graph of operations. */
  readonly workflows: () => Promise<Workflows>;
  /** Offline queries. */
  readonly offlineQueries: () => Promise<OfflineQueries>;
  /** Uploads of values. */
  readonly valueUploads: () => Promise<ValueUploads>;
  /** Cloud accounts, storage configurations and connections to offline stores. */
  readonly connections: () => Promise<Connections>;
  /** The queue of jobs as callers see it. */
  readonly jobQueue: () => Promise<JobQueue>;
  /** The runner of jobs on this node. */
  readonly jobRunner: () => Promise<JobRunner>;
  /**
   * The error to report for a start that failed while the parts were in use: a StartError if the
   * metadata are damaged, else the error itself.
   */
  explain(error: unknown): unknown;
  /** The scheduler, which enqueues the jobs of due schedules. */
  readonly scheduler: () => Promise<Scheduler>;
  /** Takes on no more jobs; running ones continue. */
  drain(): Promise<void>;
  /** Closes all opened parts, each before the parts that it uses; none is opened from then on. */
  close(): Promise<void>;
}

/** Opens the parts. Throws StartError when a store cannot be used; nothing stays open then. */
export async function openParts({
  directory,
  options,
  settings = {},
  exported,
  log,
}: {
  readonly directory: DataDirectory;
  readonly options: StartOptions;
  /** Settings of stores outside the data directory; default: all are inside. */
  readonly settings?: StoreSettings;
  /** Settings of the export by OTLP; default: nothing is exported. */
  readonly exported?: OtlpSettings | undefined;
  readonly log: Log;
}): Promise<Parts> {
  const { clock, env } = options;
  const home = options.home ?? env.SVC_HOME ?? (env.HOME ? join(env.HOME, ".svc") : directory.path);
  let keys: ServerKeys | undefined;
  const serverKeys = (): ServerKeys => {
    keys ??= loadServerKeys(directory.file("server.key"), env);
    return keys;
  };
  const { shared } = options;
  const libraryFolders = [join(home, "cache"), directory.file(join("tables", "library"))];
  const stores = await openStores({
    directory,
    settings,
    clock,
    log,
    programVersion: options.version,
    libraryFolders,
    addresses: () => createObjectAddresses({ keys: serverKeys().objects, clock }),
    ...(shared && { shared }),
  });
  const bus = shared?.bus ?? createMemoryBus();
  const recentChanges = createRecentChanges({ bus, clock });
  const notes = gatherNotes(bus);
  const metrics = createMetricRecorder({
    store: () => metricStore(),
    ...{ clock, log, isOff: env[RECORDING_VARIABLE] === "off" },
    onPeriod: (environmentIds) => {
      for (const environmentId of environmentIds) noteChange(bus, "metrics", environmentId);
    },
  });
  const metadata = timedStores(stores.metadata, "metadata", metrics);
  const objects = timedStore(stores.objects, "objects", ["put", "get", "size", "list", "delete"], metrics);
  const sealer = createSealer(serverKeys().sealing);
  const components = await createComponents({ documents: metadata.documents, bus, clock, log }).catch(async (error: unknown) => {
    const explained = stores.explain(error);
    metrics.end();
    await stores.close();
    throw explained;
  });
  /** Has a writer stop and start with the component `persistence`. */
  const followPersistence = (writer: { suspend(): void; resume(): void }): void =>
    components.watch("persistence", ({ suspended }) => (suspended ? writer.suspend() : writer.resume()));
  /** Has a store keep to the bounds that the record of the metrics sets for it. */
  const followLimits = <Limits>(
    name: string,
    store: { limit(limits: Limits): Promise<void> },
    limitsOf: (record: ComponentRecord) => Limits,
  ): void => {
    let limits = JSON.stringify(limitsOf({ spec: {}, suspended: false }));
    components.watch("metrics", (record) => {
      const wanted = limitsOf(record);
      if (JSON.stringify(wanted) === limits) return;
      limits = JSON.stringify(wanted);
      store.limit(wanted).catch((error: unknown) => log.error(`${name} could not be limited`, { error: String(error) }));
    });
  };
  let nodeId: string | undefined;
  const node = (): string => {
    nodeId ??= readNodeId(directory.file("node.id"), { clock, log });
    return nodeId;
  };
  sampleProcess(metrics, node);
  sampleWaitingJobs({ jobs: metadata.jobs, nodes: metadata.nodes, node, metrics });
  const exporter =
    exported &&
    (await import("../otlp/exporter.ts")).createOtlpExporter({
      ...{ settings: exported, version: options.version, node, metrics, log, now: () => clock.now() },
      environmentNames: async () => new Map((await metadata.environments()).map(({ id, name }) => [id, name])),
    });
  const sweeps: Sweep[] = [];
  let areSweepsOver = false;
  const sweep = (of: string, times: Pick<SweepOptions, "everyMs" | "firstMs">, run: (signal: AbortSignal) => Promise<unknown>): void => {
    if (areSweepsOver) return;
    const onError = (error: unknown): void => log.warning("what has expired could not be removed", { of, error: String(error) });
    sweeps.push(startSweep(run, { ...times, clock, onError }));
  };
  const vectors = once(async () => {
    const { createVectors } = await import("../vectors/create-vectors.ts");
    const store = timedStore(await stores.online(), "online", ["read", "put", "flush", "dropFeatures", "deleteKeys", "sweep"], metrics);
    return createVectors(store, { now: () => clock.now() });
  });
  const online = once(async () => {
    const store = (await vectors()).online;
    followPersistence(store);
    sweep("online values", { everyMs: ONLINE_SWEEP_MS }, (signal) => store.sweep(signal));
    return store;
  });
  const tiles = once(async () => {
    const { mergedTiles } = await import("../tiles/merged-tiles.ts");
    const store = timedStore(await stores.tiles(), "tiles", ["read", "commit", "replace", "prune"], metrics);
    return mergedTiles(store, shared?.tiles !== undefined);
  });
  const offline = once(async () => timedStore(await stores.offline(), "offline", TIMED_OFFLINE, metrics));
  const deletions = once(async () => {
    const { createDeletions } = await import("../deletions/deletions.ts");
    const made = createDeletions({
      ...{ metadata, online: await online(), offline, telemetry, logs, objects, bus, node: node(), clock, log },
      deliveries: async () => (await webhooks()).deliveries,
      forgetTiles: async ({ environmentId, rows }, signal) => (await aggregates()).forget(environmentId, rows, signal),
      renewVersions: async (environmentId, signal) => (await deployments.opened())?.running.renewVersions(environmentId, signal),
    });
    await made.load().catch(async (error: unknown) => {
      await made.close();
      throw error;
    });
    return made;
  });
  const sinks = once(async () => {
    const { createValueSinks } = await import("../writes/value-sinks.ts");
    const { deleted } = await deletions();
    const made = createValueSinks({ store: deleted.guardOffline(await offline()), log });
    followPersistence(made);
    return made;
  });
  const telemetry = once(async () => {
    const timed = timedStore(await stores.telemetry(), "telemetry", ["query", "queries", "spans"], metrics);
    const noted = notedTelemetry(timed, notes);
    const store: TelemetryStore = exporter
      ? {
          ...noted,
          recordSpans(spans) {
            noted.recordSpans(spans);
            exporter.spans(spans);
          },
        }
      : noted;
    followLimits("the telemetry store", store, telemetryLimits);
    sampleDropped(metrics, "query_log", () => store.dropped() - store.droppedSpans());
    sampleDropped(metrics, "spans", () => store.droppedSpans());
    sweep("stages of queries", { everyMs: STAGES_SWEEP_MS, firstMs: 0 }, async () => {
      const { sweepStages } = await import("../query-log/stages.ts");
      await sweepStages({ telemetry: store, objects });
    });
    return store;
  });
  const metricStore = once(async () => {
    const store = timedStore(await stores.metrics(), "metrics", ["append", "read", "thin"], metrics);
    followLimits("the store of metrics", store, metricLimits);
    sweep("metrics", { everyMs: METRICS_SWEEP_MS }, () => store.thin(clock.now()));
    return store;
  });
  const featureRecorder = createFeatureRecorder({ store: () => metricStore(), clock, log, metrics });
  const driftRecorder = once(async () => {
    const { createDriftRecorder } = await import("../metrics/feature-drift.ts");
    return createDriftRecorder({ store: metricStore, features: featureRecorder, metrics, clock });
  });
  sweep("the drift of features", { everyMs: DRIFT_MS }, async (signal) => (await driftRecorder()).record(signal));
  const metricReader = once(async () => {
    const { createMetricReader } = await import("../metrics/reader.ts");
    return createMetricReader({ store: metricStore, recording: metrics, features: featureRecorder });
  });
  const logs = once(async () => {
    const store = timedStore(await stores.logs(), "logs", ["search", "after", "aggregate"], metrics);
    followLimits("the log store", store, logLimits);
    sampleDropped(metrics, "logs", () => store.dropped());
    return store;
  });
  const openRecorder = createLogRecorder(logs);
  const notedRecorder = notedLines(openRecorder, notes);
  const logRecorder: LogRecorder = exporter
    ? {
        record(record) {
          notedRecorder.record(record);
          exporter.line(record);
        },
      }
    : notedRecorder;
  const startedAt = clock.now();
  const metricStreams = once(async () => {
    const { MetricStreams } = await import("../otlp/metric-streams.ts");
    return new MetricStreams(metrics, startedAt, () => clock.now());
  });
  const tables = once(async () => {
    const { createTableEngine } = await import("../tables/create-table-engine.ts");
    const folder = directory.file("tables");
    return createTableEngine({ folder, libraryFolders, log });
  });
  const processes = once(async () => {
    const { createProcesses } = await import("../processes/processes.ts");
    const made = createProcesses({ store: metadata.processes, node: node(), clock, log, metrics });
    const server = { environmentId: "", deploymentId: "", resourceGroup: DEFAULT_RESOURCE_GROUP, memoryLimitBytes: undefined };
    made.began({ kind: "server", pid: process.pid, ...server }).ready();
    return made;
  });
  const queryCounts = createQueryCounts({ store: metadata.usage, clock, log });
  const storage = createStorageMeter({
    ...{ metadata, objects, node, clock, log, online, offline, telemetry, logs, metrics },
    ...{ metricStore, topics: () => topicStore() },
  });
  sweeps.push(
    startSweep(storage.measure, {
      ...{ everyMs: STORAGE_MEASURE_MS, firstMs: FIRST_STORAGE_MEASURE_MS, clock },
      onError: (error) => log.warning("what the stores hold could not be measured", { error: String(error) }),
    }),
  );
  const historyRetention = createHistoryRetention({
    limits: async () => (await configurations()).historyLimits(),
    ...{ offline, log, now: () => clock.now() },
  });
  sweep("the history", { everyMs: HISTORY_SWEEP_MS, firstMs: FIRST_HISTORY_SWEEP_MS }, historyRetention.enforce);
  const isTracing = (): boolean => !components.isSuspended("telemetry");
  /** Keeps spans of what is no query. */
  const recordSpans = (spans: readonly SpanRecord[]): void => {
    telemetry()
      .then((store) => store.recordSpans(spans))
      .catch((reason: unknown) => log.warning("spans could not be recorded", { error: String(reason) }));
  };
  const recordSpan = (span: SpanRecord): void => {
    if (isTracing()) recordSpans([span]);
  };
  let sampling = samplingOf({});
  components.watch("metrics", ({ spec }) => {
    sampling = samplingOf(spec);
  });
  const tracing = { sampling: () => sampling, isTracing, record: recordSpans };
  const collections: CollectionParts = { documents: metadata.documents, bus, clock, log };
  const webhooks = once(async () => {
    const [{ createWebhooks }, { createOutboxThread }, { ALLOW_VARIABLE, readAllowedNetworks }] = await Promise.all([
      import("../webhooks/webhooks.ts"),
      import("../webhooks/outbox-thread.ts"),
      import("../webhooks/address-guard.ts"),
    ]);
    const { version } = options;
    const allowed = readAllowedNetworks(env[ALLOW_VARIABLE]);
    const keys = serverKeys().sealing;
    const made = createWebhooks({
      ...collections,
      sealer,
      deleted: (await deletions()).deleted,
      version,
      allowed,
      outbox: (find) =>
        createOutboxThread({ ...{ place: metadata.outbox, keys, allowed, node: node(), version, find, clock, log }, recordSpan }),
    });
    sampleDropped(metrics, "webhooks", () => made.deliveries.droppedOfAll());
    return made;
  });
  const topicStore = once(async () => {
    const store = timedStore(await stores.topics(), "topics", ["append", "read"], metrics);
    components.watch("kafka-topics", (record) => void store.limit(topicLimits(record)));
    sweep("messages of topics", { everyMs: TOPICS_SWEEP_MS }, (signal) => store.prune(signal));
    return store;
  });
  const embeddedTopics = once(async () => {
    const { createEmbeddedTopics } = await import("../topics/embedded.ts");
    return createEmbeddedTopics({ store: topicStore, bus });
  });
  /** The homes of what lies with single nodes, once there may be several. */
  const homesOf = async (kind: "stream" | "topic"): Promise<Homes> => {
    const { createHomes, EVERYWHERE } = await import("../topics/homes.ts");
    if (!shared || (kind === "stream" && shared.tiles)) return EVERYWHERE;
    return createHomes({ kind, streams: metadata.streams, nodes: metadata.nodes, node: node() });
  };
  const topicSources = once(async () => {
    const { createTopicSources } = await import("../topics/topic-sources.ts");
    const { secrets: kept } = await secrets();
    return createTopicSources({
      embedded: await embeddedTopics(),
      homes: await homesOf("topic"),
      integrations: async (environmentId) => (await kept.variables(environmentId)).integrations,
      env,
      configuredPartitions: (topic) => configuredTopic(components.recorded("kafka-topics"), topic)?.partitions,
    });
  });
  const secrets = once(async () => {
    const { createSecretCapabilities } = await import("../secrets/create-secrets.ts");
    const plain = async (environmentId: string) => (await (await configurations()).variables()).get(environmentId) ?? {};
    return createSecretCapabilities({ ...collections, sealer, jobs: metadata.jobs, plain });
  });
  const configurations = once(async () => {
    const { createConfigurations } = await import("../environments/configuration.ts");
    return createConfigurations(collections);
  });
  const configOf = async (environmentId: string) => (await (await configurations()).get(environmentId)).config;
  const specs: Specs = async (environmentId) => (await configOf(environmentId)).specs_config;
  const deployments = once(async () => {
    const { createDeployments } = await import("../deployments/deployments.ts");
    return createDeployments({
      tables,
      metadata,
      objects,
      online: (await deletions()).deleted.guardOnline(await online()),
      logs: logRecorder,
      sinks: await sinks(),
      vectors,
      tiles,
      secrets: (await secrets()).secrets,
      bus,
      node: node(),
      clock,
      log,
      processes: await processes(),
      metrics,
      recordError: (error) => recordError(error),
      env,
      home,
      folder: directory.file("deployments"),
      protection: (await configurations()).protection,
      settled: async (deployment) => (await webhooks()).events.deploymentSettled(deployment),
      advice: async (graph, environmentId) => {
        const { untoldWebhooks } = await import("../monitors/untold-webhooks.ts");
        return graph.monitors.length === 0 ? [] : untoldWebhooks(graph, await (await webhooks()).list(environmentId));
      },
      async groups(environmentId) {
        const { specs_config: own, worker_container: container } = await configOf(environmentId);
        return { specs: own, container };
      },
      async workerContainers() {
        const { createWorkerContainers } = await import("../images/worker-containers.ts");
        return createWorkerContainers(await images(), (await containers()).engine, { folder: imagesFolder, node: node() });
      },
      workers: options.workers,
      ...(options.idleMs === undefined ? {} : { idleMs: options.idleMs }),
    });
  });
  const connections = once(async () => {
    const { createConnections } = await import("../connections/create-connections.ts");
    return createConnections({
      ...collections,
      sealer,
      routes: {},
      environments: (teamId) => metadata.environments(teamId),
    });
  });
  const approvals = once(async () => {
    const [{ createApprovals }, { createChanges }, { createValueChanges }, { createEnvironmentLifecycle }] = await Promise.all([
      import("../approvals/approvals.ts"),
      import("../approvals/changes.ts"),
      import("../approvals/value-changes.ts"),
      import("../environments/lifecycle.ts"),
    ]);
    const { secrets: kept, integrations } = await secrets();
    // What this node remembers of environments is told by the bus, as on others.
    const lifecycle = createEnvironmentLifecycle({ metadata, bus, clock, invalidate: () => undefined });
    const values = createValueChanges({
      ...{ metadata, deletions, deployments: await deployments() },
      uploads: async () => (await valueUploads()).kept,
    });
    return createApprovals({
      metadata,
      protection: (await configurations()).protection,
      deployments: await deployments(),
      changes: createChanges({ secrets: kept, integrations, configurations: await configurations(), lifecycle, values }),
      ...{ sealer, bus, clock },
    });
  });
  const recordError: JobErrorRecorder = ({ failedRows, ...error }) => {
    const code = failedRows > 0 ? "RESOLVER_FAILED" : "";
    const record = { ...error, at: clock.now(), code, feature: "", count: Math.max(1, failedRows), omitted: 0 };
    telemetry()
      .then((store) => store.recordErrors([record]))
      .catch((reason: unknown) => log.warning("an error of a job could not be recorded", { error: String(reason) }));
  };
  const resolverRuns = once(async () => {
    const { createResolverRunCapabilities } = await import("../resolver-runs/create-resolver-runs.ts");
    return createResolverRunCapabilities({
      metadata,
      deployments: await deployments(),
      protection: (await configurations()).protection,
      online: await online(),
      offline,
      sinks: await sinks(),
      ...{ metrics, bus, clock, log, recordError, tracing },
    });
  });
  const aggregates = once(async () => {
    const { createAggregates } = await import("../aggregates/aggregates.ts");
    return createAggregates({
      ...{ metadata, deployments: await deployments(), bus, clock, log, tiles, tables },
      ...{ online: await online(), offline, deleted: (await deletions()).deleted, revisions: (await datasets()).revisions },
      specs,
      folder: directory.file(join("tmp", "aggregates")),
      metrics,
    });
  });
  const tasks = once(async () => {
    const [{ createTasks }, { createSourceFiles }] = await Promise.all([
      import("../tasks/tasks.ts"),
      import("../deployments/source-files.ts"),
    ]);
    const folder = directory.file("tasks");
    await rm(folder, { recursive: true, force: true });
    const kept = await configurations();
    return createTasks({
      metadata,
      deployments: await deployments(),
      protection: kept.protection,
      specs,
      sources: createSourceFiles(objects),
      processes: await processes(),
      logs: logRecorder,
      ...{ folder, bus, clock },
    });
  });
  const statements = once(async () => {
    const { createStatements } = await import("../catalog/statements.ts");
    const { revisions } = await datasets();
    return createStatements({ metadata, offline, tables, fetch: revisions.fetch, folder: join(directory.file("tmp"), "statements") });
  });
  const datasets = once(async () => {
    const { createDatasetCapabilities } = await import("../datasets/create-datasets.ts");
    return createDatasetCapabilities({
      ...{ metadata, objects, clock, log, tables },
      folder: join(directory.file("tmp"), "datasets"),
      personal: async (environmentId) => {
        const known = await deployments();
        const live = known.live(environmentId, "");
        const { featureSets } = live === undefined ? { featureSets: [] } : await known.graph(live);
        const personal = featureSets.flatMap(({ features }) => features).filter(({ tags }) => tags.includes("pii"));
        return new Set(personal.map(({ fqn }) => fqn));
      },
    });
  });
  const offlineQueries = once(async () => {
    const [{ createOfflineQueries }, { servingWorkers }] = await Promise.all([
      import("../offline-queries/offline-queries.ts"),
      import("../deployments/builder.ts"),
    ]);
    const folder = directory.file(join("tmp", "offline-queries"));
    await rm(folder, { recursive: true, force: true });
    return createOfflineQueries({
      metadata,
      objects,
      deployments: await deployments(),
      protection: (await configurations()).protection,
      specs,
      workers: servingWorkers(options),
      online: await online(),
      offline,
      sinks: await sinks(),
      revisions: (await datasets()).revisions,
      tables,
      ...{ folder, metrics, bus, clock, log, recordError, tracing },
    });
  });
  const valueUploads = once(async () => {
    const { createValueUploads } = await import("../value-uploads/value-uploads.ts");
    return createValueUploads({
      metadata,
      deployments: await deployments(),
      objects,
      online: await online(),
      offline,
      deleted: (await deletions()).deleted,
      tables,
      uploaded: async (part) => (await webhooks()).events.uploaded(part),
      isSuspended: () => components.isSuspended("persistence"),
      folder: directory.file("uploads"),
      ...{ bus, clock, log },
    });
  });
  const streamCapabilities = once(async () => {
    const { createStreamCapabilities } = await import("../streams/create-streams.ts");
    return createStreamCapabilities({
      metadata,
      deployments: await deployments(),
      online: await online(),
      offline,
      deleted: (await deletions()).deleted,
      ...{ tables, tiles },
      homes: { topics: await homesOf("topic"), streams: await homesOf("stream") },
      open: async (environmentId, source) => (await topicSources()).open(environmentId, source),
      tellStopped: async (stopped) => (await webhooks()).events.streamStopped(stopped),
      isSuspended: () => components.isSuspended("persistence"),
      ...{ metrics, bus, clock, log, node: node() },
    });
  });
  const streams = async (): Promise<Streams> => (await streamCapabilities()).streams;
  const streamRunner = once(async () => (await streamCapabilities()).start());
  const scheduledQueries = once(async () => {
    const { createScheduledQueries } = await import("../scheduled-queries/scheduled-queries.ts");
    return createScheduledQueries({ metadata, deployments: await deployments(), queries: offlineQueries, bus, clock, log });
  });
  const evaluations = once(async () => {
    const { createEvaluations } = await import("../evaluations/evaluations.ts");
    const folder = directory.file(join("tmp", "evaluations"));
    await rm(folder, { recursive: true, force: true });
    const { datasets: known, revisions } = await datasets();
    return createEvaluations({
      metadata,
      deployments: await deployments(),
      protection: (await configurations()).protection,
      async hasNetwork(environmentId) {
        const { image, network } = (await configOf(environmentId)).worker_container;
        return image === "" || network;
      },
      ...{ datasets: known, revisions, tables },
      processes: await processes(),
      logs: logRecorder,
      ...{ folder, metrics, bus, clock },
    });
  });
  const functions = once(async () => {
    const { createFunctions } = await import("../functions/functions.ts");
    return createFunctions({ metadata, deployments: await deployments(), ...{ metrics, recordError, tracing, bus, clock } });
  });
  let ownUrl = "";
  const benchmarks = once(async () => {
    const [{ createBenchmarks }, { engineAddress, findEngine }, { createTokens }, { ALLOW_VARIABLE, readAllowedNetworks }] =
      await Promise.all([
        import("../benchmarks/benchmarks.ts"),
        import("../engines/find-engine.ts"),
        import("../access/tokens.ts"),
        import("../webhooks/address-guard.ts"),
      ]);
    const folder = directory.file(join("tmp", "benchmarks"));
    await rm(folder, { recursive: true, force: true });
    return createBenchmarks({
      ...{ metadata, collections, tables, folder, bus, clock, version: options.version },
      deployments: await deployments(),
      protection: (await configurations()).protection,
      ...(await datasets()),
      tokens: createTokens({ keys: serverKeys().tokens, clock }),
      url: () => ownUrl,
      allowed: readAllowedNetworks(env[ALLOW_VARIABLE]),
      engine: () => (engineAddress(env, env.HOME ?? home)?.kind === "socket" ? findEngine(env, env.HOME ?? home) : undefined),
    });
  });
  const shells = once(async () => {
    const { createShells } = await import("../shells/shells.ts");
    const folder = directory.file(join("tmp", "shells"));
    await rm(folder, { recursive: true, force: true });
    return createShells({
      metadata,
      deployments: await deployments(),
      protection: (await configurations()).protection,
      processes: await processes(),
      containers: async () => (await containers()).pods,
      keys: serverKeys().objects,
      ...{ folder, clock, log },
    });
  });
  const containers = once(async (): Promise<ContainerCapabilities> => {
    const { createContainerCapabilities } = await import("../containers/create-containers.ts");
    const known = await deployments();
    return createContainerCapabilities({
      ...collections,
      ...{ env, home: env.HOME ?? home, folder: directory.file("volumes"), hostFolder: directory.file("host-programs"), node: node() },
      goneNodes: createGoneNodes(metadata.nodes, node()),
      secrets: async () => (await secrets()).secrets,
      halted: (environmentId) => known.halted(environmentId),
      logs: logRecorder,
      recorded: logs,
      journal: metadata.processes,
      keys: serverKeys().objects,
      metrics,
      groupNames: async () => (await scalingGroups.opened())?.names() ?? new Map(),
    });
  });
  const imagesFolder = directory.file(join("tmp", "images"));
  const images = once(async (): Promise<Images> => {
    const { createImages } = await import("../images/images.ts");
    const { GROUPS, imagesOfGroups } = await import("../scaling-groups/group-records.ts");
    const { engine } = await containers();
    const known = await deployments();
    return createImages({
      ...{ engine, env, home: env.HOME ?? home, folder: imagesFolder, node: node(), clock, log },
      builds: metadata.imageBuilds,
      halted: (environmentId) => known.halted(environmentId),
      changed: (environmentId) => noteChange(bus, "deployments", environmentId),
      needed: async () => imagesOfGroups(await metadata.documents.list(GROUPS.kind)),
    });
  });
  const resumed = once(async () => (await containers()).resume());
  const scalingGroups = once(async () => {
    const { createScalingGroups } = await import("../scaling-groups/scaling-groups.ts");
    await resumed();
    const groups = createScalingGroups({
      ...collections,
      containers: (await containers()).containers,
      environments: () => metadata.environments(),
      ...{ sealer, node: node(), metrics, journal: metadata.processes },
      goneNodes: createGoneNodes(metadata.nodes, node()),
      pace: options.groupIdleMs === undefined ? {} : { idleMs: options.groupIdleMs },
    });
    await groups.start();
    return groups;
  });
  const notebooks = once(async () => {
    const { createNotebooks } = await import("../notebooks/notebooks.ts");
    const folder = directory.file("notebooks");
    await rm(folder, { recursive: true, force: true });
    return createNotebooks({
      metadata,
      deployments: await deployments(),
      protection: (await configurations()).protection,
      processes: await processes(),
      logs: logRecorder,
      ...{ folder, node: node(), bus, clock, log, idleMs: options.kernelIdleMs },
    });
  });
  const monitors = once(async () => {
    const { createMonitors } = await import("../monitors/monitors.ts");
    return createMonitors({
      ...{ metadata, deployments: await deployments(), reader: metricReader, bus, clock, log },
      events: async () => (await webhooks()).events,
    });
  });
  /**
   * The recurring jobs that run once for all nodes; sweeps of stores that nodes share are added
   * here.
   */
  const recurring: readonly RecurringJob[] = [
    ...retentionJobs(metadata, () => clock.now()),
    resealingOf("secrets", secrets),
    resealingOf("connections", connections),
    resealingOf("webhooks", webhooks),
    resealingOf("scaling-groups", scalingGroups),
    { kind: "purge-deliveries", schedule: "1h", run: async () => (await webhooks()).deliveries.purge() },
    resealingOf("approvals", approvals),
    { kind: "approvals-upkeep", schedule: "10m", run: async (signal) => (await approvals()).upkeep(signal) },
    { kind: "purge-value-uploads", schedule: "1h", run: async (signal) => (await valueUploads()).upkeep(signal) },
    auditRetention({ store: metadata.audit, clock, log }),
    { kind: "offline-queries-upkeep", schedule: "1h", run: async (signal) => (await offlineQueries()).upkeep(signal) },
    { kind: "datasets-upkeep", schedule: "1h", run: async (signal) => (await datasets()).upkeep.run(signal) },
    { kind: "aggregates-upkeep", schedule: "1h", run: async (signal) => (await aggregates()).upkeep(signal) },
    { kind: "evaluate-monitors", schedule: "1m", run: async (signal) => (await monitors()).evaluate(signal) },
    {
      kind: "purge-dead-letters",
      schedule: "1h",
      run: async () => {
        const { LETTERS_KEPT_MS } = await import("../streams/create-streams.ts");
        await metadata.streams.purgeLetters(LETTERS_KEPT_MS);
      },
    },
    { kind: "measure-objects", schedule: "10m", run: storage.measureObjects },
  ];
  /** Removes the files of datasets of an environment, and the rows of its queries. */
  const forgetFiles = async (environmentId: string, signal: AbortSignal): Promise<void> => {
    await (await datasets()).revisions.forget(environmentId, signal);
    await (await offlineQueries()).inputs.forget(environmentId, signal);
  };
  const forgetMetrics = async (environmentId: string): Promise<void> => {
    metrics.forgetEnvironment(environmentId);
    featureRecorder.forgetEnvironment(environmentId);
    await (await metricStore()).forgetEnvironment(environmentId);
  };
  /** The erasure of removed environments, loaded when there is one. */
  const eraser = once(async () => {
    const { createErasure } = await import("../deployments/erasure.ts");
    return createErasure({
      metadata,
      objects,
      online: await online(),
      offline,
      tiles,
      sinks: await sinks(),
      telemetry: await telemetry(),
      metrics: { forgetEnvironment: forgetMetrics },
      logs: await logs(),
      topics: await topicStore(),
      deployments: await deployments(),
      datasets: { forget: forgetFiles },
      containers: { forget: async (environmentId) => (await containers()).forget(environmentId) },
      deliveries: (await webhooks()).deliveries,
      node: node(),
      clock,
      log,
    });
  });
  const erasure: JobHandler = {
    run: async (job, attempt) => (await eraser()).run(job, attempt),
    giveUp: async (job, reason) => (await eraser()).giveUp(job, reason),
  };
  /** The handlers of jobs, by kind. */
  const jobHandlers = once(async (): Promise<Readonly<Record<string, JobHandler>>> => {
    const [
      { APPROVAL_JOB },
      { BUILD_JOB },
      { CLEANUP_JOB },
      { recurringHandlers },
      { ERASURE_JOB },
      { RESOLVER_RUN_JOB },
      { BACKFILL_JOB },
      { TASK_JOB },
      { EVALUATION_JOB },
      { FUNCTION_CALL_JOB },
      { BENCHMARK_JOB },
      { SCHEDULED_QUERY_JOB },
      { OFFLINE_QUERY_JOB },
      { VALUE_UPLOAD_JOB },
    ] = await Promise.all([
      import("../approvals/approvals.ts"),
      import("../deployments/builds.ts"),
      import("../deployments/removals.ts"),
      import("../jobs/recurring.ts"),
      import("../environments/lifecycle.ts"),
      import("../resolver-runs/resolver-runs.ts"),
      import("../aggregates/aggregates.ts"),
      import("../tasks/tasks.ts"),
      import("../evaluations/evaluations.ts"),
      import("../functions/functions.ts"),
      import("../benchmarks/benchmarks.ts"),
      import("../scheduled-queries/scheduled-queries.ts"),
      import("../offline-queries/query-jobs.ts"),
      import("../value-uploads/value-uploads.ts"),
    ]);
    const { builds, cleanups } = await deployments();
    return {
      ...{ [BUILD_JOB]: builds, [CLEANUP_JOB]: cleanups, [ERASURE_JOB]: erasure, [APPROVAL_JOB]: (await approvals()).handler },
      [RESOLVER_RUN_JOB]: (await resolverRuns()).runs.handler,
      [BACKFILL_JOB]: (await aggregates()).handler,
      [TASK_JOB]: (await tasks()).handler,
      [EVALUATION_JOB]: (await evaluations()).handler,
      [FUNCTION_CALL_JOB]: (await functions()).handler,
      [BENCHMARK_JOB]: (await benchmarks()).handler,
      [SCHEDULED_QUERY_JOB]: (await scheduledQueries()).handler,
      [OFFLINE_QUERY_JOB]: (await offlineQueries()).handler,
      [VALUE_UPLOAD_JOB]: (await valueUploads()).handler,
      ...recurringHandlers(recurring),
    };
  });
  const jobQueue = once(async () => {
    const { createJobQueue } = await import("../jobs/queue.ts");
    return createJobQueue({ jobs: metadata.jobs, kinds: Object.keys(await jobHandlers()), bus, clock });
  });
  const workflows = once(async () => {
    const { createWorkflows } = await import("../jobs/workflows.ts");
    return createWorkflows({ jobs: metadata.jobs, workflows: metadata.workflows, bus, now: () => clock.now() });
  });
  const jobRunner = once(async () => {
    const { startJobRunner } = await import("../jobs/runner.ts");
    return startJobRunner({
      ...{ jobs: metadata.jobs, bus, clock, log, node: node(), metrics },
      ...{ slots: JOB_SLOTS, longSlots: LONG_JOB_SLOTS, handlers: await jobHandlers() },
    });
  });
  const scheduler = once(async () => {
    const [{ startScheduler }, { RESOLVER_RUN_JOB }] = await Promise.all([
      import("../jobs/scheduler.ts"),
      import("../resolver-runs/resolver-runs.ts"),
    ]);
    (await resolverRuns()).schedules.start();
    (await scheduledQueries()).schedules.start();
    (await aggregates()).schedules.start();
    return startScheduler({ schedules: metadata.schedules, recurring, workflows: { [RESOLVER_RUN_JOB]: "cron" }, bus, clock, log });
  });

  return {
    keys: serverKeys(),
    metadata,
    openTenant: async () => {
      if ((await metadata.environments()).length === 0) stores.refuseEmptyMetadata();
      const created = await createFirstTenant(metadata, clock.now());
      if (!shared) stores.noteMetadata();
      return created;
    },
    objects,
    bus,
    recentChanges,
    components,
    node,
    online,
    offline,
    sinks,
    tiles,
    telemetry,
    metricStore,
    metrics,
    featureRecorder,
    exported: () => exporter?.standing() ?? {},
    metricReader,
    logs,
    logRecorder,
    metricStreams,
    tables,
    topicStore,
    embeddedTopics,
    topicSources,
    statements,
    processes,
    queryCounts,
    storage,
    deployments,
    historyRetention,
    deletions,
    datasets,
    sealer,
    webhooks,
    onlineAddress: stores.onlineAddress,
    collections,
    secrets,
    configurations,
    approvals,
    streams,
    streamRunner,
    resolverRuns,
    tasks,
    evaluations,
    functions,
    benchmarks,
    shells,
    containers,
    images,
    async resumeContainers() {
      const isKept = async (kind: string) => (await metadata.documents.list(kind)).length > 0;
      if ((await isKept("container")) || (await isKept("sandbox"))) await resumed();
      if (await isKept("scaling_group")) await scalingGroups();
      // A server that stopped by itself has removed it.
      if (existsSync(imagesFolder)) await (await images()).resume();
    },
    scalingGroups,
    listensAt(url) {
      ownUrl = url;
    },
    notebooks,
    workflows,
    aggregates,
    scheduledQueries,
    monitors,
    offlineQueries,
    valueUploads,
    connections,
    jobQueue,
    jobRunner,
    scheduler,
    explain: stores.explain,
    async drain() {
      await (await scheduler.opened())?.stop();
      await (await streamRunner.opened())?.stop();
      (await jobRunner.opened())?.drain();
      await (await webhooks.opened())?.drain();
      await queryCounts.flush();
    },
    async close() {
      await scheduler.close((one) => one.stop());
      await streamRunner.close((one) => one.stop());
      await resolverRuns.close(({ schedules }) => schedules.stop());
      await scheduledQueries.close(({ schedules }) => schedules.stop());
      await aggregates.close(({ schedules }) => schedules.stop());
      await jobRunner.close((one) => one.stop());
      await shells.close((one) => one.close());
      await scalingGroups.close((one) => one.close());
      await resumed.close();
      await images.close((one) => one.close());
      await containers.close((one) => one.close());
      await notebooks.close((one) => one.close());
      await deletions.close((one) => one.close());
      await webhooks.close((one) => one.close());
      await topicSources.close((one) => one.close());
      await embeddedTopics.close((one) => one.close());
      await deployments.close((one) => one.close());
      const endedDatasets = datasets.close((one) => one.close());
      await tables.close((one) => one.close());
      await endedDatasets;
      await connections.close((one) => one.close());
      await processes.close((one) => one.close());
      await secrets.close((one) => one.close());
      await components.close();
      await queryCounts.close();
      await sinks.close((one) => one.close());
      // What they hand over can open the store, and that begins a sweep.
      await featureRecorder.close();
      await exporter?.close();
      await metrics.close();
      areSweepsOver = true;
      await Promise.all(sweeps.map((one) => one.stop()));
      await storage.settle();
      await openRecorder.close();
      notes.close();
      recentChanges.close();
      const opened: readonly Once<{ close(): unknown }>[] = [
        offline,
        ...(shared?.tiles ? [] : [tiles]),
        telemetry,
        logs,
        online,
        metricStore,
        topicStore,
      ];
      for (const store of opened) await store.close((one) => one.close());
      await vectors.close((one) => one.close());
      await stores.close();
    },
  };
}
