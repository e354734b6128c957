/**
 * The metadata store: each noun has a file of its own, and this one combines them. Every method is
 * one atomic step, and a write that was acknowledged survives a power cut. Times are epoch
 * milliseconds. A user of the store depends only on the nouns that it needs. The conformance suite
 * of a noun runs against every driver.
 */

import type { ApprovalStore } from "./approvals.ts";
import type { AuditStore } from "./audit.ts";
import type { DatasetStore } from "./datasets.ts";
import type { DeletionStore } from "./deletions.ts";
import type { DeploymentStore } from "./deployments.ts";
import type { DocumentStore } from "./documents.ts";
import type { EvaluationStore } from "./evaluations.ts";
import type { FunctionCallStore } from "./function-calls.ts";
import type { FunctionStore } from "./functions.ts";
import type { GraphStore } from "./graphs.ts";
import type { IdentityStore } from "./identity.ts";
import type { ImageBuildStore } from "./image-builds.ts";
import type { IncrementalStore } from "./incremental.ts";
import type { JobStore } from "./jobs.ts";
import type { MonitorStore } from "./monitors.ts";
import type { NodeStore } from "./nodes.ts";
import type { NotebookStore } from "./notebooks.ts";
import type { OfflineQueryStore } from "./offline-queries.ts";
import type { OutboxPlace } from "./outbox.ts";
import type { ProcessStore } from "./processes.ts";
import type { ProgressStore } from "./progress.ts";
import type { ProjectStore } from "./projects.ts";
import type { ResolverRunStore } from "./resolver-runs.ts";
import type { ScheduleStore } from "./schedules.ts";
import type { SeriesStore } from "./series.ts";
import type { SessionStore } from "./sessions.ts";
import type { StreamStore } from "./streams.ts";
import type { TaskStore } from "./tasks.ts";
import type { UploadStore } from "./uploads.ts";
import type { UsageStore } from "./usage.ts";
import type { ValueUploadStore } from "./value-uploads.ts";
import type { VersionStore } from "./versions.ts";
import type { WorkflowStore } from "./workflows.ts";

/** The store of all nouns. A noun whose methods have generic names is a member of its own. */
export interface MetadataStore extends IdentityStore, ProjectStore, SessionStore, UploadStore, DeploymentStore, GraphStore, VersionStore {
  /** Requests for approval. */
  readonly approvals: ApprovalStore;
  /** Who called what. */
  readonly audit: AuditStore;
  /** Datasets and their revisions. */
  readonly datasets: DatasetStore;
  /** Deletions of stored values. */
  readonly deletions: DeletionStore;
  /** The settings of the control plane. */
  readonly documents: DocumentStore;
  /** Versions of the functions that callers run. */
  readonly functions: FunctionStore;
  /** Calls of such functions that were kept. */
  readonly functionCalls: FunctionCallStore;
  /** Builds of virtual environments and of images. */
  readonly imageBuilds: ImageBuildStore;
  /** Progress of what runs incrementally. */
  readonly incremental: IncrementalStore;
  readonly jobs: JobStore;
  /** Monitors as they stand. */
  readonly monitors: MonitorStore;
  /** Offline queries. */
  readonly offlineQueries: OfflineQueryStore;
  /** Where the outbox of webhooks is, which is opened in a thread of its own. */
  readonly outbox: OutboxPlace;
  /** The nodes of the platform. */
  readonly nodes: NodeStore;
  /** Notebooks, their cells and their kernels. */
  readonly notebooks: NotebookStore;
  /** Processes of the nodes. */
  readonly processes: ProcessStore;
  /** Lines about the progress of deployments. */
  readonly progress: ProgressStore;
  /** Runs of evaluations. */
  readonly evaluations: EvaluationStore;
  /** Runs of resolvers by themselves. */
  readonly resolverRuns: ResolverRunStore;
  /** Schedules of recurring jobs. */
  readonly schedules: ScheduleStore;
  /** Ids of series of tiles. */
  readonly series: SeriesStore;
  /** Resolvers of topics: leases of their partitions, and dead letters. */
  readonly streams: StreamStore;
  /** Scripts, modules and functions that run once. */
  readonly tasks: TaskStore;
  /** What was used, by day. */
  readonly usage: UsageStore;
  /** Jobs with one purpose, as a graph of operations. */
  readonly workflows: WorkflowStore;
  /** Uploads of values from files. */
  readonly valueUploads: ValueUploadStore;
  /**
   * Removes expired uploads, entries, logins and sessions of all kinds, uploads, login sessions and
   * clients of command lines a day after they expired; returns their number.
   */
  purgeExpired(): Promise<number>;

  /** Bytes in use. */
  bytes(): Promise<number>;
  /** Writes and reads a row. Rejects when that fails. */
  probe(): Promise<void>;
  /** Commits pending writes and closes the files. */
  close(): Promise<void>;
}
