import { describe, expect, test } from "bun:test";
import { createFrameReader, type Frame, frameOf } from "../../../src/ui/api/frames.ts";

const joined = (...parts: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
const end = (text: string) => {
  const frame = frameOf(text);
  frame[0] = 2;
  return frame;
};

describe("frames", () => {
  const bytes = joined(frameOf('{"a":"\u00e9\u{1F600}"}'), frameOf(""), frameOf("{}"), end('{"error":{}}'));
  const wanted: Frame[] = [
    { isEnd: false, text: '{"a":"\u00e9\u{1F600}"}' },
    { isEnd: false, text: "" },
    { isEnd: false, text: "{}" },
    { isEnd: true, text: '{"error":{}}' },
  ];

  test("are the same wherever the bytes are cut", () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      const read = createFrameReader();
      expect([...read(bytes.subarray(0, cut)), ...read(bytes.subarray(cut))]).toEqual(wanted);
    }
    const read = createFrameReader();
    expect([...bytes].flatMap((byte) => read(new Uint8Array([byte])))).toEqual(wanted);
  });

  test("that are compressed, or longer than any is, are refused before they are waited for", () => {
    expect(() => createFrameReader()(new Uint8Array([1, 0, 0, 0, 0]))).toThrow(RangeError);
    expect(() => createFrameReader()(new Uint8Array([0, 255, 255, 255, 255]))).toThrow(RangeError);
  });
});
