/**
 * A client of one Kafka cluster, for the thread that loads the library: it reads partitions by
 * offset without a group, and only what was committed; it pushes as an idempotent producer, one
 * push after the other, so that one that is sent again after a lost answer stands once.
 *
 * It speaks versions of the protocol that Kafka has had since 2.4 and still has in 4.
 */

import {
  fetchV11,
  initProducerIdV3,
  listOffsetsV5,
  type MessageRecord,
  metadataV9,
  produceV8,
  protocolErrorsCodesById,
  type RecordsBatch,
} from "@platformatic/kafka";
import { type BrokerConnection, connectBroker } from "./kafka-connection.ts";
import { reasonOf } from "./kafka-fault.ts";
import { addressText, type KafkaAddress, type KafkaCluster } from "./kafka-settings.ts";
import { decodeMessages, encodeMessages, type MessageContent, messageBytes } from "./message-frame.ts";
import { type PartitionEnds, type ReadPosition, TopicError, type TopicErrorCode } from "./topics.ts";

/** Messages of one partition, as they travel to the thread's starter. */
export interface FetchedMessages {
  readonly partition: number;
  readonly offsets: BigInt64Array;
  /** Epoch milliseconds. */
  readonly timestamps: Float64Array;
  /** The messages, encoded. */
  readonly frame: Uint8Array;
}

/** What was fetched. */
export interface Fetched {
  readonly found: readonly FetchedMessages[];
  readonly lost: readonly PartitionEnds[];
  /**
   * Where to go on: further than was asked, where only records were passed over that are no
   * messages.
   */
  readonly next: readonly ReadPosition[];
}

/** A broker that leads partitions, and these. */
interface Led {
  readonly node: number;
  readonly partitions: readonly number[];
}

type MetadataAnswer = Awaited<ReturnType<typeof metadataV9.api.async>>;
type ProduceAnswer = Awaited<ReturnType<typeof produceV8.api.async>>;
type FetchAnswer = Awaited<ReturnType<typeof fetchV11.api.async>>;

/** A topic as the cluster told of it. */
interface KnownTopic {
  /** Leader by partition. */
  readonly leaders: readonly number[];
  readonly until: number;
}

const STEP_MS = 5_000;
/** Longest that a broker may wait for messages before it answers. */
const MAX_WAIT_MS = 2_000;
/** Milliseconds for which a topic's leaders are remembered. */
const TOPIC_MS = 60_000;
/** Bytes of one partition in an answer; a single larger batch comes all the same. */
const PARTITION_BYTES = 1024 * 1024;
/** Most bytes of one answer, however many partitions there are. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Attempts at a call, and the first pause between two; each further one is twice as long. */
const ATTEMPTS = 5;
const PAUSE_MS = 100;
/** Connections that wait for messages and are kept for later, by broker. */
const MAX_IDLE = 8;
/** Bytes of a batch that is sent; a single larger message goes alone. */
const BATCH_BYTES = 512 * 1024;
/** Bytes of a record beside its message, about. */
const RECORD_BYTES = 30;
const ALL_REPLICAS = -1;
const READ_COMMITTED = 1;
const NO_REPLICA = -1;
const LATEST = -1n;
const EARLIEST = -2n;
const NO_EPOCH = -1;
const IS_TRANSACTIONAL = 1 << 4;
const IS_CONTROL = 1 << 5;
const IS_APPEND_TIME = 1 << 3;
const SEQUENCES = 2 ** 31;
const CODES: Readonly<Record<number, string>> = protocolErrorsCodesById;
/** Errors of the protocol that say something for good. */
const FINAL: Readonly<Record<string, TopicErrorCode>> = {
  TOPIC_AUTHORIZATION_FAILED: "denied",
  CLUSTER_AUTHORIZATION_FAILED: "denied",
  SASL_AUTHENTICATION_FAILED: "denied",
  UNSUPPORTED_SASL_MECHANISM: "denied",
  ILLEGAL_SASL_STATE: "denied",
  UNKNOWN_TOPIC_OR_PARTITION: "missing",
  INVALID_TOPIC_EXCEPTION: "refused",
  MESSAGE_TOO_LARGE: "refused",
  RECORD_LIST_TOO_LARGE: "refused",
  INVALID_RECORD: "refused",
  POLICY_VIOLATION: "refused",
  INVALID_TIMESTAMP: "refused",
  UNSUPPORTED_COMPRESSION_TYPE: "refused",
  UNSUPPORTED_VERSION: "refused",
};
/** Errors after which the producer begins anew: what was sent before stands, or stands not. */
const PRODUCER_LOST = ["OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING"];

/** The client. Everything rejects with TopicError. */
export class KafkaClient {
  readonly #cluster: KafkaCluster;
  /** Brokers by their numbers in the cluster. */
  #nodes = new Map<number, KafkaAddress>();
  readonly #topics = new Map<string, KnownTopic>();
  /** Connections for what is answered at once, by address. */
  readonly #open = new Map<string, Promise<BrokerConnection>>();
  /** Connections that were used to wait for messages and are free, by address. */
  readonly #idle = new Map<string, BrokerConnection[]>();
  readonly #all = new Set<BrokerConnection>();
  #producer: { readonly id: bigint; readonly epoch: number; readonly sequences: Map<string, number> } | undefined;
  #pushing: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(cluster: KafkaCluster) {
    this.#cluster = cluster;
  }

  async describe(topic: string): Promise<PartitionEnds[]> {
    const [first, last] = await Promise.all([this.offsets(topic, EARLIEST), this.offsets(topic, LATEST)]);
    return first.map(({ partition, offset: earliest }, index) => ({ partition, earliest, latest: last[index]?.offset ?? earliest }));
  }

  /** Offsets of a time in epoch milliseconds, by partition; -1 = the latest, -2 = the earliest. */
  async offsets(topic: string, time: bigint): Promise<ReadPosition[]> {
    return this.#tried(topic, async () => {
      const { leaders } = await this.#known(topic);
      const parts = await Promise.all(
        ledBy(leaders.keys(), leaders).map(async ({ node, partitions }) => {
          const { connection } = await this.#connected(node);
          const asked = partitions.map((partitionIndex) => ({ partitionIndex, currentLeaderEpoch: NO_EPOCH, timestamp: time }));
          const { topics } = await listOffsetsV5.api.async(connection, NO_REPLICA, READ_COMMITTED, [{ name: topic, partitions: asked }]);
          return topics.flatMap(({ partitions: answered }) => answered);
        }),
      );
      const positions = parts.flat().map(({ partitionIndex: partition, offset }) => ({ partition, offset }));
      positions.sort((one, other) => one.partition - other.partition);
      if (positions.every(({ offset }) => offset >= 0n)) return positions;
      const ends = await this.offsets(topic, LATEST);
      return positions.map((one, index) => (one.offset >= 0n ? one : (ends[index] ?? one)));
    });
  }

  /** Messages from positions on; with none after `waitMs`, which is cut to two seconds. */
  async fetch(topic: string, positions: readonly ReadPosition[], maxMessages: number, maxBytes: number, waitMs: number): Promise<Fetched> {
    return this.#tried(topic, async () => {
      const { leaders } = await this.#known(topic);
      const absent = positions.find(({ partition }) => leaders[partition] === undefined);
      if (absent)
        throw new TopicError("missing", `The topic '${topic}' has no partition ${absent.partition}; it has ${leaders.length}, from 0 on.`);
      const wait = Math.min(waitMs, MAX_WAIT_MS);
      const groups = ledBy(
        positions.map(({ partition }) => partition),
        leaders,
      ).map(({ node, partitions }) => ({ node, positions: positions.filter(({ partition }) => partitions.includes(partition)) }));
      const [only, ...others] = groups;
      const fetch = (group: (typeof groups)[number], ms: number) =>
        this.#fetchFrom(topic, group.node, group.positions, { maxMessages, maxBytes, ms });
      if (only && others.length === 0) return fetch(only, wait);
      const now = merged(await Promise.all(groups.map((group) => fetch(group, 0))));
      if (isNews(now) || wait === 0 || groups.length === 0) return now;
      // The first broker that has something answers for all; what another sends too late is fetched
      // again.
      const waiting = groups.map((group) => fetch(group, wait));
      const firstWithNews = Promise.race(
        waiting.map((one) => one.then((fetched) => (isNews(fetched) ? fetched : new Promise<never>(() => undefined)))),
      );
      return Promise.race([firstWithNews, Promise.all(waiting).then(merged)]);
    });
  }

  /**
   * Pushes messages, one partition for each. Resolves with their offsets once all replicas have
   * them.
   */
  push(topic: string, frame: Uint8Array, partitions: Int32Array): Promise<BigInt64Array> {
    const pushed = this.#pushing.then(() => this.#push(topic, decodeMessages(frame), partitions));
    this.#pushing = pushed.catch(() => undefined);
    return pushed;
  }

  /** Number of a topic's partitions. */
  partitions(topic: string): Promise<number> {
    return this.#tried(topic, async () => (await this.#known(topic)).leaders.length);
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#all) connection.close();
    this.#all.clear();
  }

  async #push(topic: string, messages: readonly MessageContent[], partitions: Int32Array): Promise<BigInt64Array> {
    const offsets = new BigInt64Array(messages.length);
    const byPartition = Map.groupBy(messages.keys(), (index) => partitions[index] as number);
    const waiting = new Map([...byPartition].map(([partition, indexes]) => [partition, batchesOf(messages, indexes)]));
    try {
      for (const [partition] of waiting) {
        const { leaders } = await this.#tried(topic, () => this.#known(topic));
        if (leaders[partition] === undefined)
          throw new TopicError("refused", `The topic '${topic}' has no partition ${partition}; it has ${leaders.length}, from 0 on.`);
      }
      while (waiting.size > 0) await this.#tried(topic, () => this.#pushRound(topic, messages, waiting, offsets));
    } catch (error) {
      // What was sent may stand: the next push must not have its numbers, or it would pass for it.
      this.#producer = undefined;
      throw error;
    }
    return offsets;
  }

  /**
   * Sends the first batch of each partition, takes away those that stand, and notes their offsets.
   */
  async #pushRound(
    topic: string,
    messages: readonly MessageContent[],
    waiting: Map<number, number[][]>,
    offsets: BigInt64Array,
  ): Promise<void> {
    const { leaders } = await this.#known(topic);
    const sent = [...waiting].map(([partition, [first = []]]) => [partition, first] as const);
    const outcomes = await Promise.allSettled(
      ledBy(waiting.keys(), leaders).map(async ({ node, partitions: led }) => {
        const mine = sent.filter(([partition]) => led.includes(partition));
        const taken = await this.#produce(topic, node, messages, mine);
        for (const [partition, indexes] of mine) {
          const base = taken.get(partition);
          if (base === undefined) continue;
          for (const [place, index] of indexes.entries()) offsets[index] = base + BigInt(place);
          const batches = waiting.get(partition) ?? [];
          batches.shift();
          if (batches.length === 0) waiting.delete(partition);
        }
        if (taken.size < mine.length) throw new TopicError("unavailable", `The topic '${topic}' took only some of the messages.`);
      }),
    );
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed) throw failed.reason;
  }

  /**
   * Sends messages of some partitions to their leader; returns the first offset of each that took
   * them.
   */
  async #produce(
    topic: string,
    node: number,
    messages: readonly MessageContent[],
    parts: readonly (readonly [number, readonly number[]])[],
  ): Promise<Map<number, bigint>> {
    const producer = await this.#producing();
    const { connection } = await this.#connected(node);
    const sequences = new Map(parts.map(([partition]) => [`${topic}:${partition}`, producer.sequences.get(`${topic}:${partition}`) ?? 0]));
    const timestamp = BigInt(Date.now());
    const records = parts.flatMap(([partition, indexes]) =>
      indexes.map((index) => recordOf(messages[index] as MessageContent, { topic, partition, timestamp })),
    );
    const options = {
      producerId: producer.id,
      producerEpoch: producer.epoch,
      sequences: { getWithDefault: (key: string, other: number) => sequences.get(key) ?? other } as never,
    };
    const answer = await produceV8.api
      .async(connection, ALL_REPLICAS, STEP_MS, records, options)
      .catch((error: unknown) => answerOf<ProduceAnswer>(error));
    const taken = new Map<number, bigint>();
    let failure: string | undefined;
    for (const { index, errorCode, baseOffset } of (typeof answer === "object" ? answer.responses : []).flatMap(
      (one) => one.partitionResponses,
    )) {
      const name = CODES[errorCode] ?? `error ${errorCode}`;
      // It has them from an attempt whose answer was lost.
      if (errorCode !== 0 && name !== "DUPLICATE_SEQUENCE_NUMBER") {
        failure ??= name;
        continue;
      }
      const count = parts.find(([partition]) => partition === index)?.[1].length ?? 0;
      const key = `${topic}:${index}`;
      producer.sequences.set(key, ((sequences.get(key) ?? 0) + count) % SEQUENCES);
      taken.set(index, baseOffset);
    }
    if (failure !== undefined && PRODUCER_LOST.includes(failure)) {
      this.#producer = undefined;
      throw new TopicError(
        "unavailable",
        `The cluster forgot what this producer sent to '${topic}' (${failure}): it is not known whether the last push stands.`,
      );
    }
    if (failure !== undefined && taken.size === 0) throw this.#protocolError(topic, failure);
    return taken;
  }

  async #producing() {
    if (this.#producer) return this.#producer;
    const { connection } = await this.#anyBroker();
    const { producerId: id, producerEpoch: epoch } = await initProducerIdV3.api.async(connection, null, STEP_MS);
    this.#producer = { id, epoch, sequences: new Map() };
    return this.#producer;
  }

  async #fetchFrom(
    topic: string,
    node: number,
    positions: readonly ReadPosition[],
    { maxMessages, maxBytes, ms }: { readonly maxMessages: number; readonly maxBytes: number; readonly ms: number },
  ): Promise<Fetched> {
    const opened = await this.#forWaiting(node);
    opened.forgive();
    const partitionMaxBytes = Math.min(PARTITION_BYTES, maxBytes);
    const partitions = positions.map(({ partition, offset }) => ({
      ...{ partition, fetchOffset: offset, partitionMaxBytes },
      ...{ currentLeaderEpoch: NO_EPOCH, lastFetchedEpoch: NO_EPOCH },
    }));
    const limit = Math.min(maxBytes, MAX_ANSWER_BYTES / 2);
    const answer = await fetchV11.api
      .async(opened.connection, ms, 1, limit, READ_COMMITTED, 0, NO_EPOCH, [{ topicId: topic, partitions }], [], "")
      .catch((error: unknown) => answerOf<FetchAnswer>(error))
      .finally(() => this.#free(node, opened));
    const found: FetchedMessages[] = [];
    const lost: number[] = [];
    const next = new Map(positions.map(({ partition, offset }) => [partition, offset]));
    let room = { messages: maxMessages, bytes: maxBytes };
    const answered = answer.responses.flatMap(({ partitions: all }) => all);
    for (const { partition, offset } of positions) {
      const one = answered.find(({ partitionIndex }) => partitionIndex === partition);
      if (!one) continue;
      const name = one.errorCode === 0 ? undefined : (CODES[one.errorCode] ?? `error ${one.errorCode}`);
      if (name === "OFFSET_OUT_OF_RANGE") lost.push(partition);
      else if (name !== undefined) throw this.#protocolError(topic, name);
      else {
        const read = readRecords(one.records ?? [], one.abortedTransactions ?? [], offset, room, found.length === 0);
        next.set(partition, read.next);
        room = read.room;
        if (read.contents.length > 0)
          found.push({
            partition,
            offsets: BigInt64Array.from(read.offsets),
            timestamps: Float64Array.from(read.timestamps),
            frame: encodeMessages(read.contents),
          });
      }
    }
    const ends = lost.length === 0 ? [] : (await this.describe(topic)).filter(({ partition }) => lost.includes(partition));
    return { found, lost: ends, next: [...next].map(([partition, offset]) => ({ partition, offset })) };
  }

  /** Calls again, with growing pauses, what fails for now; TopicErrors of other kinds are final. */
  async #tried<T>(topic: string, call: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await call();
      } catch (error) {
        const explained = error instanceof TopicError ? error : this.#explained(topic, error);
        if (explained.code !== "unavailable" || attempt === ATTEMPTS || this.#isClosed) throw explained;
        this.#topics.delete(topic);
        await Bun.sleep(PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random() / 2));
      }
    }
  }

  #explained(topic: string, error: unknown): TopicError {
    const name = protocolName(error);
    const address = this.#cluster.brokers.map(addressText).join(", ");
    const reason = `${address} ${reasonOf(error, this.#cluster)}`;
    return new TopicError(
      (name === undefined ? undefined : FINAL[name]) ?? "unavailable",
      `The topic '${topic}' of Kafka cannot be used: ${reason}.`,
    );
  }

  #protocolError(topic: string, name: string): TopicError {
    const code = FINAL[name] ?? "unavailable";
    const address = this.#cluster.brokers.map(addressText).join(", ");
    if (code === "missing")
      return new TopicError(code, `There is no topic '${topic}' at ${address}. Make it with the cluster's own tools, or correct the name.`);
    if (name === "TOPIC_AUTHORIZATION_FAILED")
      return new TopicError(
        code,
        `${address} does not let the user '${this.#cluster.sasl?.username ?? "without a name"}' use the topic '${topic}'.`,
      );
    return new TopicError(code, `${address} answered ${name} about the topic '${topic}'.`);
  }

  async #known(topic: string): Promise<KnownTopic> {
    const known = this.#topics.get(topic);
    if (known && known.until > performance.now()) return known;
    const { connection } = await this.#anyBroker();
    const { brokers, topics } = await metadataV9.api
      .async(connection, [topic], false, false, false)
      .catch((error: unknown) => answerOf<MetadataAnswer>(error));
    this.#nodes = new Map(brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
    const [told] = topics;
    const name = told && told.errorCode !== 0 ? (CODES[told.errorCode] ?? `error ${told.errorCode}`) : undefined;
    if (name !== undefined) throw this.#protocolError(topic, name);
    const leaders = leadersOf(told);
    const fresh = { leaders, until: performance.now() + TOPIC_MS };
    this.#topics.set(topic, fresh);
    return fresh;
  }

  /** A connection with a broker that answers, those that are known last. */
  async #anyBroker(): Promise<BrokerConnection> {
    let failure: unknown;
    for (const address of [...this.#cluster.brokers, ...this.#nodes.values()]) {
      try {
        return await this.#to(address);
      } catch (error) {
        failure ??= error;
      }
    }
    throw failure;
  }

  #address(node: number): KafkaAddress {
    const address = this.#nodes.get(node);
    if (!address) throw new TopicError("unavailable", "A partition has no leader now.");
    return address;
  }

  #connected(node: number): Promise<BrokerConnection> {
    return this.#to(this.#address(node));
  }

  async #to(address: KafkaAddress): Promise<BrokerConnection> {
    const key = addressText(address);
    const known = this.#open.get(key);
    if (known) {
      const opened = await known;
      if (opened.connection.isConnected()) {
        opened.forgive();
        return opened;
      }
      if (this.#open.get(key) === known) this.#open.delete(key);
      return this.#to(address);
    }
    const opening = this.#connect(address);
    this.#open.set(key, opening);
    opening.catch(() => {
      if (this.#open.get(key) === opening) this.#open.delete(key);
    });
    return opening;
  }

  async #forWaiting(node: number): Promise<BrokerConnection> {
    const address = this.#address(node);
    const idle = this.#idle.get(addressText(address)) ?? [];
    for (let one = idle.pop(); one; one = idle.pop()) if (one.connection.isConnected()) return one;
    return this.#connect(address);
  }

  #free(node: number, opened: BrokerConnection): void {
    const address = this.#nodes.get(node);
    const key = address && addressText(address);
    const idle = (key !== undefined && this.#idle.get(key)) || [];
    if (key === undefined || idle.length >= MAX_IDLE || !opened.connection.isConnected()) {
      this.#all.delete(opened);
      opened.close();
      return;
    }
    idle.push(opened);
    this.#idle.set(key, idle);
  }

  async #connect(address: KafkaAddress): Promise<BrokerConnection> {
    const opened = await connectBroker(address, this.#cluster, { stepMs: STEP_MS, maxBytes: MAX_ANSWER_BYTES });
    if (this.#isClosed) {
      opened.close();
      throw new TopicError("unavailable", "The client was closed.");
    }
    this.#all.add(opened);
    opened.connection.on("close", () => this.#all.delete(opened));
    return opened;
  }
}

/** The partitions by the broker that leads them. */
function ledBy(partitions: Iterable<number>, leaders: readonly number[]): Led[] {
  return [...Map.groupBy(partitions, (partition) => leaders[partition] ?? NO_REPLICA)].map(([node, led]) => ({ node, partitions: led }));
}

/** Indexes of messages of one partition, in batches that brokers take by default. */
function batchesOf(messages: readonly MessageContent[], indexes: readonly number[]): number[][] {
  const batches: number[][] = [];
  let bytes = 0;
  for (const index of indexes) {
    const size = messageBytes(messages[index] as MessageContent) + RECORD_BYTES;
    const last = batches.at(-1);
    if (!last || bytes + size > BATCH_BYTES) {
      batches.push([index]);
      bytes = size;
    } else {
      last.push(index);
      bytes += size;
    }
  }
  return batches;
}

function leadersOf(topic: MetadataAnswer["topics"][number] | undefined): number[] {
  const leaders: number[] = [];
  for (const { partitionIndex, leaderId } of topic?.partitions ?? []) leaders[partitionIndex] = leaderId;
  return leaders;
}

function isNews({ found, lost }: Fetched): boolean {
  return found.length > 0 || lost.length > 0;
}

function merged(all: readonly Fetched[]): Fetched {
  return {
    found: all.flatMap(({ found }) => found),
    lost: all.flatMap(({ lost }) => lost),
    next: all.flatMap(({ next }) => next),
  };
}

/**
 * The answer that an error of the protocol carries, whose parts say what is wrong; else throws the
 * error.
 */
function answerOf<T>(error: unknown): T {
  const { response } = (error ?? {}) as { readonly response?: unknown };
  if (typeof response === "object" && response !== null && ("responses" in response || "topics" in response)) return response as T;
  throw error;
}

/** The name of the first error of the protocol in an error of the client. */
function protocolName(error: unknown): string | undefined {
  let next = error as { apiId?: unknown; cause?: unknown; errors?: readonly unknown[] } | null | undefined;
  for (let depth = 0; next && depth < 10; depth++) {
    if (typeof next.apiId === "string") return next.apiId;
    next = (next.cause ?? next.errors?.[0]) as typeof next;
  }
  return undefined;
}

function recordOf(
  { key, value, headers }: MessageContent,
  place: { readonly topic: string; readonly partition: number; readonly timestamp: bigint },
): MessageRecord {
  const bytes = (part: Uint8Array): Buffer => Buffer.from(part.buffer, part.byteOffset, part.length);
  return {
    ...place,
    ...(key && { key: bytes(key) }),
    // The type has no tombstones, the protocol has.
    value: (value && bytes(value)) as Buffer,
    headers: new Map(headers.map(([name, content]) => [Buffer.from(name), bytes(content)])),
  };
}

/** The committed messages of batches, from an offset on. */
function readRecords(
  batches: readonly RecordsBatch[],
  aborted: readonly { readonly producerId: bigint; readonly firstOffset: bigint }[],
  from: bigint,
  room: { readonly messages: number; readonly bytes: number },
  isFirst: boolean,
) {
  const contents: MessageContent[] = [];
  const offsets: bigint[] = [];
  const timestamps: number[] = [];
  const pending = [...aborted].sort((one, other) => Number(one.firstOffset - other.firstOffset));
  const given = new Set<bigint>();
  let { messages, bytes } = room;
  let next = from;
  for (const batch of batches) {
    const last = batch.firstOffset + BigInt(batch.lastOffsetDelta);
    while (pending[0] && pending[0].firstOffset <= last) given.add((pending.shift() as (typeof pending)[number]).producerId);
    const isControl = (batch.attributes & IS_CONTROL) !== 0;
    const isAborted = (batch.attributes & IS_TRANSACTIONAL) !== 0 && given.has(batch.producerId);
    if (isControl) given.delete(batch.producerId);
    if (!isControl && !isAborted) {
      for (const { offsetDelta, timestampDelta, key, value, headers } of batch.records) {
        const offset = batch.firstOffset + BigInt(offsetDelta);
        if (offset < from) continue;
        const size =
          (key?.length ?? 0) +
          (value?.length ?? 0) +
          headers.reduce((sum, [name, content]) => sum + (name?.length ?? 0) + (content?.length ?? 0), 0);
        const isOnly = isFirst && contents.length === 0;
        if (messages <= 0 || (size > bytes && !isOnly)) return { contents, offsets, timestamps, next, room: { messages: 0, bytes: 0 } };
        messages--;
        bytes -= size;
        offsets.push(offset);
        timestamps.push(Number((batch.attributes & IS_APPEND_TIME) === 0 ? batch.firstTimestamp + timestampDelta : batch.maxTimestamp));
        contents.push({
          key: key ?? undefined,
          value: value ?? undefined,
          headers: headers.map(([name, content]) => [name?.toString() ?? "", content ?? new Uint8Array()]),
        });
        next = offset + 1n;
      }
    }
    if (last + 1n > next) next = last + 1n;
  }
  return { contents, offsets, timestamps, next, room: { messages, bytes } };
}
