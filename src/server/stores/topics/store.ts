/**
 * The store of the server's own topics: logs of messages in partitions, by environment. It keeps
 * messages as bytes that its users encode, many in a batch.
 */

/** A topic of an environment. */
export interface TopicPlace {
  readonly environmentId: string;
  readonly topic: string;
}

/** A partition, and the offsets of its oldest message and of the next one. */
export interface StoredEnds {
  readonly partition: number;
  readonly earliest: number;
  readonly latest: number;
}

/** An offset in a partition. */
export interface StoredPosition {
  readonly partition: number;
  readonly offset: number;
}

/** Messages to be appended to a partition. */
export interface NewBatch {
  readonly partition: number;
  /** Number of messages, at least 1. */
  readonly count: number;
  /** The messages, encoded. */
  readonly messages: Uint8Array;
}

/** Messages as they were appended. */
export interface StoredBatch extends NewBatch {
  /** Offset of the first one. */
  readonly base: number;
  /** When they were appended, epoch milliseconds. */
  readonly at: number;
}

/** What was read of a topic. */
export interface ReadBatches {
  /** Batches that have a message at or after the positions, whole, by partition in their order. */
  readonly batches: readonly StoredBatch[];
  /** Partitions that lack their position. */
  readonly lost: readonly StoredEnds[];
}

/** A topic, and what it holds. */
export interface StoredTopic extends TopicPlace {
  readonly partitions: number;
  readonly bytes: number;
}

/** Bounds of what the store keeps. */
export interface TopicLimits {
  /** Age above which messages are removed, milliseconds, by the names of topics. */
  readonly retentionMs: Readonly<Record<string, number>>;
  /** The same of all other topics; undefined = a week. */
  readonly defaultRetentionMs?: number | undefined;
  /** Bytes of a topic above which its oldest messages are removed; undefined = 1 GiB. */
  readonly maxTopicBytes?: number | undefined;
}

/** Figures of the store. */
export interface TopicFigures {
  readonly schemaVersion: number;
  /** Bytes in use. */
  readonly bytes: number;
  /** Bytes of messages by environment. */
  readonly environments: ReadonlyMap<string, number>;
  /** Messages that were removed since the start because of age or size. */
  readonly removedMessages: number;
}

/** Why the store refuses a call. */
export class TopicStoreError extends Error {
  /**
   * `missing`: there is no such topic or partition. `full`: the environment has too many topics.
   */
  readonly code: "missing" | "full";

  constructor(code: TopicStoreError["code"], message: string) {
    super(message);
    this.name = "TopicStoreError";
    this.code = code;
  }
}

/** Most topics of an environment. */
export const MAX_TOPICS = 1_000;
/** Most partitions of a topic; the SDK's `MAX_PARTITIONS` is the same. */
export const MAX_PARTITIONS = 1_000;

/** The store. What is about a topic that is not there rejects with TopicStoreError. */
export interface TopicStore {
  /**
   * Makes a topic, or gives it more partitions; it keeps those that it has. Returns their number.
   */
  ensure(place: TopicPlace, partitions: number): Promise<number>;
  /** Topics of an environment, or of all, by environment and name. */
  topics(environmentId?: string): Promise<readonly StoredTopic[]>;
  /** Partitions of a topic, by number. */
  ends(place: TopicPlace): Promise<readonly StoredEnds[]>;
  /** Offsets of the first messages at or after a time, epoch ms; `latest` where none is. */
  offsetsAt(place: TopicPlace, time: number): Promise<readonly StoredPosition[]>;
  /**
   * Appends batches in one step. When it resolves, with the offset of the first message of each,
   * they survive a power cut.
   */
  append(place: TopicPlace, batches: readonly NewBatch[]): Promise<readonly number[]>;
  /**
   * Batches from positions on, until they have `maxMessages` at or after them or `maxBytes`; one at
   * least where there is one.
   */
  read(
    place: TopicPlace,
    positions: readonly StoredPosition[],
    bounds: { readonly maxMessages: number; readonly maxBytes: number },
  ): Promise<ReadBatches>;
  /** Removes the topics of an environment. */
  forgetEnvironment(environmentId: string): Promise<void>;
  /** Sets the bounds; undefined keys are the defaults. */
  limit(limits: TopicLimits): Promise<void>;
  /** Removes what is beyond the bounds, in steps. Ends early when the signal is aborted. */
  prune(signal?: AbortSignal): Promise<void>;
  figures(): Promise<TopicFigures>;
  /** Writes to the file. Rejects when that fails. */
  probe(): Promise<void>;
  close(): Promise<void>;
}
