/** Texts that pages write: command lines, figures, times, ranges, marks. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { commandLine, shellWord } from "../../../src/ui/parts/command-line.ts";
import { durationText } from "../../../src/ui/parts/duration.tsx";
import { figureText } from "../../../src/ui/parts/figure-text.ts";
import { ticks } from "../../../src/ui/parts/ticks.ts";
import { rangeText, readRange } from "../../../src/ui/parts/time-range.ts";
import { localText, shortText, timeMarks, utcText } from "../../../src/ui/parts/time-text.ts";
import { seeded } from "../../harness/seed.ts";

const NOW = Date.UTC(2026, 4, 1, 12, 0, 0);

describe("a command line", () => {
  test("is what a shell reads again as the same words", () => {
    const word = fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0"));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 3 }), (words) => {
        const script = `printf '%s\\0' ${commandLine(...words.map((one) => one || "''").map((one, at) => (words[at] === "" ? "x" : one)))}`;
        const { stdout } = Bun.spawnSync(["/bin/sh", "-c", script]);
        expect(stdout.toString().split("\0").slice(0, -1)).toEqual(words.map((one) => one || "x"));
      }),
      seeded(60, 500),
    );
  });

  test("leaves plain words alone and leaves out what is undefined", () => {
    expect(commandLine("svc", "query", undefined, "--in", "user.id=1")).toBe("svc query --in user.id=1");
    expect([shellWord("a b"), shellWord("it's"), shellWord("")]).toEqual(["'a b'", `'it'\\''s'`, "''"]);
  });
});

test("figures have three digits that count", () => {
  const texts = [0, 1, 12.345, 999.4, 999.9, 1234, 12_345, 999_999, 1e6, -4321, 0.012345, 5e15].map(figureText);
  expect(texts).toEqual(["0", "1", "12.3", "999", "1k", "1.23k", "12.3k", "1M", "1M", "-4.32k", "0.0123", "5000T"]);
  expect([0, 0.01234, 1.2345, 83.456, 999.9, 1234.5, 59_960, 93_784_300].map(durationText)).toEqual([
    ...["0s", "0.012ms", "1.23ms", "83.5ms", "1s", "1.23s", "1m", "1d2h3m4s"],
  ]);
});

test("times are relative below an hour, and in the reader's zone from then on", () => {
  expect([0, 59_999, 60_000, 3_599_999].map((ago) => shortText(NOW - ago, NOW))).toEqual(["0s ago", "59s ago", "1m ago", "59m ago"]);
  expect(shortText(NOW - 3_600_000, NOW, "Asia/Kolkata")).toBe("2026-05-01 16:30:00");
  expect(shortText(NOW + 5, NOW, "UTC")).toBe("2026-05-01 12:00:00");
  expect([utcText(NOW), localText(NOW - 43_200_000, "UTC")]).toEqual(["2026-05-01 12:00:00 UTC", "2026-05-01 00:00:00"]);
});

test("ranges are read back as they were written, and nonsense is the last hour", () => {
  for (const text of ["15m", "1h", "7d", "2026-04-01T00:00:00.000Z..2026-04-02T00:00:00.000Z"])
    expect(rangeText(readRange(text, NOW))).toBe(text);
  for (const text of ["", "x", "-1h", "infinity", "0", "2026-04-02..2026-04-01"]) expect(rangeText(readRange(text, NOW))).toBe("1h");
  expect(readRange("1d", NOW)).toEqual({ from: NOW - 86_400_000, to: NOW, lastMs: 86_400_000 });
});

test("marks of a scale are round, inside of it, rising, and not too many", () => {
  expect(ticks(0, 10)).toEqual([0, 2, 4, 6, 8, 10]);
  const bound = fc.double({ min: -1e9, max: 1e9, noNaN: true });
  fc.assert(
    fc.property(bound, bound, fc.integer({ min: 1, max: 12 }), (one, other, most) => {
      const [low, high] = [Math.min(one, other), Math.max(one, other)];
      fc.pre(high - low > 1e-3);
      const marks = ticks(low, high, most);
      const slack = (high - low) * 1e-6;
      expect(marks.length).toBeLessThanOrEqual(most + 1);
      for (const mark of marks) expect(mark >= low - slack && mark <= high + slack).toBe(true);
      expect(marks.toSorted((a, b) => a - b)).toEqual(marks);
    }),
    seeded(500),
  );
});

test("marks of times say what tells them apart, however near they are", () => {
  const from = Date.UTC(2026, 4, 1, 23, 59, 58) / 1000;
  const marks = (...seconds: number[]) => timeMarks(seconds, "UTC");
  expect(marks(from, from + 0.5)).toEqual(["59:58.000", "59:58.500"]);
  expect(marks(from, from + 1)).toEqual(["23:59:58", "23:59:59"]);
  expect(marks(from - 58, from + 2)).toEqual(["23:59", "05-02"]);
  expect(marks(from + 2, from + 86_402)).toEqual(["05-02", "05-03"]);
  expect(marks(from)).toEqual(["23:59"]);
});
