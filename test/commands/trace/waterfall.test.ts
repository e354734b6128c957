import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { TraceSpanKind, TraceSpanSchema } from "../../../gen/svc/v1/query_pb.ts";
import { waterfall } from "../../../src/commands/trace/waterfall-view.ts";
import { createStyle, plainStyle } from "../../../src/output/style.ts";
import { seeded } from "../../harness/seed.ts";

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

test("whatever spans are called and say, no line is wider than the terminal, and bars stand below each other", async () => {
  const colours = await createStyle({ isTTY: true, color: "always", width: 0 });
  const text = fc.stringMatching(/^[a-z_. 日本語🎉é]{0,120}$/u);
  fc.assert(
    fc.property(
      fc.array(fc.record({ name: text, error: text, statement: text, fact: text, under: fc.nat(3) }), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 40, max: 220 }),
      fc.boolean(),
      (drawn, width, hasColor) => {
        const spans = drawn.map(({ name, error, statement, fact, under }, at) => ({
          ...span(`s${at}`, at === 0 ? "" : `s${Math.min(under, at - 1)}`, TraceSpanKind.SQL, name, at, 500 - at, {
            "db.query.text": statement,
            "svc.fact": fact,
          }),
          error,
          serviceName: at % 2 === 0 ? "svc" : "svc-python",
        }));
        const style = hasColor ? { ...colours, width } : plainStyle({ width, isTTY: true });
        const lines = Bun.stripANSI(waterfall(spans, style)).split("\n");
        expect(lines.filter((line) => Bun.stringWidth(line) > width && !line.startsWith("Trace "))).toEqual([]);
        const ends = lines.flatMap((line) => {
          const at = line.indexOf(" ms  ");
          return at < 0 || width < 80 ? [] : [Bun.stringWidth(line.slice(0, line.indexOf(" ms  ", at + 1)))];
        });
        expect(new Set(ends).size).toBeLessThan(2);
      },
    ),
    seeded(300),
  );
});

test("an error is beside its span where there is room, else below it, and always told", () => {
  const error = "no value for 7, of which nobody has heard in all these years";
  const failed = [{ ...span("a", "", TraceSpanKind.WORKER, "features.risk", 0, 1), error: `${error}\n  in features.py` }];
  const shown = (width: number) => waterfall(failed, plainStyle({ width, isTTY: true }));
  expect(shown(200)).toEndWith(`=  ${error}\n`);
  expect(waterfall(failed, plainStyle())).toEndWith(`1.00 ms  ${error}\n`);
  for (const width of [70, 80]) expect(shown(width)).toEndWith(`\n   ${error}\n`);
  expect(shown(40)).toEndWith(`\n   ${error.slice(0, 34)}...\n`);
});

test("a long name is cut so that the bar stays on the screen", () => {
  const long = [span("a", "", TraceSpanKind.WORKER, `features.${"very_long_".repeat(12)}`, 0, 1)];
  expect(waterfall(long, plainStyle({ width: 80, isTTY: true }))).toMatch(
    /^worker features\.very_\S+\.\.\. {2}\+0\.00 ms {2}1\.00 ms {2}={20}$/m,
  );
});
