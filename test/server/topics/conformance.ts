/** What every driver of topics must do. Each test makes topics with names of its own. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { MAX_HEADERS, MAX_MESSAGE_BYTES, MAX_PUSHED_MESSAGES } from "../../../src/server/topics/limits.ts";
import { type NewMessage, type ReadBounds, type ReadPosition, TopicError, type TopicMessage } from "../../../src/server/topics/topics.ts";
import { eventually, isPending } from "../../harness/eventually.ts";
import type { OpenTopics, TopicsDriver } from "./drivers.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string | undefined => (value === undefined ? undefined : new TextDecoder().decode(value));
const numbered = (count: number, more: Partial<NewMessage> = {}): NewMessage[] =>
  Array.from({ length: count }, (_, index) => ({ value: bytes(`m${index}`), ...more }));
/** Long enough that no test waits for its end. */
const LONG_MS = 600_000;

/** Defines the suite for one driver. */
export function topicsConformance({ name, isAbsent, open }: TopicsDriver): void {
  describe.skipIf(isAbsent)(name, () => {
    let opened: OpenTopics;
    beforeAll(async () => {
      opened = await open();
    }, 300_000);
    afterAll(() => opened?.close());

    const topic = async (partitions = 1): Promise<string> => {
      const made = `t-${crypto.randomUUID()}`;
      await opened.create(made, partitions);
      return made;
    };
    const bounds = (more: Partial<ReadBounds> = {}): ReadBounds => ({
      ...{ maxMessages: 10_000, maxBytes: 32 * 1024 * 1024, waitMs: 0, signal: new AbortController().signal },
      ...more,
    });
    const read = (of: string, positions: readonly ReadPosition[], more: Partial<ReadBounds> = {}) =>
      opened.topics.read(of, positions, bounds(more));
    /** Everything from positions on, read until nothing is left. */
    const readAll = async (of: string, from?: readonly ReadPosition[], more: Partial<ReadBounds> = {}): Promise<TopicMessage[]> => {
      const ends = await opened.topics.describe(of);
      const next = new Map(
        (from ?? ends.map(({ partition, earliest: offset }) => ({ partition, offset }))).map((one) => [one.partition, one.offset]),
      );
      const found: TopicMessage[] = [];
      for (;;) {
        const positions = [...next].map(([partition, offset]) => ({ partition, offset }));
        if (positions.every(({ partition, offset }) => offset >= (ends.find((end) => end.partition === partition)?.latest ?? 0n)))
          return found;
        const { messages, lost } = await read(of, positions, { waitMs: 5_000, ...more });
        expect(lost).toEqual([]);
        found.push(...messages);
        for (const { partition, offset } of messages) next.set(partition, offset + 1n);
      }
    };
    const failure = async (work: Promise<unknown>): Promise<TopicError> => {
      const error = await work.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(TopicError);
      return error as TopicError;
    };

    test("a new topic is empty, and what is pushed is read in its order with keys, headers and tombstones", async () => {
      const name = await topic();
      expect(await opened.topics.describe(name)).toEqual([{ partition: 0, earliest: 0n, latest: 0n }]);
      expect(await read(name, [{ partition: 0, offset: 0n }])).toEqual({ messages: [], lost: [] });
      const pushed: NewMessage[] = [
        { value: bytes("plain") },
        {
          key: bytes("k"),
          value: bytes("with a key"),
          headers: [
            ["a", bytes("1")],
            ["a", bytes("2")],
            ["é", new Uint8Array()],
          ],
        },
        { key: bytes("k"), value: undefined },
        { key: new Uint8Array(), value: new Uint8Array() },
        { value: Uint8Array.from({ length: 256 }, (_, index) => index) },
      ];
      const before = Date.now() - 60_000;
      expect(await opened.topics.push(name, pushed)).toEqual(pushed.map((_, index) => ({ partition: 0, offset: BigInt(index) })));
      const { messages, lost } = await read(name, [{ partition: 0, offset: 0n }], { waitMs: 5_000 });
      expect(lost).toEqual([]);
      expect(messages.map(({ timestamp: _, ...rest }) => plain(rest))).toEqual(
        pushed.map(({ key, value, headers = [] }, offset) => plain({ partition: 0, offset: BigInt(offset), key, value, headers })),
      );
      expect(messages.every(({ timestamp }) => timestamp > before)).toBe(true);
      expect(await opened.topics.describe(name)).toEqual([{ partition: 0, earliest: 0n, latest: 5n }]);
      expect(await opened.topics.push(name, [])).toEqual([]);
    });

    test("reading begins anywhere, also within what was pushed at once, and keeps to its bounds", async () => {
      const name = await topic();
      await opened.topics.push(name, numbered(1_000));
      for (const offset of [0, 1, 499, 999]) {
        const { messages } = await read(name, [{ partition: 0, offset: BigInt(offset) }], { waitMs: 5_000 });
        expect([messages[0]?.offset, text(messages[0]?.value)]).toEqual([BigInt(offset), `m${offset}`]);
        expect(messages.length).toBeLessThanOrEqual(1_000 - offset);
      }
      const few = await read(name, [{ partition: 0, offset: 10n }], { waitMs: 5_000, maxMessages: 7 });
      expect(few.messages.map(({ offset }) => offset)).toEqual([10n, 11n, 12n, 13n, 14n, 15n, 16n]);
      const narrow = await read(name, [{ partition: 0, offset: 990n }], { waitMs: 5_000, maxBytes: 1 });
      expect(narrow.messages.map(({ offset }) => offset)).toEqual([990n]);
      expect((await readAll(name, undefined, { maxMessages: 33 })).map(({ value }) => text(value))).toEqual(
        numbered(1_000).map(({ value }) => text(value)),
      );
    });

    test("a key stays in its partition, the one of Kafka's own clients; messages without a key are spread", async () => {
      const name = await topic(5);
      const keys = Object.keys(KEY_PARTITIONS);
      const placed = await opened.topics.push(
        name,
        keys.map((key) => ({ key: bytes(key), value: bytes(key) })),
      );
      expect(Object.fromEntries(keys.map((key, index) => [key, placed[index]?.partition]))).toEqual(KEY_PARTITIONS);
      expect(await opened.topics.push(name, [{ partition: 4, value: bytes("x"), key: bytes("a") }])).toMatchObject([{ partition: 4 }]);
      const spread = new Set<number | undefined>();
      for (let turn = 0; turn < 5; turn++) spread.add((await opened.topics.push(name, [{ value: bytes("x") }]))[0]?.partition);
      expect([...spread].sort()).toEqual([0, 1, 2, 3, 4]);
      const keyed = (await readAll(name)).filter(({ key, value }) => text(key) === text(value));
      expect(Object.fromEntries(keyed.map(({ key, partition }) => [text(key), partition]))).toEqual(KEY_PARTITIONS);
    });

    test("concurrent pushes lose nothing, double nothing, and keep their own order", async () => {
      const name = await topic(3);
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let round = 0; round < 5; round++)
          await opened.topics.push(
            name,
            Array.from({ length: 20 }, (_, index) => ({ key: bytes(`w${writer}`), value: bytes(`${writer} ${round * 20 + index}`) })),
          );
      });
      await Promise.all(writers);
      const all = await readAll(name);
      expect(new Set(all.map(({ partition, offset }) => `${partition}/${offset}`)).size).toBe(800);
      for (let writer = 0; writer < 8; writer++)
        expect(all.filter(({ key }) => text(key) === `w${writer}`).map(({ value }) => text(value))).toEqual(
          Array.from({ length: 100 }, (_, index) => `${writer} ${index}`),
        );
    });

    test("a reader waits for a push, for its time, or for its signal", async () => {
      const name = await topic(2);
      const positions = [0, 1].map((partition) => ({ partition, offset: 0n }));
      const waiting = read(name, positions, { waitMs: LONG_MS });
      expect(await isPending(waiting)).toBe(true);
      await opened.topics.push(name, [{ partition: 1, value: bytes("now") }]);
      expect((await waiting).messages.map(({ partition, value }) => [partition, text(value)])).toEqual([[1, "now"]]);
      const empty = [{ partition: 0, offset: 0n }];
      expect(await read(name, empty, { waitMs: 10 })).toEqual({ messages: [], lost: [] });
      const gone = new AbortController();
      const left = read(name, empty, { waitMs: LONG_MS, signal: gone.signal });
      expect(await isPending(left)).toBe(true);
      gone.abort();
      expect(await left).toEqual({ messages: [], lost: [] });
      expect(await read(name, empty, { waitMs: LONG_MS, signal: AbortSignal.abort() })).toEqual({ messages: [], lost: [] });
    });

    test("readers that wait do not hold back pushes or each other", async () => {
      const names = [await topic(), await topic(), await topic()];
      const waiting = names.map((name) => read(name, [{ partition: 0, offset: 0n }], { waitMs: LONG_MS }));
      for (const name of names.toReversed()) await opened.topics.push(name, [{ value: bytes(name) }]);
      expect((await Promise.all(waiting)).map(({ messages }) => text(messages[0]?.value))).toEqual(names);
    });

    test("a full partition does not starve another", async () => {
      const name = await topic(2);
      await opened.topics.push(name, numbered(500, { partition: 0 }));
      await opened.topics.push(name, [{ partition: 1, value: bytes("other") }]);
      let from = 0n;
      await eventually(async () => {
        const { messages } = await read(
          name,
          [
            { partition: 0, offset: from },
            { partition: 1, offset: 0n },
          ],
          { maxMessages: 10, waitMs: 1_000 },
        );
        from = messages.findLast(({ partition }) => partition === 0)?.offset ?? from;
        return messages.some(({ partition }) => partition === 1);
      }, "a message of the other partition");
      expect(from).toBeLessThan(499n);
    });

    test("a position that is not there is told with what is there", async () => {
      const name = await topic(2);
      await opened.topics.push(name, numbered(3, { partition: 0 }));
      const { messages, lost } = await read(
        name,
        [
          { partition: 0, offset: 10n },
          { partition: 1, offset: 0n },
        ],
        { waitMs: 5_000 },
      );
      expect(messages).toEqual([]);
      expect(lost).toEqual([{ partition: 0, earliest: 0n, latest: 3n }]);
      expect((await read(name, [{ partition: 0, offset: 3n }])).lost).toEqual([]);
    });

    test("offsets of a time", async () => {
      const name = await topic(2);
      await opened.topics.push(name, numbered(3, { partition: 0 }));
      const [first] = (await read(name, [{ partition: 0, offset: 0n }], { waitMs: 5_000 })).messages;
      await eventually(() => Date.now() > (first?.timestamp ?? 0) + 1, "another millisecond");
      const later = Date.now();
      await opened.topics.push(name, numbered(2, { partition: 0 }));
      const at = async (time: number) => (await opened.topics.offsetsAt(name, time)).map(({ partition, offset }) => [partition, offset]);
      expect(await at(0)).toEqual([
        [0, 0n],
        [1, 0n],
      ]);
      expect(await at(later)).toEqual([
        [0, 3n],
        [1, 0n],
      ]);
      expect(await at(Date.now() + 3_600_000)).toEqual([
        [0, 5n],
        [1, 0n],
      ]);
    });

    test("what cannot be is refused, and says why", async () => {
      const name = await topic(2);
      const absent = `no-${crypto.randomUUID()}`;
      for (const work of [
        () => opened.topics.describe(absent),
        () => opened.topics.offsetsAt(absent, 0),
        () => read(absent, [{ partition: 0, offset: 0n }]),
        () => opened.topics.push(absent, numbered(1)),
      ]) {
        const { code, message } = await failure(work());
        expect([code, message]).toEqual(["missing", expect.stringContaining(absent)]);
      }
      expect(await failure(opened.topics.push(name, [{ partition: 2, value: bytes("x") }]))).toMatchObject({ code: "refused" });
      expect(await failure(read(name, [{ partition: 7, offset: 0n }]))).toMatchObject({ code: "missing" });
      const large = new Uint8Array(MAX_MESSAGE_BYTES + 1);
      expect(await failure(opened.topics.push(name, [{ value: bytes("x") }, { value: large }]))).toMatchObject({ code: "refused" });
      expect(await failure(opened.topics.push(name, numbered(MAX_PUSHED_MESSAGES + 1)))).toMatchObject({ code: "refused" });
      const headers = Array.from({ length: MAX_HEADERS + 1 }, () => ["h", bytes("v")] as const);
      expect(await failure(opened.topics.push(name, [{ value: bytes("x"), headers }]))).toMatchObject({ code: "refused" });
      expect(await failure(opened.topics.push(name, numbered(1), AbortSignal.abort()))).toMatchObject({ code: "unavailable" });
      expect((await opened.topics.describe(name)).every(({ latest }) => latest === 0n)).toBe(true);
    });

    test("messages of the largest size pass", async () => {
      const name = await topic();
      const largest = crypto.getRandomValues(Buffer.alloc(65_536));
      const value = Buffer.concat(Array.from({ length: MAX_MESSAGE_BYTES / 65_536 }, () => largest));
      await opened.topics.push(name, [{ value }, { value: bytes("after") }]);
      const [first] = (await read(name, [{ partition: 0, offset: 0n }], { waitMs: 5_000, maxBytes: 1 })).messages;
      expect(Bun.hash(first?.value ?? "")).toBe(Bun.hash(value));
      expect((await readAll(name)).map(({ offset }) => offset)).toEqual([0n, 1n]);
    });
  });
}

/**
 * Partitions of keys, as Kafka's own partitioner chooses them among five; written down with
 * kafkajs.
 */
const KEY_PARTITIONS: Readonly<Record<string, number>> = { "1": 4, a: 4, user_1: 0, Grüße: 4, abcdefghijklmnop: 0, abc: 2 };

/** Bytes as arrays of numbers, so that kinds of views do not differ. */
function plain(message: Omit<TopicMessage, "timestamp">): unknown {
  const array = (value: Uint8Array | undefined) => value && [...value];
  return {
    ...message,
    key: array(message.key),
    value: array(message.value),
    headers: message.headers.map(([name, value]) => [name, array(value)]),
  };
}
