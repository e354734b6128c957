/**
 * Streams: what is kept of the resolvers of topics beside how far they have read, which is with the
 * aggregates (`stores/tiles`); the leases by which nodes share their partitions; the nodes that
 * have what lies in a store of one node alone; and dead letters. Every method is one atomic step.
 * Times are epoch milliseconds of the store's own clock.
 */

/** A stream: a resolver of messages in an environment, whatever deployments it was in. */
export interface StreamRecord {
  readonly id: string;
  readonly environmentId: string;
  /** FQN of the resolver. */
  readonly name: string;
  readonly isPaused: boolean;
  /** Why it was stopped; undefined = it was not. */
  readonly failure: StreamFailure | undefined;
  readonly createdAt: number;
}

/** Why a stream was stopped. */
export interface StreamFailure {
  /** The deployment whose code failed: another one goes on. */
  readonly deploymentId: string;
  readonly reason: string;
  readonly at: number;
  /** Whether webhooks were told; absent = they were not. */
  readonly isTold?: boolean;
}

/** A partition of a stream. */
export interface PartitionKey {
  readonly streamId: string;
  readonly partition: number;
}

/** A node's right to read a partition. */
export interface PartitionLease extends PartitionKey {
  readonly node: string;
  readonly until: number;
  /** Why it is not read at the moment, which is tried again; empty = it is. */
  readonly problem: string;
}

/** A message that was put aside. */
export interface NewDeadLetter extends PartitionKey {
  readonly offset: bigint;
  /** The message's time. */
  readonly timestamp: number;
  readonly key: Uint8Array | undefined;
  /** Its bytes; undefined = a tombstone. */
  readonly value: Uint8Array | undefined;
  /** Number of its bytes, of which `value` has fewer when it is too long to be kept. */
  readonly size: number;
  readonly reason: string;
  /** Where it failed. */
  readonly stage: DeadLetterStage;
}

/** Where a message failed: when it was read, in the function, or when its row was checked. */
export type DeadLetterStage = "parse" | "resolver" | "row";

/** A dead letter as it is kept. */
export interface DeadLetter extends NewDeadLetter {
  /** Its number, which grows. */
  readonly seq: number;
  readonly failedAt: number;
}

/** Bounds of what is kept of a stream's dead letters; the oldest go first. */
export interface DeadLetterBounds {
  readonly most: number;
  readonly mostBytes: number;
}

/** Which dead letters of a stream. */
export interface DeadLetterChoice {
  readonly streamId: string;
  /** Only those with a lower number; default: any. */
  readonly before?: number | undefined;
  /** Only those with a higher number; default: any. */
  readonly after?: number | undefined;
  /** Numbers; default: any. */
  readonly among?: readonly number[] | undefined;
  readonly limit: number;
  /** Default: the newest first. */
  readonly oldestFirst?: boolean;
}

/** The store. */
export interface StreamStore {
  /**
   * The streams of an environment of these names, which are made if they are new, in that order.
   */
  ensure(environmentId: string, names: readonly string[], newId: () => string): Promise<StreamRecord[]>;
  /** Streams of an environment, by name. */
  list(environmentId: string): Promise<StreamRecord[]>;
  get(id: string): Promise<StreamRecord | undefined>;
  /** Pauses a stream, or has it run again, which forgets why it was stopped. */
  setPaused(id: string, isPaused: boolean): Promise<void>;
  /** Stops a stream for a reason; one that was stopped in the same deployment keeps its own. */
  fail(id: string, failure: Pick<StreamFailure, "deploymentId" | "reason">): Promise<void>;
  /** Notes that webhooks were told why a stream was stopped at a time. */
  noteTold(id: string, at: number): Promise<void>;
  /**
   * The partitions of those wanted that a node may read until `ttlMs` from now: those that it has,
   * and of others that nobody has as many as make `share`. It gives up what it has beyond that, and
   * what is not wanted. Those of `own`, which no other node can read, do not count in its share.
   */
  lease(
    node: string,
    wanted: readonly PartitionKey[],
    share: number,
    ttlMs: number,
    own?: readonly PartitionKey[],
  ): Promise<PartitionKey[]>;
  /** Gives up what a node has. */
  release(node: string): Promise<void>;
  /** Leases of streams that have not ended. */
  leases(streamIds: readonly string[]): Promise<PartitionLease[]>;
  /** Says why a partition is not read; empty = it is. Without a lease nothing is said. */
  note(node: string, key: PartitionKey, problem: string): Promise<void>;
  /** The node that has a thing of an environment; undefined = none yet. */
  homeOf(environmentId: string, thing: string): Promise<string | undefined>;
  /**
   * The node that has a thing of an environment: `node` if none had it, or that which had it is
   * `gone`.
   */
  claimHome(environmentId: string, thing: string, node: string, gone?: string): Promise<string>;
  /**
   * Keeps dead letters; one that is there already, by its place, gets the new reason. Resolves with
   * the number of old ones that had to go.
   */
  addLetters(letters: readonly NewDeadLetter[], bounds: DeadLetterBounds): Promise<number>;
  letters(choice: DeadLetterChoice): Promise<DeadLetter[]>;
  /** Numbers of dead letters by stream; those without any are absent. */
  countLetters(streamIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Removes dead letters of a stream; resolves with their number. */
  removeLetters(streamId: string, seqs: readonly number[]): Promise<number>;
  /** Removes dead letters that are older; resolves with their number. */
  purgeLetters(olderThanMs: number): Promise<number>;
  /** Removes everything of an environment; resolves with the ids of its streams. */
  forget(environmentId: string): Promise<string[]>;
}
