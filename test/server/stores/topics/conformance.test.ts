/** What every driver of the store of topics must do beside what topics must do over it. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  MAX_TOPICS,
  type StoredBatch,
  type TopicPlace,
  type TopicStore,
  TopicStoreError,
} from "../../../../src/server/stores/topics/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { TOPIC_DRIVERS } from "./drivers.ts";

const HOUR_MS = 3_600_000;
const EVERYTHING = { maxMessages: 1_000_000, maxBytes: 1_000_000_000 };

describe.each(TOPIC_DRIVERS.map((driver) => [driver.name, driver] as const))("%s", (_, { isDurable, open }) => {
  let folder: TempFolder;
  let store: TopicStore;
  let now: number;
  beforeEach(async () => {
    folder = new TempFolder();
    now = 1_000_000_000_000;
    store = await open(folder.path, { now: () => now });
  });
  afterEach(async () => {
    await store.close();
    folder[Symbol.dispose]();
  });

  const place = (topic = "t", environmentId = "env_1"): TopicPlace => ({ environmentId, topic });
  const batch = (text: string, partition = 0, count = 1) => ({ partition, count, messages: new TextEncoder().encode(text) });
  const textOf = ({ messages }: Pick<StoredBatch, "messages">): string => new TextDecoder().decode(messages);
  const texts = async (of: TopicPlace, partition = 0, offset = 0): Promise<string[]> =>
    (await store.read(of, [{ partition, offset }], EVERYTHING)).batches.map(textOf);
  const failure = async (work: Promise<unknown>): Promise<unknown> => {
    const error = await work.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TopicStoreError);
    return (error as TopicStoreError).code;
  };

  test("topics of environments are apart, and are forgotten with them", async () => {
    for (const environment of ["env_1", "env_2"]) {
      expect(await store.ensure(place("t", environment), 2)).toBe(2);
      await store.append(place("t", environment), [batch(environment)]);
    }
    expect(await texts(place("t", "env_1"))).toEqual(["env_1"]);
    expect(await store.topics("env_2")).toEqual([{ environmentId: "env_2", topic: "t", partitions: 2, bytes: 5 }]);
    expect((await store.figures()).environments).toEqual(
      new Map([
        ["env_1", 5],
        ["env_2", 5],
      ]),
    );
    await store.forgetEnvironment("env_1");
    expect(await failure(store.ends(place("t", "env_1")))).toBe("missing");
    expect(await texts(place("t", "env_2"))).toEqual(["env_2"]);
    await store.ensure(place("t", "env_1"), 1);
    expect(await store.ends(place("t", "env_1"))).toEqual([{ partition: 0, earliest: 0, latest: 0 }]);
  });

  test("a topic gains partitions and loses none", async () => {
    expect(await store.ensure(place(), 2)).toBe(2);
    await store.append(place(), [batch("a", 1)]);
    expect(await store.ensure(place(), 4)).toBe(4);
    expect(await store.ensure(place(), 1)).toBe(4);
    expect((await store.ends(place())).map(({ latest }) => latest)).toEqual([0, 1, 0, 0]);
    expect(await failure(store.append(place(), [batch("a", 4)]))).toBe("missing");
  });

  test("an append stands whole or not at all", async () => {
    await store.ensure(place(), 1);
    expect(await failure(store.append(place(), [batch("first"), batch("second", 9)]))).toBe("missing");
    expect(await texts(place())).toEqual([]);
    expect(await store.append(place(), [batch("one", 0, 3), batch("two", 0, 2)])).toEqual([0, 3]);
    expect(await store.ends(place())).toEqual([{ partition: 0, earliest: 0, latest: 5 }]);
  });

  test("reading begins with the batch that has the offset", async () => {
    await store.ensure(place(), 1);
    await store.append(place(), [batch("012", 0, 3), batch("345", 0, 3), batch("6", 0, 1)]);
    for (const [offset, expected] of [
      [0, ["012", "345", "6"]],
      [2, ["012", "345", "6"]],
      [3, ["345", "6"]],
      [5, ["345", "6"]],
      [6, ["6"]],
      [7, []],
    ] as const)
      expect([offset, await texts(place(), 0, offset)]).toEqual([offset, [...expected]]);
    expect(await store.read(place(), [{ partition: 0, offset: 8 }], EVERYTHING)).toEqual({
      batches: [],
      lost: [{ partition: 0, earliest: 0, latest: 7 }],
    });
  });

  test("messages are removed by age, of each topic its own, and times never go back", async () => {
    await store.ensure(place("short"), 1);
    await store.ensure(place("long"), 1);
    await store.limit({ retentionMs: { short: HOUR_MS } });
    for (const hour of [0, 1, 2]) {
      now = 1_000_000_000_000 + hour * HOUR_MS;
      for (const topic of ["short", "long"]) await store.append(place(topic), [batch(`hour ${hour}`)]);
    }
    now += HOUR_MS / 2;
    await store.prune();
    expect(await texts(place("short"), 0, 2)).toEqual(["hour 2"]);
    expect(await store.ends(place("short"))).toEqual([{ partition: 0, earliest: 2, latest: 3 }]);
    expect(await texts(place("long"))).toHaveLength(3);
    expect((await store.figures()).removedMessages).toBe(2);
    expect(await store.offsetsAt(place("long"), 1_000_000_000_000 + HOUR_MS)).toEqual([{ partition: 0, offset: 1 }]);
    now -= 10 * HOUR_MS;
    await store.append(place("long"), [batch("the clock was set back")]);
    const { batches } = await store.read(place("long"), [{ partition: 0, offset: 0 }], EVERYTHING);
    const times = batches.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    now += 30 * 24 * HOUR_MS;
    await store.prune();
    expect(await store.ends(place("long"))).toEqual([{ partition: 0, earliest: 4, latest: 4 }]);
    expect(await store.topics()).toEqual([
      { environmentId: "env_1", topic: "long", partitions: 1, bytes: 0 },
      { environmentId: "env_1", topic: "short", partitions: 1, bytes: 0 },
    ]);
  });

  test("messages are removed by size, the oldest first, each partition within its share", async () => {
    await store.ensure(place(), 2);
    await store.limit({ retentionMs: {}, maxTopicBytes: 2_000 });
    for (let round = 0; round < 30; round++) await store.append(place(), [batch("x".repeat(100), 0), batch("y".repeat(10), 1)]);
    await store.prune();
    const [first, second] = await store.ends(place());
    expect([first?.earliest, first?.latest]).toEqual([20, 30]);
    expect([second?.earliest, second?.latest]).toEqual([0, 30]);
    expect((await store.topics())[0]?.bytes).toBe(1_300);
  });

  test("many old batches are removed in steps", async () => {
    await store.ensure(place(), 1);
    for (let round = 0; round < 4; round++)
      await store.append(
        place(),
        Array.from({ length: 400 }, () => batch("x")),
      );
    now += 30 * 24 * HOUR_MS;
    await store.prune();
    expect(await store.ends(place())).toEqual([{ partition: 0, earliest: 1_600, latest: 1_600 }]);
  });

  test("an environment has a bounded number of topics", async () => {
    for (let number = 0; number < MAX_TOPICS; number++) await store.ensure(place(`t${number}`), 1);
    expect(await failure(store.ensure(place("one more"), 1))).toBe("full");
    expect(await store.ensure(place("t0"), 2)).toBe(2);
    await store.ensure(place("t", "env_2"), 1);
  });

  test("the probe leaves nothing behind", async () => {
    await store.probe();
    expect(await store.topics()).toEqual([]);
  });

  if (isDurable)
    test("what was appended is there after closing", async () => {
      await store.ensure(place(), 3);
      await Promise.all(Array.from({ length: 50 }, (_unused, index) => store.append(place(), [batch(`m${index}`, index % 3)])));
      const before = await store.read(
        place(),
        [0, 1, 2].map((partition) => ({ partition, offset: 0 })),
        EVERYTHING,
      );
      await store.close();
      store = await open(folder.path, { now: () => now });
      expect(
        await store.read(
          place(),
          [0, 1, 2].map((partition) => ({ partition, offset: 0 })),
          EVERYTHING,
        ),
      ).toEqual(before);
      expect(before.batches).toHaveLength(50);
      expect(await store.append(place(), [batch("next", 0)])).toEqual([17]);
    });
});
