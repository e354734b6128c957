/** Records on their way to another thread: what is read is what was written. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import { emptyTexts, type PackedRecords, RecordReader, RecordWriter } from "../../../src/server/thread/records.ts";
import { seeded } from "../../harness/seed.ts";

const TEXT = fc.oneof(fc.constantFrom("", "a", "b", "__proto__"), fc.string({ unit: "binary" }));
const NUMBER = fc.oneof(fc.double(), fc.integer());
const NAMES = ["a", "b", "c"] as const;
const EMPTY = emptyTexts(NAMES);
const RECORD = fc.record({
  number: NUMBER,
  text: TEXT,
  optional: fc.option(TEXT, { nil: undefined }),
  seldom: fc.record({ a: TEXT, b: fc.option(TEXT, { nil: undefined }), c: TEXT }),
  attributes: fc.array(fc.tuple(TEXT, fc.oneof(TEXT, NUMBER)), { maxLength: 5 }),
});

test("batches are read as they were written, one after the other", () => {
  fc.assert(
    fc.property(fc.array(fc.array(RECORD, { maxLength: 20 }), { maxLength: 3 }), (batches) => {
      const writer = new RecordWriter();
      for (const batch of batches) {
        for (const { number, text, optional, seldom, attributes } of batch) {
          writer.number(number);
          writer.text(4, text);
          writer.optionalText(5, optional);
          writer.given(0, seldom.a);
          writer.given(1, seldom.b);
          writer.given(2, seldom.c);
          writer.endOfGiven();
          writer.attributes(6, Object.fromEntries(attributes));
        }
        const read: unknown[] = [];
        for (const reader = new RecordReader(writer.take()); !reader.isAtEnd; )
          read.push([
            reader.number(),
            reader.text(),
            reader.optionalText(),
            reader.given(NAMES, EMPTY),
            Object.entries(reader.attributes()),
          ]);
        expect(read).toEqual(
          batch.map(({ number, text, optional, seldom, attributes }) => [
            ...[number, text, optional, { ...seldom, b: seldom.b ?? "" }],
            Object.entries(Object.fromEntries(attributes)),
          ]),
        );
      }
    }),
    seeded(300),
  );
});

test("a batch may be larger than those before it", () => {
  const writer = new RecordWriter();
  for (const size of [10, 100_000, 10]) {
    for (let n = 0; n < size; n++) writer.text(0, n % 3 === 0 ? "third" : `text ${n}`);
    const reader = new RecordReader(writer.take());
    for (let n = 0; n < size; n++) if (reader.text() !== (n % 3 === 0 ? "third" : `text ${n}`)) throw new Error(`${n} of ${size}`);
    expect(reader.isAtEnd).toBe(true);
  }
});

test("a text that is repeated is sent once", () => {
  const writer = new RecordWriter();
  for (let n = 0; n < 1_000; n++) writer.text(0, "the same");
  expect(writer.take().texts).toBe('["the same"]');
});

test("what is cut off, or names a text that is missing, is refused", () => {
  const packed = (...numbers: number[]): PackedRecords => ({ numbers: new Float64Array(numbers), texts: '["only"]' });
  expect(() => new RecordReader(packed()).number()).toThrow(RangeError);
  expect(() => new RecordReader(packed(1)).text()).toThrow(RangeError);
  expect(() => new RecordReader(packed(0)).attributes()).toThrow(RangeError);
  expect(() => new RecordReader(packed(0, 0)).given(NAMES, EMPTY)).toThrow(RangeError);
  expect(() => new RecordReader(packed(3, 0, -1)).given(NAMES, EMPTY)).toThrow(RangeError);
});
