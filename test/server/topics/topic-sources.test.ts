/** Which topic a source means, and with which settings. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type DataSource, DataSourceSchema, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { systemClock } from "../../../src/context/system-clock.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createSqliteTopicStore } from "../../../src/server/stores/topics/sqlite.ts";
import type { TopicStore } from "../../../src/server/stores/topics/store.ts";
import { createEmbeddedTopics, type EmbeddedTopics } from "../../../src/server/topics/embedded.ts";
import { EVERYWHERE } from "../../../src/server/topics/homes.ts";
import { findTopic } from "../../../src/server/topics/targets.ts";
import { createTopicSources, type TopicIntegration, type TopicSources } from "../../../src/server/topics/topic-sources.ts";
import { TopicError } from "../../../src/server/topics/topics.ts";
import { freePort } from "../../harness/free-port.ts";
import { TempFolder } from "../../harness/running-server.ts";

let folder: TempFolder;
let store: TopicStore;
let embedded: EmbeddedTopics;
const opened: TopicSources[] = [];
beforeEach(() => {
  folder = new TempFolder();
  store = createSqliteTopicStore({ path: join(folder.path, "topics.db"), programVersion: "1", clock: systemClock });
  embedded = createEmbeddedTopics({ store: async () => store, bus: createMemoryBus() });
});
afterEach(async () => {
  for (const sources of opened.splice(0)) await sources.close();
  embedded.close();
  await store.close();
  folder[Symbol.dispose]();
});

const sources = (
  integrations: readonly TopicIntegration[] = [],
  env: Readonly<Record<string, string>> = {},
  configured: Readonly<Record<string, number>> = {},
): TopicSources => {
  const made = createTopicSources({
    embedded,
    homes: EVERYWHERE,
    integrations: async () => integrations,
    env,
    configuredPartitions: (topic) => configured[topic],
  });
  opened.push(made);
  return made;
};
const declare = (name: string, kind: SourceKind, settings: Record<string, string> = {}): DataSource =>
  create(DataSourceSchema, { name, kind, settings });
const failure = async (work: Promise<unknown>): Promise<readonly [string, string]> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TopicError);
  const { code, message } = error as TopicError;
  return [code, message];
};
/** The address that a source's cluster is looked for at: nobody listens there. */
const addressOf = async (lease: Awaited<ReturnType<TopicSources["open"]>>): Promise<string> => {
  const [code, message] = await failure(lease.topics.describe(lease.topic));
  lease.release();
  expect(code).toBe("unavailable");
  return /127\.0\.0\.1:\d+/.exec(message)?.[0] ?? message;
};

test("a topic of the server is made with the partitions of code or configuration, in its environment alone", async () => {
  const made = sources([], {}, { clicks: 3, orders: 2 });
  const clicks = await made.open("env_1", declare("c", SourceKind.TOPIC, { topic: "clicks", partitions: "2" }));
  expect([clicks.topic, (await clicks.topics.describe("clicks")).length]).toEqual(["clicks", 3]);
  const more = await made.open("env_1", declare("c", SourceKind.TOPIC, { topic: "clicks", partitions: "5" }));
  expect((await more.topics.describe("clicks")).length).toBe(5);
  expect((await (await made.openEmbedded("env_1", "orders")).topics.describe("orders")).length).toBe(2);
  const elsewhere = await made.openEmbedded("env_2", "unknown");
  expect((await failure(elsewhere.topics.describe("unknown")))[0]).toBe("missing");
  expect((await embedded.list()).map(({ environmentId, topic }) => `${environmentId} ${topic}`)).toEqual(["env_1 clicks", "env_1 orders"]);
});

test("two environments never see each other's messages", async () => {
  const made = sources();
  const source = declare("c", SourceKind.TOPIC, { topic: "c", partitions: "1" });
  const [first, second] = [await made.open("env_1", source), await made.open("env_2", source)];
  await first.topics.push("c", [{ value: new Uint8Array([1]) }]);
  const bounds = { maxMessages: 10, maxBytes: 1_000, waitMs: 0, signal: new AbortController().signal };
  expect((await first.topics.read("c", [{ partition: 0, offset: 0n }], bounds)).messages).toHaveLength(1);
  expect((await second.topics.read("c", [{ partition: 0, offset: 0n }], bounds)).messages).toEqual([]);
});

test("a cluster is found by the integration, else by the server's environment, else by code", async () => {
  const [a, b, c] = await Promise.all([freePort(), freePort(), freePort()]);
  const source = declare("my-events", SourceKind.KAFKA, { topic: "t", bootstrap_servers: `127.0.0.1:${a}` });
  const env = { MY_EVENTS_KAFKA_BOOTSTRAP_SERVERS: `127.0.0.1:${b}` };
  const integration = { name: "my-events", kind: "kafka", variables: { KAFKA_BOOTSTRAP_SERVERS: `127.0.0.1:${c}` } };
  expect(await addressOf(await sources().open("env_1", source))).toBe(`127.0.0.1:${a}`);
  expect(await addressOf(await sources([], env).open("env_1", source))).toBe(`127.0.0.1:${b}`);
  expect(await addressOf(await sources([integration], env).open("env_1", source))).toBe(`127.0.0.1:${c}`);
  expect(await addressOf(await sources([integration]).openByIntegration("env_1", "my-events", "t"))).toBe(`127.0.0.1:${c}`);
});

test("settings that cannot be used are refused with what to do", async () => {
  const none = declare("events", SourceKind.KAFKA, { topic: "t" });
  expect(await failure(sources().open("env_1", none))).toEqual([
    "refused",
    expect.stringContaining(
      "The source 'events' cannot be used: KAFKA_BOOTSTRAP_SERVERS (brokers, host:port, separated by commas) is required",
    ),
  ]);
  const pg = { name: "events", kind: "postgresql", variables: { PGHOST: "h" } };
  expect((await failure(sources([pg]).open("env_1", none)))[1]).toContain("the integration of that name is postgresql");
  expect((await failure(sources([pg]).openByIntegration("env_1", "events", "t")))[0]).toBe("missing");
  const env = { EVENTS_KAFKA_BOOTSTRAP_SERVERS: "h:1", EVENTS_KAFKA_SASL_PASSWORD: "s3cret" };
  const idle = await failure(sources([], env).open("env_1", none));
  expect(idle).toEqual(["refused", expect.stringContaining("KAFKA_SASL_PASSWORD is for the security protocols")]);
  expect(idle[1]).not.toContain("s3cret");
  expect((await failure(sources().open("env_1", declare("db", SourceKind.SQLITE))))[1]).toContain("is a database, and no topic");
});

test("a name means the source that has the topic, and two clusters with it are not guessed between", async () => {
  const port = await freePort();
  const kafka = (name: string, topic: string) => declare(name, SourceKind.KAFKA, { topic, bootstrap_servers: `127.0.0.1:${port}` });
  const declared = [kafka("one", "t"), kafka("two", "both"), kafka("three", "both"), declare("mine", SourceKind.TOPIC, { topic: "own" })];
  const find = (topic: string, integration = "") => findTopic(sources(), { environmentId: "env_1", topic, integration, declared });
  expect(await find("t")).toMatchObject({ source: "one", kind: "kafka" });
  expect(await find("own")).toMatchObject({ source: "mine", kind: "server" });
  expect(await find("none")).toMatchObject({ source: "", kind: "server" });
  expect(await failure(find("both"))).toEqual([
    "refused",
    expect.stringContaining("The sources 'two' and 'three' have a topic 'both' each"),
  ]);
});
