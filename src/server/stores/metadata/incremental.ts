/**
 * Progress of what runs incrementally: how far the data was read, and when. Every method is one
 * atomic step. Who reads progress and writes it later names the revision that was read: what
 * somebody set or dropped meanwhile stays.
 */

/** What has progress: a resolver by its FQN, or a scheduled query by its name. */
export interface IncrementalKey {
  readonly environmentId: string;
  readonly kind: "resolver" | "query";
  readonly name: string;
}

/** Progress. */
export interface IncrementalProgress {
  /** Latest time in the data that was read, microseconds since 1970; undefined = nothing was. */
  readonly maxIngested: number | undefined;
  /** When the last whole run began, microseconds since 1970; undefined = none did. */
  readonly lastExecution: number | undefined;
  /** Grows with every change; 0 = there was none. */
  readonly revision: number;
}

/** What a run that was done whole adds to the progress that it read. */
export interface IncrementalStep {
  readonly key: IncrementalKey;
  /** The revision that it read. */
  readonly revision: number;
  /** Undefined = it read nothing new. An earlier time than the stored one changes nothing. */
  readonly maxIngested: number | undefined;
  readonly lastExecution: number;
}

/** The progress of all. */
export interface IncrementalStore {
  progress(key: IncrementalKey): Promise<IncrementalProgress>;
  /** Sets the times that are given, and leaves others; returns the progress. */
  set(key: IncrementalKey, times: Partial<Pick<IncrementalProgress, "maxIngested" | "lastExecution">>): Promise<IncrementalProgress>;
  /** Forgets the times; false when there were none. */
  drop(key: IncrementalKey): Promise<boolean>;
  /** Adds what a run has read; false when the progress was changed since, and nothing changed. */
  advance(step: IncrementalStep): Promise<boolean>;
}
