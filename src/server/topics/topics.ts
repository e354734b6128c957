/**
 * Topics: logs of messages in partitions, which are read by offset. Who reads keeps the offset
 * itself, beside what it made of the messages: a driver has no groups and no memory of readers.
 */

/** A message as it was read. */
export interface TopicMessage {
  readonly partition: number;
  /** Its place in the partition. Offsets grow, and may leave some out. */
  readonly offset: bigint;
  /** Undefined = it has none. */
  readonly key: Uint8Array | undefined;
  /** Undefined = a tombstone. */
  readonly value: Uint8Array | undefined;
  /** When it was pushed, or the time that it was given, epoch milliseconds. */
  readonly timestamp: number;
  readonly headers: readonly (readonly [name: string, value: Uint8Array])[];
}

/** A message to be pushed. */
export interface NewMessage {
  /** Default: by the key, else the partitions in turn. */
  readonly partition?: number;
  readonly key?: Uint8Array;
  readonly value: Uint8Array | undefined;
  readonly headers?: readonly (readonly [name: string, value: Uint8Array])[];
}

/** A partition, and what it holds. */
export interface PartitionEnds {
  readonly partition: number;
  /** Offset of the oldest message that is kept. */
  readonly earliest: bigint;
  /** Offset that the next message will have. */
  readonly latest: bigint;
}

/** Where to read on. */
export interface ReadPosition {
  readonly partition: number;
  readonly offset: bigint;
}

/** Bounds of one reading. */
export interface ReadBounds {
  readonly maxMessages: number;
  /** Of keys, values and headers; at least one message is returned all the same. */
  readonly maxBytes: number;
  /** Milliseconds to wait for the first message. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

/** What was read. */
export interface TopicBatch {
  /** By partition in the order of offsets. */
  readonly messages: readonly TopicMessage[];
  /**
   * Partitions whose position is not there: `earliest` is after it (messages were removed unread),
   * or `latest` before it (the topic was made anew). The reader decides where to go on, and says
   * it.
   */
  readonly lost: readonly PartitionEnds[];
}

/** Why a topic cannot be used. */
export type TopicErrorCode =
  /** There is no such topic. */
  | "missing"
  /** The credentials are refused, or may not do this. */
  | "denied"
  /** Another node of the platform has it. */
  | "elsewhere"
  /** It is not reached now; it may be later. */
  | "unavailable"
  /** The message or the request is refused for good, for example because of its size. */
  | "refused";

/** A failure of a topic. The message names the topic and the address, never a credential. */
export class TopicError extends Error {
  readonly code: TopicErrorCode;

  constructor(code: TopicErrorCode, message: string) {
    super(message);
    this.name = "TopicError";
    this.code = code;
  }
}

/**
 * The topics of one source: a Kafka cluster, or the server's own. Everything rejects with
 * TopicError.
 */
export interface Topics {
  /** Partitions of a topic, by number. */
  describe(topic: string, signal?: AbortSignal): Promise<readonly PartitionEnds[]>;
  /**
   * The offset of the first message at or after a time (epoch ms) by partition; `latest` where none
   * is.
   */
  offsetsAt(topic: string, time: number, signal?: AbortSignal): Promise<readonly ReadPosition[]>;
  /** Messages from positions on. Resolves with none when there are none after `waitMs`. */
  read(topic: string, positions: readonly ReadPosition[], bounds: ReadBounds): Promise<TopicBatch>;
  /**
   * Pushes messages; they are durable when it resolves with the places that they took, in their
   * order.
   */
  push(topic: string, messages: readonly NewMessage[], signal?: AbortSignal): Promise<readonly ReadPosition[]>;
  close(): Promise<void>;
}
