/** Messages pushed to topics and read again, with each driver. */

import { join } from "node:path";
import { Kafka, logLevel } from "kafkajs";
import { systemClock } from "../../src/context/system-clock.ts";
import { createMemoryBus } from "../../src/server/jobs/bus.ts";
import { createSqliteTopicStore } from "../../src/server/stores/topics/sqlite.ts";
import { createEmbeddedTopics } from "../../src/server/topics/embedded.ts";
import { createKafkaTopics } from "../../src/server/topics/kafka.ts";
import { readKafkaCluster } from "../../src/server/topics/kafka-settings.ts";
import type { NewMessage, Topics } from "../../src/server/topics/topics.ts";
import { Authority } from "../harness/authority.ts";
import { lacksKafka, startKafka } from "../harness/kafka.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";

const MESSAGES = 100_000;
const AT_ONCE = 2_000;
const PADDING = "abcdefghij".repeat(10);

/** How long pushing and reading took, milliseconds. */
interface Times {
  readonly push: number;
  readonly read: number;
}

/**
 * 100,000 messages of about 150 bytes, 2,000 at once, into one partition; then read by 5,000.
 * kafkajs, which pushes to the same broker, is the anchor; without Kafka the server's own topics
 * are measured alone.
 */
export async function measureTopics(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  await using stack = new AsyncDisposableStack();
  const store = createSqliteTopicStore({ path: join(sandbox.root, "topics.db"), programVersion: "bench", clock: systemClock });
  stack.defer(() => store.close());
  const embedded = createEmbeddedTopics({ store: async () => store, bus: createMemoryBus() });
  stack.defer(() => embedded.close());
  const subjects: Record<string, () => Promise<Times>> = {
    async "the server's own"() {
      const topic = crypto.randomUUID();
      await embedded.ensure("env_1", topic, 1);
      return timesOf(embedded.of("env_1"), topic);
    },
  };
  if (!lacksKafka()) {
    using authority = new Authority();
    const kafka = await startKafka(authority.sign("localhost"));
    stack.defer(kafka.stop);
    const client = new Kafka({ clientId: "bench", brokers: [kafka.brokers.PLAINTEXT], logLevel: logLevel.NOTHING });
    const admin = client.admin();
    await admin.connect();
    stack.defer(() => admin.disconnect());
    const topics = createKafkaTopics(readKafkaCluster({ KAFKA_BOOTSTRAP_SERVERS: kafka.brokers.PLAINTEXT }));
    stack.defer(() => topics.close());
    const made = async (): Promise<string> => {
      const topic = crypto.randomUUID();
      await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
      return topic;
    };
    subjects.Kafka = async () => timesOf(topics, await made());
    subjects.kafkajs = async () => timesOfOther(client, await made());
  }
  const measured = await interleave(rounds, subjects);
  const anchor = measured.kafkajs;
  return (["push", "read"] as const).flatMap((what) =>
    Object.entries(measured).map(([name, times]): Line => {
      const ms = median(times.map((one) => one[what]));
      const other = anchor && median(anchor.map((one) => one[what]));
      return {
        what: `${what} ${MESSAGES} messages: ${name}`,
        value: `${milliseconds(ms)}, ${Math.round(MESSAGES / (ms / 1_000))} a second`,
        ...(other !== undefined && name !== "kafkajs" && { ratio: ms / other, anchor: "kafkajs" }),
      };
    }),
  );
}

/** Messages from one number on. */
function messagesFrom(first: number): NewMessage[] {
  return Array.from({ length: AT_ONCE }, (_, index) => ({
    key: new TextEncoder().encode(`u${(first + index) % 1_000}`),
    value: new TextEncoder().encode(JSON.stringify({ id: first + index, amount: index / 3, name: PADDING })),
  }));
}

async function timesOf(topics: Topics, topic: string): Promise<Times> {
  const began = performance.now();
  for (let first = 0; first < MESSAGES; first += AT_ONCE) await topics.push(topic, messagesFrom(first));
  const pushed = performance.now();
  const bounds = { maxMessages: 5_000, maxBytes: 8_000_000, waitMs: 1_000, signal: new AbortController().signal };
  let offset = 0n;
  while (offset < MESSAGES)
    offset = ((await topics.read(topic, [{ partition: 0, offset }], bounds)).messages.at(-1)?.offset ?? offset - 1n) + 1n;
  return { push: pushed - began, read: performance.now() - pushed };
}

async function timesOfOther(client: Kafka, topic: string): Promise<Times> {
  const producer = client.producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const began = performance.now();
  for (let first = 0; first < MESSAGES; first += AT_ONCE)
    await producer.send({
      topic,
      acks: -1,
      messages: messagesFrom(first).map(({ key, value }) => ({ key: Buffer.from(key ?? []), value: Buffer.from(value ?? []) })),
    });
  const push = performance.now() - began;
  await producer.disconnect();
  const consumer = client.consumer({ groupId: topic });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const { promise, resolve } = Promise.withResolvers<void>();
  let read = 0;
  let since = 0;
  await consumer.run({
    // Joining the group is not what is compared.
    eachBatch: async ({ batch }) => {
      since ||= performance.now();
      read += batch.messages.length;
      if (read >= MESSAGES) resolve();
    },
  });
  await promise;
  const ended = performance.now();
  await consumer.disconnect();
  return { push, read: ended - since };
}
