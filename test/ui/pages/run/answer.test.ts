import { describe, expect, test } from "bun:test";
import { shownErrors } from "../../../../src/ui/pages/run/query-errors.ts";
import { runSpans, spansWith } from "../../../../src/ui/pages/run/run-spans.ts";
import { rowsOf } from "../../../../src/ui/pages/run/value-json.ts";
import { plainOf } from "../../../../src/ui/parts/proto-value.ts";

describe("an answer", () => {
  test("has plain values; what a number cannot hold is text", () => {
    expect(
      [
        undefined,
        { nullValue: "NULL_VALUE_UNSPECIFIED" } as const,
        { int64Value: "12" },
        { int64Value: "9007199254740993" },
        { doubleValue: "NaN" } as const,
        { boolValue: false },
        { stringValue: "" },
        { dateValue: { year: 987, month: 5, day: 1 } },
        { durationValue: "90.5s" },
        { listValue: {} },
        { structValue: { fields: [{ name: "__proto__", value: { int64Value: "1" } }] } },
      ].map(plainOf),
    ).toEqual([null, null, 12, "9007199254740993", "NaN", false, "", "0987-05-01", "90.5s", [], JSON.parse('{"__proto__": 1}')]);
  });

  test("has rows where a relation is, not where a list of values is", () => {
    const row = { structValue: { fields: [{ name: "id", value: { int64Value: "1" } }] } };
    expect(rowsOf({ listValue: { values: [row, row] } })).toEqual([{ id: 1 }, { id: 1 }]);
    expect(rowsOf({ listValue: { values: [row, { int64Value: "1" }] } })).toBeUndefined();
    expect(rowsOf({ listValue: {} })).toBeUndefined();
  });

  test("says each error once, with the features that it concerns", () => {
    const exception = { kind: "ValueError", message: "no", file: "a.py", line: 3, stacktrace: "Trace\n" };
    const error = { code: "ERROR_CODE_RESOLVER_FAILED", message: "resolver 'a.f' failed", resolver: "a.f", exception } as const;
    const other = { code: "ERROR_CODE_UPSTREAM_FAILED", message: "its input failed", feature: "user.c" } as const;
    expect(
      shownErrors(
        [
          { field: "user.a__60__", error },
          { field: "user.b", error },
        ],
        [{ ...error, feature: "user.b" }, other],
      ),
    ).toMatchObject([
      {
        features: ["user.a[1m]", "user.b"],
        code: "resolver failed",
        raised: "ValueError: no",
        resolver: "a.f",
        place: "a.py:3",
        stack: "Trace",
      },
      { features: ["user.c"], code: "upstream failed", message: "its input failed", raised: "", place: "" },
    ]);
  });

  test("has spans that a text finds in names, facts and errors", () => {
    const spans = [{ name: "user.a__60__" }, { name: "b", attributes: { "db.query.text": "SELECT 1" } }, { name: "c", error: "Broken" }];
    const found = (text: string) => spansWith(spans, text).map(({ name }) => name);
    expect(["", "a[1m]", "select", "BROKEN", "none"].map(found)).toEqual([["user.a__60__", "b", "c"], ["user.a__60__"], ["b"], ["c"], []]);
  });

  test("has spans to the microsecond, with the work in their names", () => {
    const [first, second] = runSpans([
      { spanId: "a", kind: "TRACE_SPAN_KIND_GATEWAY", name: "Query", startTime: "2024-05-01T12:00:00.000123Z", duration: "0.001500s" },
      {
        ...{ spanId: "b", parentSpanId: "a", kind: "TRACE_SPAN_KIND_OP", name: "user.a__60__", startTime: "2024-05-01T12:00:00Z" },
        attributes: { "svc.step": "expression", "svc.rows.in": "1" },
        error: "no",
      },
    ]);
    expect(first).toMatchObject({ id: "a", parentId: "", name: "gateway Query", durationMs: 1.5, facts: [] });
    expect((first?.startMs ?? 0) - Date.parse("2024-05-01T12:00:00Z")).toBeCloseTo(0.123, 3);
    expect(second).toMatchObject({ name: "expression user.a[1m]", error: "no", durationMs: 0 });
    expect(second?.facts).toEqual([
      ["error", "no"],
      ["rows in", "1"],
    ]);
  });
});
