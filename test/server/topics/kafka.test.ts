/** Topics of a real Kafka: the suite of all drivers, and kafkajs as a second opinion. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type Admin, CompressionTypes, Kafka, logLevel } from "kafkajs";
import { createKafkaTopics } from "../../../src/server/topics/kafka.ts";
import { readKafkaCluster } from "../../../src/server/topics/kafka-settings.ts";
import type { TopicError, TopicMessage, Topics } from "../../../src/server/topics/topics.ts";
import { Authority } from "../../harness/authority.ts";
import { eventually } from "../../harness/eventually.ts";
import { freePort } from "../../harness/free-port.ts";
import { lacksKafka, startKafka, type TestKafka } from "../../harness/kafka.ts";
import { lacksProgram } from "../../harness/needs.ts";
import { countOnTwoNodes } from "../streams/kafka-nodes.ts";
import { topicsConformance } from "./conformance.ts";

const isAbsent = lacksKafka() || lacksProgram("openssl");

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | null | undefined): string | undefined => (value?.length ? new TextDecoder().decode(value) : undefined);

describe.skipIf(isAbsent)("Kafka", () => {
  let authority: Authority;
  let kafka: TestKafka;
  let other: Kafka;
  let admin: Admin;
  const opened: Topics[] = [];
  const open = (variables: Readonly<Record<string, string>>): Topics => {
    const topics = createKafkaTopics(readKafkaCluster(variables));
    opened.push(topics);
    return topics;
  };
  const create = async (topic: string, numPartitions: number, configEntries: { name: string; value: string }[] = []): Promise<void> => {
    await admin.createTopics({ topics: [{ topic, numPartitions, configEntries }], waitForLeaders: true });
  };
  beforeAll(async () => {
    authority = new Authority();
    kafka = await startKafka(authority.sign("localhost"));
    other = new Kafka({ clientId: "other", brokers: [kafka.brokers.PLAINTEXT], logLevel: logLevel.NOTHING });
    admin = other.admin();
    await admin.connect();
  }, 300_000);
  afterAll(async () => {
    await Promise.all(opened.map((topics) => topics.close()));
    await admin?.disconnect();
    await kafka?.stop();
    authority?.[Symbol.dispose]();
  });
  const plain = (): Topics => open({ KAFKA_BOOTSTRAP_SERVERS: kafka.brokers.PLAINTEXT });
  const secured = (more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
    KAFKA_BOOTSTRAP_SERVERS: kafka.brokers.SASL_SSL,
    KAFKA_SECURITY_PROTOCOL: "SASL_SSL",
    KAFKA_SASL_MECHANISM: "SCRAM-SHA-512",
    KAFKA_SASL_USERNAME: kafka.user,
    KAFKA_SASL_PASSWORD: kafka.password,
    KAFKA_SSL_CA: readFileSync(authority.certificate, "utf8"),
    ...more,
  });
  /** Messages of a topic's first partition from its beginning, until there are as many. */
  const readFirst = async (topics: Topics, topic: string, count: number): Promise<TopicMessage[]> => {
    const found: TopicMessage[] = [];
    await eventually(async () => {
      const offset = (found.at(-1)?.offset ?? -1n) + 1n;
      const { messages } = await topics.read(topic, [{ partition: 0, offset }], {
        ...{ maxMessages: 1_000, maxBytes: 1_000_000, waitMs: 1_000, signal: new AbortController().signal },
      });
      found.push(...messages);
      return found.length >= count;
    }, `${count} messages of ${topic}`);
    return found;
  };

  topicsConformance({
    name: "as every driver",
    isAbsent: false,
    open: async () => ({
      topics: plain(),
      create: (topic, partitions) => create(topic, partitions, [{ name: "max.message.bytes", value: "2000000" }]),
      close: async () => undefined,
    }),
  });

  const WRITTEN = [
    { key: "k", value: "first", headers: { a: "1", b: "2" } },
    { key: "k", value: null },
    { key: null, value: "x".repeat(5_000) },
    { key: "", value: "" },
  ];

  // The broker compresses anew what kafkajs, which has one codec, sends.
  test.each(["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"])(
    "what kafkajs writes is read, compressed by %s",
    async (codec) => {
      const topic = `js-${codec}`;
      await create(topic, 1, [{ name: "compression.type", value: codec }]);
      const producer = other.producer();
      await producer.connect();
      await producer.send({ topic, compression: CompressionTypes.GZIP, messages: WRITTEN });
      await producer.disconnect();
      const read = await readFirst(plain(), topic, WRITTEN.length);
      expect(
        read.map(({ key, value, headers }) => [text(key), text(value), headers.map(([name, content]) => [name, text(content)])]),
      ).toEqual([
        [
          "k",
          "first",
          [
            ["a", "1"],
            ["b", "2"],
          ],
        ],
        ["k", undefined, []],
        [undefined, "x".repeat(5_000), []],
        [undefined, undefined, []],
      ]);
      expect([read[1]?.value, read[3]?.key?.length, read[3]?.value?.length]).toEqual([undefined, 0, 0]);
    },
  );

  test("what is pushed is read by kafkajs, through TLS and a login", async () => {
    const topic = "ours";
    await create(topic, 1);
    const topics = open(secured());
    await topics.push(topic, [
      { key: bytes("k"), value: bytes("first"), headers: [["a", bytes("1")]] },
      { key: bytes("k"), value: undefined },
      { value: bytes("last") },
    ]);
    const consumer = other.consumer({ groupId: "g" });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    const seen: unknown[] = [];
    await consumer.run({
      eachMessage: async ({ message: { key, value, headers = {} } }) =>
        void seen.push([text(key), value === null ? null : text(value), Object.entries(headers).map(([name, one]) => [name, String(one)])]),
    });
    await eventually(() => seen.length >= 3, "kafkajs has read three messages");
    await consumer.disconnect();
    expect(seen).toEqual([
      ["k", "first", [["a", "1"]]],
      ["k", null, []],
      [undefined, "last", []],
    ]);
  });

  test.each(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])("logs in by %s, and says when that is refused", async (mechanism) => {
    const topic = `sasl-${mechanism}`;
    await create(topic, 1);
    expect(await open(secured({ KAFKA_SASL_MECHANISM: mechanism })).describe(topic)).toHaveLength(1);
    const wrong = open(secured({ KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_PASSWORD: "another-s3cret" }));
    const refused: TopicError = await wrong.describe(topic).catch((error) => error);
    expect([refused.code, refused.message]).toEqual(["denied", expect.stringContaining(`refused the user 'tester' by ${mechanism}`)]);
    expect(refused.message).not.toContain("another-s3cret");
  });

  test("only what was committed is read, and what was given up is passed over", async () => {
    const topic = "transactions";
    await create(topic, 1);
    const producer = other.producer({ transactionalId: "tx", maxInFlightRequests: 1, idempotent: true });
    await producer.connect();
    for (const [value, stands] of [
      ["one", true],
      ["two", false],
      ["three", true],
      ["four", false],
    ] as const) {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [{ value }, { value: `${value} again` }] });
      await (stands ? transaction.commit() : transaction.abort());
    }
    await producer.disconnect();
    const topics = plain();
    expect((await readFirst(topics, topic, 4)).map(({ value }) => text(value))).toEqual(["one", "one again", "three", "three again"]);
    // Behind the last message is nothing but what was given up: a reader waits there.
    const gone = new AbortController();
    const waiting = topics.read(topic, [{ partition: 0, offset: 8n }], {
      ...{ maxMessages: 10, maxBytes: 1_000, waitMs: 600_000, signal: gone.signal },
    });
    await topics.push(topic, [{ value: bytes("five") }]);
    expect((await waiting).messages.map(({ value }) => text(value))).toEqual(["five"]);
  });

  test("messages that the cluster has removed are told as lost", async () => {
    const topic = "removed";
    await create(topic, 1);
    const topics = plain();
    await topics.push(
      topic,
      Array.from({ length: 5 }, (_, index) => ({ value: bytes(`m${index}`) })),
    );
    await admin.fetchTopicMetadata({ topics: [topic] });
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "3" }] });
    const bounds = { maxMessages: 10, maxBytes: 1_000, waitMs: 0, signal: new AbortController().signal };
    expect(await topics.read(topic, [{ partition: 0, offset: 0n }], bounds)).toEqual({
      messages: [],
      lost: [{ partition: 0, earliest: 3n, latest: 5n }],
    });
    expect((await topics.describe(topic))[0]).toEqual({ partition: 0, earliest: 3n, latest: 5n });
  });

  test("a message that the topic does not take is refused", async () => {
    await create("small", 1, [{ name: "max.message.bytes", value: "1000" }]);
    const refused: TopicError = await plain()
      .push("small", [{ value: crypto.getRandomValues(new Uint8Array(5_000)) }])
      .catch((error) => error);
    expect([refused.code, refused.message]).toEqual(["refused", expect.stringContaining("MESSAGE_TOO_LARGE")]);
  });

  test("nobody listens: it is said where, and the client can be used again later", async () => {
    const port = await freePort();
    const topics = open({ KAFKA_BOOTSTRAP_SERVERS: `127.0.0.1:${port}` });
    const gone: TopicError = await topics.describe("t").catch((error) => error);
    expect([gone.code, gone.message]).toEqual(["unavailable", expect.stringContaining(`127.0.0.1:${port} cannot be reached`)]);
    const first = open({ KAFKA_BOOTSTRAP_SERVERS: `127.0.0.1:${port},${kafka.brokers.PLAINTEXT}` });
    await create("later", 2);
    expect(await first.describe("later")).toHaveLength(2);
  });

  test("two nodes share its partitions, and each message counts once whoever comes, stops or is cut off", async () => {
    await create("shared-payments", 4);
    await countOnTwoNodes("shared-payments", kafka.brokers.PLAINTEXT, plain());
  }, 300_000);

  test("a broker that was killed is found again when it is back, with all that was answered", async () => {
    const topic = "outage";
    await create(topic, 1, [{ name: "flush.messages", value: "1" }]);
    const topics = plain();
    const bounds = { maxMessages: 10, maxBytes: 1_000, waitMs: 600_000, signal: new AbortController().signal };
    await topics.push(topic, [{ value: bytes("before") }]);
    const waiting = topics.read(topic, [{ partition: 0, offset: 1n }], bounds).catch((error) => error);
    await kafka.kill();
    const refused: TopicError = await topics.push(topic, [{ value: bytes("meanwhile") }]).catch((error) => error);
    expect([refused.code, (await waiting).code]).toEqual(["unavailable", "unavailable"]);
    await kafka.restart();
    await eventually(
      () =>
        topics.push(topic, [{ value: bytes("after") }]).then(
          () => true,
          () => false,
        ),
      "a push after the restart",
    );
    expect((await readFirst(topics, topic, 2)).map(({ value }) => text(value))).toEqual(["before", "after"]);
  }, 300_000);
});
