/**
 * The metadata store: a file for each noun, and here all of them together. Every method is one
 * atomic step, and a write that was acknowledged survives a power cut. Times are epoch
 * milliseconds. Who works with the store asks for the nouns that it needs. The conformance suite of
 * a noun runs against every driver.
 */

import type { DeploymentStore } from "./deployments.ts";
import type { GraphStore } from "./graphs.ts";
import type { IdentityStore } from "./identity.ts";
import type { JobStore } from "./jobs.ts";
import type { NodeStore } from "./nodes.ts";
import type { ProgressStore } from "./progress.ts";
import type { ScheduleStore } from "./schedules.ts";
import type { SessionStore } from "./sessions.ts";
import type { UploadStore } from "./uploads.ts";
import type { VersionStore } from "./versions.ts";

/** The store of all nouns. One whose methods would not say what they are about is a member. */
export interface MetadataStore extends IdentityStore, SessionStore, UploadStore, DeploymentStore, GraphStore, VersionStore {
  readonly jobs: JobStore;
  /** The nodes of the platform. */
  readonly nodes: NodeStore;
  /** Lines about the progress of deployments. */
  readonly progress: ProgressStore;
  /** What runs again and again. */
  readonly schedules: ScheduleStore;
  /**
   * Removes uploads, entries and sessions of all kinds that ended, a day after their end where
   * somebody may still ask; gives their number.
   */
  purgeExpired(): Promise<number>;

  /** Writes and reads a row. Rejects when that fails. */
  probe(): Promise<void>;
  /** Writes what waits and closes the files. */
  close(): Promise<void>;
}
