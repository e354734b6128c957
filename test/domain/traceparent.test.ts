import { expect, test } from "bun:test";
import { formatTraceparent, newSpanId, newTraceId, parseTraceparent } from "../../src/domain/traceparent.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test("a header is read and written again", () => {
  const header = `00-${TRACE}-${SPAN}-01`;
  const parent = parseTraceparent(header);
  expect(parent).toEqual({ traceId: TRACE, spanId: SPAN, sampled: true });
  expect(parent && formatTraceparent(parent)).toBe(header);
  expect(parseTraceparent(` ${header} `)).toEqual(parent);
});

test("only the first bit of the flags says whether it is sampled", () => {
  const sampled = (flags: string) => parseTraceparent(`00-${TRACE}-${SPAN}-${flags}`)?.sampled;
  expect(["00", "01", "02", "03", "ff", "fe"].map(sampled)).toEqual([false, true, false, true, true, false]);
});

test("a later version may say more, this one may not", () => {
  expect(parseTraceparent(`01-${TRACE}-${SPAN}-01-more`)).toEqual({ traceId: TRACE, spanId: SPAN, sampled: true });
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-01-more`)).toBeUndefined();
  expect(parseTraceparent(`01-${TRACE}-${SPAN}-01more`)).toBeUndefined();
});

test("what is no header is ignored", () => {
  for (const header of [
    null,
    "",
    "00",
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
  ])
    expect(parseTraceparent(header)).toBeUndefined();
});

test("new ids are such as a header may have, and differ", () => {
  const made = Array.from({ length: 100 }, () => ({ traceId: newTraceId(), spanId: newSpanId(), sampled: false }));
  for (const parent of made) expect(parseTraceparent(formatTraceparent(parent))).toEqual(parent);
  expect(new Set(made.flatMap(({ traceId, spanId }) => [traceId, spanId])).size).toBe(200);
});
