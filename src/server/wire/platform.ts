/**
 * The stores and capabilities of a server, which its services and pages use; made once by `start`.
 */

import type { Clock } from "../../context/clock.ts";
import type { BrowserSessions } from "../access/browser-sessions.ts";
import type { Callers } from "../access/callers.ts";
import type { Clients } from "../access/clients.ts";
import type { Environments } from "../access/environments.ts";
import type { ServerKeys } from "../access/keys.ts";
import type { LoginSessions } from "../access/login-sessions.ts";
import type { OidcLogins } from "../access/oidc/logins.ts";
import type { Projects } from "../access/projects.ts";
import type { Sealer } from "../access/sealing.ts";
import type { Caller, Tokens } from "../access/tokens.ts";
import type { AfterAnswers } from "../after-answers.ts";
import type { Aggregates } from "../aggregates/aggregates.ts";
import type { Approvals } from "../approvals/approvals.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Benchmarks } from "../benchmarks/benchmarks.ts";
import type { Statements } from "../catalog/statements.ts";
import type { KeptCharts } from "../charts/kept-charts.ts";
import type { Connections } from "../connections/create-connections.ts";
import type { ContainerCapabilities } from "../containers/create-containers.ts";
import type { DatasetCapabilities } from "../datasets/create-datasets.ts";
import type { Deletions } from "../deletions/deletions.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { CollectionParts } from "../documents/collection.ts";
import type { Configurations } from "../environments/configuration.ts";
import type { EnvironmentLifecycle } from "../environments/lifecycle.ts";
import type { Evaluations } from "../evaluations/evaluations.ts";
import type { Functions } from "../functions/functions.ts";
import type { Images } from "../images/images.ts";
import type { Components } from "../infrastructure/components.ts";
import type { Infrastructure } from "../infrastructure/infrastructure.ts";
import type { JobQueue } from "../jobs/queue.ts";
import type { Workflows } from "../jobs/workflows.ts";
import type { Log } from "../log.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import type { FeatureRecorder } from "../metrics/feature-recorder.ts";
import type { HttpMeter } from "../metrics/http-meter.ts";
import type { MetricReader } from "../metrics/reader.ts";
import type { MetricRecording } from "../metrics/recorder.ts";
import type { Monitors } from "../monitors/monitors.ts";
import type { Readiness } from "../nodes/readiness.ts";
import type { Notebooks } from "../notebooks/notebooks.ts";
import type { OfflineQueries } from "../offline-queries/offline-queries.ts";
import type { MetricStreams } from "../otlp/metric-streams.ts";
import type { Processes } from "../processes/processes.ts";
import type { ResolverRunCapabilities } from "../resolver-runs/create-resolver-runs.ts";
import type { ScalingGroups } from "../scaling-groups/scaling-groups.ts";
import type { ScheduledQueries } from "../scheduled-queries/scheduled-queries.ts";
import type { SecretCapabilities } from "../secrets/create-secrets.ts";
import type { Shells } from "../shells/shells.ts";
import type { LogStore } from "../stores/logs/store.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { MetricStore } from "../stores/metrics/store.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { TelemetryStore } from "../stores/telemetry/store.ts";
import type { TileStore } from "../stores/tiles/store.ts";
import type { TopicStore } from "../stores/topics/store.ts";
import type { Streams } from "../streams/streams.ts";
import type { Support } from "../support/support.ts";
import type { TableEngine } from "../tables/engine.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { TopicSources } from "../topics/topic-sources.ts";
import type { UsageSettings } from "../usage/credits.ts";
import type { QueryCounts } from "../usage/query-counts.ts";
import type { Usage } from "../usage/usage.ts";
import type { ValueUploads } from "../value-uploads/value-uploads.ts";
import type { RecentChanges } from "../watches/recent-changes.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { BodyBudget } from "./http/body-budget.ts";
import type { ReleaseMirror } from "./http/releases.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { Queries } from "./query/endpoint.ts";

/**
 * The parts of a running server. Parts that take time to load are behind a function and loaded on
 * first use.
 */
export interface Platform {
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** Base address of the API and of the dashboard, without a slash at the end. */
  readonly url: string;
  /**
   * The base address as the sender of these headers reaches it: their Host where that is an allowed
   * host, such as a proxy's, else `url`.
   */
  readonly addressFor: (headers: Headers) => string;
  /** The address for gRPC as the sender of these headers reaches it. */
  readonly grpcAddressFor: (headers: Headers) => string;
  /** The address of the gateway as the sender of these headers reaches it. */
  readonly gatewayAddressFor: (headers: Headers) => string;
  /** Absolute folder of all state. */
  readonly dataDir: string;
  readonly headless: boolean;
  /** Whether clients on this machine get `/metrics` without a token. */
  readonly metricsOpen: boolean;
  /** The releases that the server serves; undefined when it is not a mirror. */
  readonly releases: ReleaseMirror | undefined;
  readonly keys: ServerKeys;
  /** Encryption of secrets at rest. */
  readonly sealer: Sealer;
  /** The stores and signals of collections of documents. */
  readonly collections: CollectionParts;
  /** Who called what. */
  readonly audit: AuditLog;
  readonly tokens: Tokens;
  readonly clients: Clients;
  readonly callers: Callers;
  readonly environments: Environments;
  /** Projects, and where folders are deployed to. */
  readonly projects: () => Promise<Projects>;
  readonly configurations: () => Promise<Configurations>;
  /** Suspends, resumes, renames and removes environments. */
  readonly environmentLifecycle: () => Promise<EnvironmentLifecycle>;
  readonly browserSessions: BrowserSessions;
  readonly loginSessions: LoginSessions;
  /** Logins at an identity provider; undefined when the configuration names none. */
  readonly oidc: OidcLogins | undefined;
  /** Whether this node should be sent requests. */
  readonly readiness: Readiness;
  /** Room for the bodies of requests. */
  readonly bodies: BodyBudget;
  readonly metadata: MetadataStore;
  /** Id of this node. */
  readonly node: () => string;
  /** The processes of this node. */
  readonly processes: () => Promise<Processes>;
  /** What the configuration says of usage. */
  readonly usageSettings: UsageSettings;
  /** What was used. */
  readonly usage: () => Promise<Usage>;
  /** The count of this node's queries. */
  readonly queryCounts: QueryCounts;
  /** What is recorded of requests when they are answered. */
  readonly afterAnswers: AfterAnswers;
  /** What is recorded of the server's components, and which are suspended. */
  readonly components: Components;
  /** The counters of this node's requests. */
  readonly http: HttpMeter;
  /** The components as they are. */
  readonly infrastructure: () => Promise<Infrastructure>;
  readonly objects: ObjectStore;
  readonly online: () => Promise<OnlineStore>;
  readonly telemetry: () => Promise<TelemetryStore>;
  /** The store of metrics. */
  readonly metricStore: () => Promise<MetricStore>;
  /** The recording of metrics on this node. */
  readonly metrics: MetricRecording;
  /** The recording of features' statistics on this node. */
  readonly featureRecorder: FeatureRecorder;
  /** What was recorded of metrics. */
  readonly metricReader: () => Promise<MetricReader>;
  /** The streams that callers hold open. */
  readonly openStreams: OpenStreams;
  /** Changes that callers may follow. */
  readonly recentChanges: RecentChanges;
  /** Aborted when the server is told to stop: streams without an end of their own end then. */
  readonly stopping: AbortSignal;
  /** Lines and requests. */
  readonly logs: () => Promise<LogStore>;
  /** Hands records to the log store. */
  readonly logRecorder: LogRecorder;
  /** What applications count. */
  readonly metricStreams: () => Promise<MetricStreams>;
  /** The store of the server's own topics. */
  readonly topicStore: () => Promise<TopicStore>;
  /** Topics by the sources that mean them. */
  readonly topicSources: () => Promise<TopicSources>;
  readonly deployments: () => Promise<Deployments>;
  readonly deletions: () => Promise<Deletions>;
  /** Datasets and their revisions. */
  readonly datasets: () => Promise<DatasetCapabilities>;
  /** SQL statements over what is stored. */
  readonly statements: () => Promise<Statements>;
  /** Secrets and integrations. */
  readonly secrets: () => Promise<SecretCapabilities>;
  /** The queue of jobs. */
  readonly jobQueue: () => Promise<JobQueue>;
  /** Offline queries that run by themselves. */
  readonly scheduledQueries: () => Promise<ScheduledQueries>;
  /** Aggregates that are kept in tiles. */
  readonly aggregates: () => Promise<Aggregates>;
  /** The store of tiles. */
  readonly tiles: () => Promise<Pick<TileStore, "probe">>;
  /** Resolvers of topics. */
  readonly streams: () => Promise<Streams>;
  /** Charts that are kept with projects. */
  readonly charts: () => Promise<KeptCharts>;
  readonly monitors: () => Promise<Monitors>;
  /** Jobs with one purpose, as a graph of operations. */
  readonly workflows: () => Promise<Workflows>;
  /** Requests for approval. */
  readonly approvals: () => Promise<Approvals>;
  /** Runs of resolvers by themselves, and their schedules. */
  readonly resolverRuns: () => Promise<ResolverRunCapabilities>;
  /** Scripts, modules and functions that run once. */
  readonly tasks: () => Promise<Tasks>;
  /** Functions that are called for each row of a dataset, and scored. */
  readonly evaluations: () => Promise<Evaluations>;
  /** Functions that callers run with arguments of their own. */
  readonly functions: () => Promise<Functions>;
  /** Programs that people run by hand. */
  readonly shells: () => Promise<Shells>;
  /** Programs of images, and what they keep. */
  readonly containers: () => Promise<ContainerCapabilities>;
  /** Images that are made of a base, requirements and files. */
  readonly images: () => Promise<Images>;
  readonly scalingGroups: () => Promise<ScalingGroups>;
  /** Load on the query endpoint. */
  readonly benchmarks: () => Promise<Benchmarks>;
  /** Cells that are kept with what they gave, and the kernels that run them. */
  readonly notebooks: () => Promise<Notebooks>;
  /** Offline queries. */
  readonly offlineQueries: () => Promise<OfflineQueries>;
  /** Uploads of values. */
  readonly valueUploads: () => Promise<ValueUploads>;
  /** Cloud accounts, storage configurations and connections to offline stores. */
  readonly connections: () => Promise<Connections>;
  readonly queries: () => Promise<Queries<Caller>>;
  readonly webhooks: () => Promise<Webhooks>;
  /** The table engine. */
  readonly tables: () => Promise<TableEngine>;
  readonly offline: () => Promise<OfflineStore>;
  /** Flares and feedback. */
  readonly support: () => Promise<Support>;
  /** Address of the online store, without credentials. */
  readonly onlineAddress: string;
}
