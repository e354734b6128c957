/**
 * Datasets as those who make them see them: a dataset is a name with revisions, a revision the
 * files of one table. A revision that is being written is not part of its dataset until it is
 * completed, in one step; until then the older ones are what readers get.
 */

import type { TableColumn } from "../tables/engine.ts";

/** What a file of a revision holds: the table, the rows that were given, or why some failed. */
export type DatasetFileKind = "output" | "givens" | "errors" | "trace";

/** A file of a revision. */
export interface DatasetFile {
  /** Unique in the revision, without a folder: `part-0.parquet`. */
  readonly name: string;
  readonly kind: DatasetFileKind;
  /** Its object. */
  readonly key: string;
  readonly bytes: number;
  readonly rows: number;
  /** SHA-256, lower-case hex. */
  readonly sha256: string;
}

/** What made a revision. */
export type RevisionOrigin = "offline_query" | "scheduled_query" | "sql" | "upload";

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

/** Makes revisions. */
export interface RevisionMaker {
  /**
   * Begins a revision; the one that was begun for the same origin id before, if there is one.
   * Rejects with Failure when the name is not valid.
   */
  begin(revision: NewRevision): Promise<RevisionIds>;
  /**
   * Puts a local file into the object store as a file of the revision, replacing one of its name.
   * Again with the same bytes it does nothing.
   */
  addFile(
    revisionId: string,
    file: Pick<DatasetFile, "name" | "kind" | "rows"> & { readonly path: string; readonly signal?: AbortSignal },
  ): Promise<DatasetFile>;
  /** Completes a revision, which then has a number; does nothing when it is complete. */
  complete(revisionId: string, columns: readonly TableColumn[]): Promise<void>;
  /** Ends a revision that will not be completed, and removes its files. */
  abandon(revisionId: string): Promise<void>;
  /** The files of a completed revision, or of one that is being written. */
  files(revisionId: string): Promise<readonly DatasetFile[]>;
  /** Copies a file of a revision into a local one, checked by its digest. */
  fetch(file: DatasetFile, path: string): Promise<void>;
}
