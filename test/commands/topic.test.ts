/** `svc topic push` as people type it, against a real server. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { ask, type Outcome, type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
let project: string;
let nobody: number;

const svc = (path: string, ...words: readonly string[]): Promise<Outcome> =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project });
const push = (...words: readonly string[]): Promise<Outcome> => svc("topic/push", ...words);

interface Topic {
  readonly source?: { readonly name?: string; readonly kind: string };
  readonly partitions?: readonly { readonly partition?: number; readonly latestOffset?: string }[];
  readonly message?: string;
}
const describeTopic = async (topicName: string): Promise<Topic> =>
  (await ask(platform, "TopicService/DescribeTopic", { topicName })) as Topic;

beforeAll(async () => {
  nobody = await freePort();
  platform = await startPlatform();
  project = writeProject({
    "sources.py": `from svc import KafkaSource, TopicSource

clicks = TopicSource(name="clicks", partitions=2)
other = TopicSource(name="orders_source", topic="orders")
away = KafkaSource(name="away", topic="payments", bootstrap_servers="127.0.0.1:${nobody}")
`,
  });
  const config = join(tempFolder("svc-topics-"), "topics.yaml");
  writeFileSync(config, "topics: [{name: configured, partitions: 3}]");
  expect((await svc("infra/apply/kafka-topics", "--file", config, "--yes")).exitCode).toBe(0);
  const applied = await svc("apply", "--force", "--await");
  expect([applied.exitCode, applied.stderr]).toEqual([0, expect.any(String)]);
}, 300_000);
afterAll(() => platform?.server.stop());

describe("a message goes to", () => {
  test("the topic that a source of the live deployment names", async () => {
    const { exitCode, stdout, stderr } = await push("--topic", "clicks", "--value", '{"id": randint(), "at": "now()"}');
    expect([exitCode, stdout, stderr]).toEqual([0, "Pushed message to 'clicks'\n", ""]);
    const { source, partitions = [] } = await describeTopic("clicks");
    expect(source).toEqual({ name: "clicks", kind: "server" });
    expect(partitions.map(({ latestOffset = "0" }) => Number(latestOffset)).reduce((sum, one) => sum + one, 0)).toBe(1);
    expect(partitions).toHaveLength(2);
    expect((await push("--topic", "orders", "--value", "{}")).exitCode).toBe(0);
    expect((await describeTopic("orders")).source).toEqual({ name: "orders_source", kind: "server" });
  });

  test("a topic that the configuration names", async () => {
    expect((await push("--topic", "configured", "--value", "1", "--json")).json()).toMatchObject({ topic: "configured", offset: 0 });
    expect((await describeTopic("configured")).partitions).toHaveLength(3);
  });

  test("the partition of its key", async () => {
    const places = new Set<unknown>();
    for (let round = 0; round < 4; round++)
      places.add(
        ((await push("--topic", "configured", "--key", "same", "--value", "{}", "--json")).json() as { partition: number }).partition,
      );
    expect(places.size).toBe(1);
  });

  test("bytes, as base64", async () => {
    expect((await push("--topic", "clicks", "--value", "AAECAw==", "--format", "binary")).exitCode).toBe(0);
  });

  test("nowhere that does not exist or answer", async () => {
    const absent = await push("--topic", "absent", "--value", "{}");
    expect([absent.exitCode, absent.stderr]).toEqual([1, expect.stringContaining("There is no topic 'absent'. A TopicSource")]);
    const near = await push("--topic", "ordres", "--value", "{}");
    expect([near.exitCode, near.stderr]).toEqual([
      1,
      expect.stringMatching(/There is no topic 'ordres'\.[\s\S]*[Dd]id you mean 'orders'\?/),
    ]);
    expect((await push("--topic", "configurd", "--value", "{}")).stderr).toContain("Did you mean 'configured'?");
    const away = await push("--topic", "payments", "--value", "{}");
    expect([away.exitCode, away.stderr]).toEqual([expect.any(Number), expect.stringContaining(`127.0.0.1:${nobody} cannot be reached`)]);
    expect(away.exitCode).not.toBe(0);
    const none = await push("--topic", "clicks", "--value", "{}", "--integration", "none");
    expect([none.exitCode, none.stderr]).toEqual([1, expect.stringContaining("There is no integration 'none' with a Kafka cluster")]);
  });
});

describe("words that cannot be", () => {
  test.each([
    [["--topic", "clicks", "--value", "rand(x)"], "--value, column 1: rand(x): 'x' is no number"],
    [["--topic", "clicks", "--value", "{}", "--key", "k-randstr()"], "--key, column 3: randstr(): it takes one number"],
    [["--topic", "clicks", "--value", "{"], "--value is no JSON"],
    [["--topic", "clicks", "--value", "%", "--format", "binary"], "--value is no base64"],
    [["--topic", "clicks", "--value", "{}", "--repeat", "0s"], "--repeat takes a duration of at least 1ms"],
    [["--topic", "clicks"], "--value"],
    [["--topic", "a b", "--value", "{}"], "'a b' is no name of a topic"],
  ])("%j", async (words, expected) => {
    const { exitCode, stderr } = await push(...words);
    expect([exitCode === 0, stderr]).toEqual([false, expect.stringContaining(expected)]);
  });
});

test("calls that are refused for good say so", async () => {
  const call = (body: object) => ask(platform, "TopicService/PushMessages", body) as Promise<{ code?: string; message?: string }>;
  expect(await call({ topicName: "clicks" })).toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("1 to 1000 messages"),
  });
  const many = Array.from({ length: 1_001 }, () => ({ value: "" }));
  expect(await call({ topicName: "clicks", messages: many })).toMatchObject({ code: "invalid_argument" });
  const large = Buffer.alloc(1024 * 1024 + 1).toString("base64");
  expect(await call({ topicName: "clicks", messages: [{ value: large }] })).toMatchObject({
    ...{ code: "invalid_argument", message: expect.stringContaining("1048576 are the most") },
  });
  expect(await call({ topicName: "clicks", messages: [{ value: "", partition: 7 }] })).toMatchObject({
    ...{ code: "invalid_argument", message: expect.stringContaining("has no partition 7") },
  });
});

test("keys, headers and tombstones stand as they were pushed, in the order of the request", async () => {
  const messages = [
    { key: "aw==", value: "AQ==", headers: [{ name: "h", value: "Ag==" }], partition: 1 },
    { key: "aw==", partition: 1 },
  ];
  const { places = [] } = (await ask(platform, "TopicService/PushMessages", { topicName: "clicks", messages })) as {
    readonly places?: readonly { readonly partition: number; readonly offset?: string }[];
  };
  const [first, second] = places.map(({ offset = "0" }) => Number(offset));
  expect([places.map(({ partition }) => partition), (second ?? 0) - (first ?? 0)]).toEqual([[1, 1], 1]);
});

test("--repeat pushes until it is interrupted, each time anew", async () => {
  const before = await count("orders");
  const interrupted = new AbortController();
  const running = runCommand("topic/push", ["--topic", "orders", "--value", "randint()", "--repeat", "1ms", "--json"], {
    ...{ home: platform.home, env: platform.env, dir: project, signal: interrupted.signal },
  });
  // The last one of these may stand without being told.
  await eventually(async () => (await count("orders")) >= before + 4, "four messages");
  interrupted.abort();
  const lines = (await running).stdout.trim().split("\n");
  expect(lines.length).toBeGreaterThanOrEqual(3);
  expect(lines.map((line) => JSON.parse(line).topic)).toEqual(lines.map(() => "orders"));
});

test("a suspended environment takes no messages", async () => {
  expect((await svc("environment/suspend", "--yes")).exitCode).toBe(0);
  const refused = await push("--topic", "clicks", "--value", "{}");
  expect([refused.exitCode === 0, refused.stderr]).toEqual([false, expect.stringContaining("is suspended")]);
  expect((await svc("environment/resume", "--environment", platform.environmentId, "--yes")).exitCode).toBe(0);
});

async function count(topic: string): Promise<number> {
  return ((await describeTopic(topic)).partitions ?? []).reduce((sum, { latestOffset = "0" }) => sum + Number(latestOffset), 0);
}
