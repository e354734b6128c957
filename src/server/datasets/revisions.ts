/**
 * Datasets as those who make them see them: a dataset is a name with revisions, a revision the
 * files of one table. A revision that is being written is not part of its dataset until it is
 * completed, in one step; until then the older ones are what readers get.
 */

import type { DatasetFileKind, DatasetFileRecord, RevisionOrigin } from "../stores/metadata/datasets.ts";
import type { TableColumn } from "../tables/engine.ts";

export type { DatasetFileKind, RevisionOrigin };

/** A file of a revision. Its name is unique there, without a folder: `part-0.parquet`. */
export type DatasetFile = Omit<DatasetFileRecord, "revisionId">;

/** A revision to be written. */
export interface NewRevision {
  readonly environmentId: string;
  /** Name of the dataset; empty = one without a name, of its own. */
  readonly dataset: string;
  readonly origin: RevisionOrigin;
  /** Id of what makes it, such as an offline query. */
  readonly originId: string;
  /** Client that asked for it. */
  readonly createdBy: string;
}

/** The ids of a revision and its dataset. */
export interface RevisionIds {
  readonly revisionId: string;
  readonly datasetId: string;
}

/** What a revision was begun for. */
export type BegunFor = Pick<NewRevision, "environmentId" | "origin" | "originId">;

/** Makes revisions. */
export interface RevisionMaker {
  /**
   * Begins a revision; the one that was begun for the same origin id before, if there is one.
   * Rejects with Failure invalid_argument when the name is not valid, and resource_exhausted when
   * the environment has too many datasets.
   */
  begin(revision: NewRevision): Promise<RevisionIds>;
  /**
   * Puts a local file into the object store as a file of the revision, replacing one of its name.
   * Again with the same bytes it does nothing. Rejects with Failure failed_precondition when the
   * revision is not being written any more, and the signal's reason.
   */
  addFile(
    revisionId: string,
    file: Pick<DatasetFile, "name" | "kind" | "rows"> & { readonly path: string; readonly signal?: AbortSignal },
  ): Promise<DatasetFile>;
  /**
   * Completes a revision, which then has a number; does nothing when it is complete. Rejects with
   * Failure failed_precondition when it was abandoned.
   */
  complete(revisionId: string, columns: readonly TableColumn[]): Promise<void>;
  /** Id of the revision that was begun for an origin; undefined when none was. */
  begun(origin: BegunFor): Promise<string | undefined>;
  /**
   * Ends a revision that will not be completed, and removes its files, also one that is being
   * added.
   */
  abandon(revisionId: string): Promise<void>;
  /**
   * The files of a completed revision, or of one that is being written. Rejects with Failure
   * not_found, and failed_precondition when it was archived or abandoned.
   */
  files(revisionId: string): Promise<readonly DatasetFile[]>;
  /**
   * Copies a file of a revision into a local one, which appears when it is whole. Rejects with
   * Failure failed_precondition when the object is damaged or gone.
   */
  fetch(file: DatasetFile, path: string): Promise<void>;
}
