/**
 * Datasets, their revisions and the files of those, as rows; the bytes are objects. Every method is
 * one atomic step; times are epoch milliseconds.
 */

/**
 * The state of a revision. Files are added while it is `writing`; of a `complete` one they never
 * change. `failed` and `archived` are final, and nobody reads it any more.
 */
export type RevisionState = "writing" | "complete" | "failed" | "archived";

/** What made a revision. */
export type RevisionOrigin = "offline_query" | "scheduled_query" | "sql" | "upload" | "evaluation" | "aggregate_backfill" | "benchmark";

/**
 * What a file of a revision holds: the table, the rows that were given, why some failed, traces.
 */
export type DatasetFileKind = "output" | "givens" | "errors" | "trace";

/** A dataset. */
export interface DatasetRecord {
  readonly id: string;
  readonly environmentId: string;
  /** Unique in the environment; undefined = it has none. */
  readonly name: string | undefined;
  readonly createdAt: number;
  /** When a revision was completed last; undefined before the first. */
  readonly updatedAt: number | undefined;
  /** Number of the revision that was completed last; 0 before the first. */
  readonly lastNumber: number;
}

/** A dataset as it is shown. */
export interface ShownDataset extends DatasetRecord {
  /** Number of its revisions that are complete. */
  readonly revisions: number;
}

/** A column of a revision, as the capability encodes its type. */
export interface StoredColumn {
  readonly name: string;
  /** JSON. */
  readonly dtype: unknown;
}

/** The statistics of a column. */
export interface StoredProfile {
  readonly name: string;
  readonly nulls: number;
  readonly distinct: number;
  readonly min?: string | undefined;
  readonly max?: string | undefined;
  readonly mean?: number | undefined;
}

/** A revision to be begun. */
export interface NewRevisionRecord {
  readonly id: string;
  readonly environmentId: string;
  readonly origin: RevisionOrigin;
  /** Unique among the environment's revisions of the origin. */
  readonly originId: string;
  /** Client that asked for it. */
  readonly createdBy: string;
  readonly createdAt: number;
}

/** A revision. */
export interface RevisionRecord extends NewRevisionRecord {
  readonly datasetId: string;
  /** From 1 in its dataset, in the order of completion; undefined before. */
  readonly number: number | undefined;
  readonly state: RevisionState;
  /** Empty before it is complete, and of one whose files are no tables. */
  readonly columns: readonly StoredColumn[];
  /** Rows of its output files; 0 before it is complete. */
  readonly rows: number;
  /** Bytes of all of its files; 0 before it is complete. */
  readonly bytes: number;
  /** Statistics of its columns; undefined until they were computed, and where they cannot be. */
  readonly statistics: readonly StoredProfile[] | undefined;
  /** When a file was added last, or it changed its state. */
  readonly touchedAt: number;
  readonly completedAt: number | undefined;
  readonly archivedAt: number | undefined;
  /** Whether objects beside its files may be left, which writing it took. */
  readonly hasRemains: boolean;
}

/** A file of a revision. */
export interface DatasetFileRecord {
  readonly revisionId: string;
  /** Unique in the revision. */
  readonly name: string;
  readonly kind: DatasetFileKind;
  /** Its object. */
  readonly key: string;
  readonly bytes: number;
  readonly rows: number;
  /** SHA-256, lower-case hex. */
  readonly sha256: string;
}

/** A file of an upload, as it was announced. */
export interface AnnouncedFile {
  readonly name: string;
  readonly bytes: number;
  /** SHA-256 of the whole, lower-case hex. */
  readonly sha256: string;
}

/** An upload, whose revision has the origin `upload` and the upload's id as the origin's. */
export interface DatasetUploadRecord {
  readonly id: string;
  readonly environmentId: string;
  readonly revisionId: string;
  /** What is uploaded, where and by whom: while it is open, the same is the same upload. */
  readonly fingerprint: string;
  readonly files: readonly AnnouncedFile[];
  /** Bytes of all parts of a file but its last. */
  readonly partBytes: number;
  readonly createdAt: number;
}

/** A selection of datasets. */
export interface DatasetFilter {
  readonly environmentId: string;
  /** Text that the name contains, in any case; default: all. */
  readonly search?: string | undefined;
  /** Only those that were made before the dataset with this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** What is over: revisions whose files may be removed. */
export interface OverdueRevisions {
  /** Those archived, or failed, before this time. */
  readonly endedBefore: number;
  /** Those that are written, but were not touched since this time. */
  readonly untouchedSince: number;
  readonly limit: number;
}

/** How many an environment may have. */
export interface DatasetLimits {
  readonly datasets: number;
  /** Revisions that are being written. */
  readonly writing: number;
}

/** The datasets. */
export interface DatasetStore {
  /**
   * Begins a revision of the dataset of a name, or of a new one: `dataset` is stored unless there
   * is one of its name. Returns the revision that the origin's id has already, if there is one, and
   * then stores nothing. `full` when the environment has as many as the limits say.
   */
  begin(dataset: Pick<DatasetRecord, "id" | "name">, revision: NewRevisionRecord, limits: DatasetLimits): Promise<RevisionRecord | "full">;
  /**
   * Begins an upload with its revision; the open one that has the fingerprint, if there is one.
   * `full` as above.
   */
  beginUpload(
    dataset: Pick<DatasetRecord, "id" | "name">,
    revision: NewRevisionRecord,
    upload: DatasetUploadRecord,
    limits: DatasetLimits,
  ): Promise<DatasetUploadRecord | "full">;
  upload(id: string): Promise<DatasetUploadRecord | undefined>;
  /**
   * Adds a file to a revision, or puts it in the place of the one of its name, which is returned.
   * `refused` when the revision is not being written, or has `limit` other files.
   */
  putFile(file: DatasetFileRecord, now: number, limit: number): Promise<DatasetFileRecord | "refused" | undefined>;
  /** Notes that a revision is still being written; false when it is not. */
  touch(revisionId: string, now: number): Promise<boolean>;
  /**
   * Completes a revision: it gets its dataset's next number. Returns it as it is when it is
   * complete already; undefined when it is neither complete nor being written, and when the offline
   * query that writes it has ended without it.
   */
  complete(revisionId: string, columns: readonly StoredColumn[], now: number): Promise<RevisionRecord | undefined>;
  /** Ends a revision that is being written; false when it is not. */
  fail(revisionId: string, now: number): Promise<boolean>;
  /** Archives a complete revision; undefined when it is neither complete nor archived. */
  archive(revisionId: string, now: number): Promise<RevisionRecord | undefined>;
  /** Keeps the statistics of a revision. */
  keepStatistics(revisionId: string, statistics: readonly StoredProfile[]): Promise<void>;
  /** Notes that nothing but its files is left of a revision's objects. */
  swept(revisionId: string): Promise<void>;
  /**
   * Gives a dataset another name; `taken` when another one has it, undefined when there is none.
   */
  rename(id: string, name: string): Promise<DatasetRecord | "taken" | undefined>;

  /** The dataset of an id or name. */
  dataset(environmentId: string, idOrName: string): Promise<ShownDataset | undefined>;
  /** Datasets that have a complete revision, newest first. */
  list(filter: DatasetFilter): Promise<ShownDataset[]>;
  /** The complete revision of a dataset with the largest number. */
  latest(datasetId: string): Promise<RevisionRecord | undefined>;
  revision(id: string): Promise<RevisionRecord | undefined>;
  /** The revision of an origin, whatever its state. */
  begun(origin: Pick<RevisionRecord, "environmentId" | "origin" | "originId">): Promise<RevisionRecord | undefined>;
  /** Complete and archived revisions of a dataset, newest first, below a number. */
  revisions(datasetId: string, options: { readonly below?: number | undefined; readonly limit: number }): Promise<RevisionRecord[]>;
  /** Files of a revision, in the order in which their names were first added. */
  files(revisionId: string): Promise<DatasetFileRecord[]>;
  /** The file of a revision whose object has a key. */
  fileOf(revisionId: string, key: string): Promise<DatasetFileRecord | undefined>;

  /** Revisions whose files may be removed. */
  overdue(overdue: OverdueRevisions): Promise<RevisionRecord[]>;
  /** Revisions that are not being written and of which objects beside their files may be left. */
  unswept(limit: number): Promise<RevisionRecord[]>;
  /** Complete revisions with columns whose statistics were not computed, newest first. */
  unprofiled(limit: number): Promise<RevisionRecord[]>;
  /** Removes a revision with its files and upload, and its dataset when it was the last one. */
  remove(revisionId: string): Promise<void>;
}
