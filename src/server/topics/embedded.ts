/**
 * The server's own topics, which every environment has for itself. Readers that wait are woken by
 * the bus, and look again by themselves, because notifications may be lost.
 */

import { errorText } from "../../domain/error-text.ts";
import type { Bus } from "../jobs/bus.ts";
import { type StoredBatch, type StoredEnds, type StoredTopic, type TopicStore, TopicStoreError } from "../stores/topics/store.ts";
import { checkMessages, isTopicName } from "./limits.ts";
import { decodeMessages, encodeMessages, messageBytes } from "./message-frame.ts";
import { partitionOf } from "./partitioner.ts";
import { type NewMessage, type PartitionEnds, TopicError, type TopicMessage, type Topics } from "./topics.ts";

/** Milliseconds after which a reader that waits looks again without a notification. */
const LOOK_MS = 1_000;
/** Bytes of messages in one stored batch, so that reading in the middle of one costs little. */
const BATCH_BYTES = 256 * 1024;
const BATCH_MESSAGES = 1_000;

/** The topics of all environments. */
export interface EmbeddedTopics {
  /** The topics of an environment. Closing them does nothing. */
  of(environmentId: string): Topics;
  /** Makes a topic, or gives it more partitions; returns the number that it has. */
  ensure(environmentId: string, topic: string, partitions: number): Promise<number>;
  /** The topics of an environment, or of all, by environment and name. */
  list(environmentId?: string): Promise<readonly StoredTopic[]>;
  /** Ends all waiting. */
  close(): void;
}

/** Makes them over a store, which stays the caller's to close. */
export function createEmbeddedTopics({ store, bus }: { readonly store: () => Promise<TopicStore>; readonly bus: Bus }): EmbeddedTopics {
  let isClosed = false;
  /** Readers that wait, by the hint that wakes them. */
  const waiting = new Map<string, Set<() => void>>();
  const wakeAll = (): void => {
    for (const wake of [...waiting.values()].flatMap((group) => [...group])) wake();
  };
  const unsubscribe = bus.subscribe("topics", (hint) => {
    if (hint === "") wakeAll();
    else for (const wake of [...(waiting.get(hint) ?? [])]) wake();
  });
  /** Where the next message without a key goes to, by the hint of its topic. */
  const pushTurns = new Map<string, number>();
  /** Which position is read first. */
  const readTurns = new Map<string, number>();

  const of = (environmentId: string): Topics => {
    const place = (topic: string) => ({ environmentId, topic });
    const hintOf = (topic: string): string => `${environmentId}/${Bun.hash(topic).toString(36)}`;

    return {
      async describe(topic) {
        return (await called(topic, async () => (await store()).ends(place(topic)))).map(endsOf);
      },

      async offsetsAt(topic, time) {
        const positions = await called(topic, async () => (await store()).offsetsAt(place(topic), time));
        return positions.map(({ partition, offset }) => ({ partition, offset: BigInt(offset) }));
      },

      async read(topic, positions, { maxMessages, maxBytes, waitMs, signal }) {
        const until = performance.now() + waitMs;
        const hint = hintOf(topic);
        const asked = inTurn(positions, nextTurn(readTurns, hint)).map(({ partition, offset }) => ({ partition, offset: Number(offset) }));
        const from = new Map(asked.map(({ partition, offset }) => [partition, offset]));
        for (;;) {
          const woken = waiter(waiting, hint);
          try {
            const { batches, lost } = await called(topic, async () => (await store()).read(place(topic), asked, { maxMessages, maxBytes }));
            if (batches.length > 0 || lost.length > 0)
              return { messages: bounded(batches, from, maxMessages, maxBytes), lost: lost.map(endsOf) };
            const left = until - performance.now();
            if (left <= 0 || signal.aborted || isClosed) return { messages: [], lost: [] };
            await woken.wait(Math.min(left, LOOK_MS), signal);
          } finally {
            woken.release();
          }
        }
      },

      async push(topic, messages, signal) {
        checkMessages(topic, messages);
        if (signal?.aborted) throw new TopicError("unavailable", `The push to '${topic}' was given up before anything was sent.`);
        if (messages.length === 0) return [];
        const opened = await called(topic, store);
        const partitions = (await called(topic, () => opened.ends(place(topic)))).length;
        const turn = nextTurn(pushTurns, hintOf(topic));
        const chosen = messages.map(
          ({ partition, key }) => partition ?? (key === undefined ? turn % partitions : partitionOf(key, partitions)),
        );
        const wrong = chosen.find((partition) => !(partition >= 0 && partition < partitions));
        if (wrong !== undefined)
          throw new TopicError("refused", `The topic '${topic}' has no partition ${wrong}; it has ${partitions}, from 0 on.`);
        const batches = [...batchesOf(messages, chosen)];
        const bases = await called(topic, () =>
          opened.append(
            place(topic),
            batches.map(({ partition, indexes }) => ({
              partition,
              count: indexes.length,
              messages: encodeMessages(indexes.map((index) => messages[index] as NewMessage)),
            })),
          ),
        );
        bus.publish("topics", hintOf(topic));
        const offsets: bigint[] = [];
        for (const [batch, { indexes }] of batches.entries())
          for (const [place, index] of indexes.entries()) offsets[index] = BigInt((bases[batch] ?? 0) + place);
        return chosen.map((partition, index) => ({ partition, offset: offsets[index] ?? 0n }));
      },

      close: () => Promise.resolve(),
    };
  };

  return {
    of,
    async ensure(environmentId, topic, partitions) {
      if (!isTopicName(topic))
        throw new TopicError(
          "refused",
          `'${topic.slice(0, 100)}' is no name of a topic: it has letters, digits, '.', '_' and '-', at most 249.`,
        );
      return called(topic, async () => (await store()).ensure({ environmentId, topic }, partitions));
    },
    list: async (environmentId) => (await store()).topics(environmentId),
    close() {
      isClosed = true;
      unsubscribe();
      wakeAll();
    },
  };
}

/** Calls the store; its errors become TopicErrors. */
async function called<T>(topic: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof TopicError) throw error;
    if (!(error instanceof TopicStoreError))
      throw new TopicError("unavailable", `The topic '${topic}' of this server cannot be used: ${errorText(error)}.`);
    if (error.code === "full") throw new TopicError("refused", `The topic '${topic}' was not made: ${error.message}.`);
    throw new TopicError(
      "missing",
      `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}. A TopicSource of the live deployment makes it, or \`svc infra apply kafka-topics\`.`,
    );
  }
}

function endsOf({ partition, earliest, latest }: StoredEnds): PartitionEnds {
  return { partition, earliest: BigInt(earliest), latest: BigInt(latest) };
}

/** Counts how often a topic was used. */
function nextTurn(turns: Map<string, number>, hint: string): number {
  const turn = turns.get(hint) ?? 0;
  turns.set(hint, turn + 1);
  return turn;
}

/**
 * The positions, from another one on at each turn, so that a full partition holds back no other.
 */
function inTurn<T>(positions: readonly T[], turn: number): readonly T[] {
  const start = positions.length === 0 ? 0 : turn % positions.length;
  return [...positions.slice(start), ...positions.slice(0, start)];
}

/** Indexes of messages by batch: of one partition, and of a bounded size. */
function* batchesOf(
  messages: readonly NewMessage[],
  partitions: readonly number[],
): Generator<{ readonly partition: number; readonly indexes: readonly number[] }> {
  for (const [partition, indexes] of Map.groupBy(messages.keys(), (index) => partitions[index] as number)) {
    let batch: number[] = [];
    let bytes = 0;
    for (const index of indexes) {
      const size = messageBytes(messages[index] as NewMessage);
      if (batch.length >= BATCH_MESSAGES || (batch.length > 0 && bytes + size > BATCH_BYTES)) {
        yield { partition, indexes: batch };
        [batch, bytes] = [[], 0];
      }
      batch.push(index);
      bytes += size;
    }
    yield { partition, indexes: batch };
  }
}

/** The messages at or after the positions, within the bounds. */
function bounded(
  batches: readonly StoredBatch[],
  from: ReadonlyMap<number, number>,
  maxMessages: number,
  maxBytes: number,
): readonly TopicMessage[] {
  const messages: TopicMessage[] = [];
  let bytes = 0;
  const full = new Set<number>();
  for (const { partition, base, at, messages: frame } of batches) {
    if (full.has(partition)) continue;
    for (const [index, content] of decodeMessages(frame).entries()) {
      if (base + index < (from.get(partition) ?? 0)) continue;
      bytes += messageBytes(content);
      if (messages.length >= maxMessages || (messages.length > 0 && bytes > maxBytes)) {
        full.add(partition);
        break;
      }
      messages.push({ partition, offset: BigInt(base + index), timestamp: at, ...content });
    }
  }
  return messages;
}

/** A reader that may wait, from before it looks, so that it misses no notification. */
function waiter(waiting: Map<string, Set<() => void>>, hint: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const group = waiting.get(hint) ?? new Set();
  waiting.set(hint, group.add(resolve));
  return {
    async wait(ms: number, signal: AbortSignal): Promise<void> {
      const timer = setTimeout(resolve, ms);
      const end = (): void => resolve();
      signal.addEventListener("abort", end);
      await promise;
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    },
    release(): void {
      group.delete(resolve);
      if (group.size === 0) waiting.delete(hint);
    },
  };
}
