import { expect, test } from "bun:test";
import fc from "fast-check";
import { Partitioners } from "kafkajs";
import { decodeMessages, encodeMessages, messageBytes } from "../../../src/server/topics/message-frame.ts";
import { partitionOf } from "../../../src/server/topics/partitioner.ts";
import { seeded } from "../../harness/seed.ts";

const bytes = fc.uint8Array({ maxLength: 40 });
const message = fc.record({
  key: fc.option(bytes, { nil: undefined }),
  value: fc.option(bytes, { nil: undefined }),
  headers: fc.array(fc.tuple(fc.string({ unit: "grapheme" }), bytes), { maxLength: 4 }),
});

test("messages come back from a frame as they were", () => {
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 8 }), (messages) => {
      const frame = encodeMessages(messages);
      // A frame may lie anywhere in a larger buffer.
      const within = new Uint8Array(frame.length + 7);
      within.set(frame, 3);
      expect(decodeMessages(within.subarray(3, 3 + frame.length))).toEqual(messages);
    }),
    seeded(300),
  );
});

test("the bytes of a message are those of its key, value and headers", () => {
  const [one] = decodeMessages(encodeMessages([{ key: new Uint8Array(3), value: new Uint8Array(5), headers: [["é", new Uint8Array(2)]] }]));
  expect(one && messageBytes(one)).toBe(12);
  expect(messageBytes({ value: undefined })).toBe(0);
});

test("a frame that was cut is an error, never messages that were not sent", () => {
  const messages = [{ key: new Uint8Array([1]), value: new Uint8Array([2, 3]), headers: [["h", new Uint8Array([4])] as const] }];
  const frame = encodeMessages(messages);
  for (let length = 1; length < frame.length; length++) expect(() => decodeMessages(frame.subarray(0, length))).toThrow(RangeError);
});

test("a key has the partition that Kafka's clients give it", () => {
  const theirs = Partitioners.DefaultPartitioner();
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 50 }), (key, count) => {
      const partitionMetadata = Array.from({ length: count }, (_, partitionId) => ({ partitionId, leader: 1 }));
      const expected = theirs({
        topic: "t",
        partitionMetadata: partitionMetadata as never,
        message: { key: Buffer.from(key), value: null },
      });
      expect(partitionOf(key, count)).toBe(expected);
    }),
    seeded(500),
  );
});
