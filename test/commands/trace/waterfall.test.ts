import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { TraceSpanKind, TraceSpanSchema } from "../../../gen/svc/v1/query_pb.ts";
import { waterfall } from "../../../src/commands/trace/waterfall-view.ts";
import { plainStyle } from "../../../src/output/style.ts";

const span = (
  spanId: string,
  parentSpanId: string,
  kind: TraceSpanKind,
  name: string,
  startMs: number,
  ms: number,
  attributes: Record<string, string> = {},
) =>
  create(TraceSpanSchema, {
    traceId: "t",
    spanId,
    parentSpanId,
    kind,
    name,
    startTime: timestampFromMs(1_000 + startMs),
    duration: durationFromMs(ms),
    attributes,
  });
const SPANS = [
  span("a", "", TraceSpanKind.UNSPECIFIED, "query", 0, 100),
  span("b", "a", TraceSpanKind.SQL, "payments", 50, 25, { "db.query.text": "select id\n  from payment\twhere id = ?" }),
];

test("a terminal shows when a span began and how long it took, as a bar of the whole", () => {
  expect(waterfall(SPANS, plainStyle({ width: 100, isTTY: true }))).toBe(
    `
Trace t
query            +0.00 ms  100.0 ms  ====================
+- sql payments  +50.0 ms   25.0 ms            =====     
      select id from payment where id = ?
`,
  );
});

test("a pipe and a narrow terminal get no bars; a statement is one line, cut on a terminal", () => {
  expect(waterfall(SPANS, plainStyle())).not.toContain("━");
  expect(waterfall(SPANS, plainStyle())).toContain("\n      select id from payment where id = ?\n");
  expect(waterfall(SPANS, plainStyle({ width: 30, isTTY: true }))).toContain("\n      select id from paymen...\n");
});

test("facts are cut to the width of a terminal, and whole in a pipe", () => {
  const called = [
    span("a", "", TraceSpanKind.WORKER, "features.payments", 0, 1, {
      "svc.rows.in": "1",
      "svc.rows.out": "20",
      "svc.python.duration_ms": "0.257",
    }),
  ];
  const facts = "rows 1 -> 20, python duration ms 0.257";
  expect(waterfall(called, plainStyle())).toContain(`  ${facts}\n`);
  expect(waterfall(called, plainStyle({ width: 106, isTTY: true }))).toContain(`  ${facts}\n`);
  for (const width of [40, 60, 80]) {
    const tree = waterfall(called, plainStyle({ width, isTTY: true }));
    expect(tree.split("\n").filter((line) => Bun.stringWidth(line) > width)).toEqual([]);
  }
  expect(waterfall(called, plainStyle({ width: 90, isTTY: true }))).toContain("  rows 1 -> 20, python...\n");
});
