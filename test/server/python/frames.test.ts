import { expect, test } from "bun:test";
import fc from "fast-check";
import { encodeFrame, FrameReader, FrameWriter, MAX_FRAME, type Message } from "../../../src/server/python/frames.ts";

const message = fc.record({ type: fc.string(), body: fc.jsonValue() }) as fc.Arbitrary<Message>;

test("messages survive any cutting of the stream", () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
  fc.assert(
    fc.property(fc.array(message, { maxLength: 10 }), fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (messages, cuts) => {
      const stream = Buffer.concat(messages.map(encodeFrame));
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
    { seed },
  );
});

test("a frame that is too long is refused before it is read", () => {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(MAX_FRAME + 1, 0);
  expect(() => new FrameReader().push(header, () => undefined)).toThrow("too long");
});

test("what the socket does not take waits its turn", () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
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
        const wanted = room.some((size) => size > 0) ? Buffer.concat(messages.map(encodeFrame)) : Buffer.alloc(0);
        expect(Buffer.concat(taken).equals(wanted), `seed ${seed}`).toBe(true);
      },
    ),
    { seed, numRuns: 30 },
  );
});
