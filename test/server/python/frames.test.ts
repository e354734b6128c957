import { expect, test } from "bun:test";
import fc from "fast-check";
import { encodeFrame, FrameReader, FrameWriter, MAX_FRAME, type Message } from "../../../src/server/python/frames.ts";
import { seed, seeded } from "../../harness/seed.ts";

const message = fc.record({ type: fc.string(), body: fc.jsonValue() }) as fc.Arbitrary<Message>;

test("messages survive any cutting of the stream", () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 10 }), fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (messages, cuts) => {
      const stream = Buffer.concat(messages.map((one) => encodeFrame(one)));
      const reader = new FrameReader();
      const read: Message[] = [];
      for (let at = 0, cut = 0; at < stream.length; cut++) {
        const end = at + (cuts[cut % cuts.length] as number);
        const chunk = Buffer.from(stream.subarray(at, end));
        reader.push(chunk, (found) => read.push(found));
        chunk.fill(0xff);
        at = end;
      }
      expect(JSON.stringify(read), `seed ${seed}`).toBe(JSON.stringify(messages));
    }),
    seeded(100),
  );
});

test("blocks of doubles survive any cutting of the stream, bit by bit", () => {
  const block = fc.float64Array({ maxLength: 20 }).map((values) => new Float64Array(values));
  fc.assert(
    fc.property(fc.array(block, { minLength: 1, maxLength: 4 }), message, fc.integer({ min: 1, max: 30 }), (blocks, head, size) => {
      const stream = Buffer.concat([encodeFrame(head, blocks), encodeFrame(head)]);
      const reader = new FrameReader();
      const read: Message[] = [];
      for (let at = 0; at < stream.length; at += size)
        reader.push(Buffer.from(stream.subarray(at, at + size)), (found) => read.push(found));
      const bits = (values: readonly Float64Array[] = []) => values.map((one) => Buffer.from(one.buffer).toString("hex"));
      expect(bits(read[0]?.blocks), `seed ${seed}`).toEqual(bits(blocks));
      expect(JSON.stringify({ ...read[0], blocks: undefined }), `seed ${seed}`).toBe(JSON.stringify(head));
      expect(JSON.stringify(read[1]), `seed ${seed}`).toBe(JSON.stringify(head));
    }),
    seeded(100),
  );
});

test("a frame that is too long is refused before it is read", () => {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(MAX_FRAME + 1, 0);
  expect(() => new FrameReader().push(header, () => undefined)).toThrow("too long");
});

test("what the socket does not take waits its turn", () => {
  fc.assert(
    fc.property(
      fc.array(message, { minLength: 1, maxLength: 10 }),
      fc.array(fc.integer({ min: -1, max: 40 }), { minLength: 1 }),
      (messages, room) => {
        const taken: Buffer[] = [];
        let turn = 0;
        const writer = new FrameWriter({
          write: (data) => {
            const bytes = data as Buffer;
            const size = Math.min(room[turn++ % room.length] as number, bytes.length);
            if (size > 0) taken.push(Buffer.from(bytes.subarray(0, size)));
            return size;
          },
        });
        for (const sent of messages) writer.send(encodeFrame(sent));
        for (let i = 0; i < 20_000 && room.some((size) => size > 0); i++) writer.drain();
        const wanted = room.some((size) => size > 0) ? Buffer.concat(messages.map((one) => encodeFrame(one))) : Buffer.alloc(0);
        expect(Buffer.concat(taken).equals(wanted), `seed ${seed}`).toBe(true);
      },
    ),
    seeded(30, 5_000),
  );
});
