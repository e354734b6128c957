import { describe, expect, test } from "bun:test";
import { QUERY_RUN_FIELDS } from "../../../../src/domain/query-runs.ts";
import { latencyBuckets } from "../../../../src/ui/pages/run/latency-buckets.ts";
import { searchProblem, withCondition } from "../../../../src/ui/pages/run/record-search.ts";
import { formOf, inputText } from "../../../../src/ui/pages/run/request-form.ts";

describe("query runs", () => {
  test("lengths of time are in buckets that grow, each in one", () => {
    const lengths = [0.1, 1, 1.2, 3, 100];
    const buckets = latencyBuckets(lengths);
    expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(lengths.length);
    for (const [at, { from, to }] of buckets.entries()) expect(from < to && (at === 0 || buckets[at - 1]?.to === from)).toBe(true);
    for (const length of lengths) expect(buckets.filter(({ from, to }) => length >= from && length < to)).toHaveLength(1);
    expect(latencyBuckets([])).toEqual([]);
    expect(latencyBuckets([0])).toEqual([]);
    expect(latencyBuckets([1e-9, 1e9]).length).toBeLessThanOrEqual(40);
  });

  test("a search says what is wrong, and where", () => {
    expect(searchProblem("duration>=10ms errors>0 fraud", QUERY_RUN_FIELDS)).toBeUndefined();
    expect(searchProblem("fraud foo:1", QUERY_RUN_FIELDS)).toMatchObject({ at: 6 });
    expect(searchProblem("(", QUERY_RUN_FIELDS)).toBeDefined();
  });

  test("a condition takes the place of those on its field", () => {
    expect(withCondition("a duration>=1ms duration<2ms b", "duration", "duration>=5ms")).toBe("a b duration>=5ms");
    expect(withCondition("errors>0", "errors", "")).toBe("");
    expect(withCondition("", "errors", "errors>0")).toBe("errors>0");
  });

  test("the request of a run is a form again", () => {
    const form = formOf({
      inputs: [
        { feature: "user.id", text: "1" },
        { feature: "user.spent__86400__", typed: { int64Value: "9007199254740993" } },
        { feature: "user.name", typed: { stringValue: "1" } },
        { feature: "user.code", raw: "007" },
      ],
      outputs: ["user.spent__86400__"],
      staleness: { "user.name": "90s" },
      queryContext: { a: { listValue: { values: [{ boolValue: true }] } } },
      now: "2024-05-01T12:00:00Z",
      explain: true,
    });
    expect(form).toMatchObject({
      inputs: [
        ["user.id", "1"],
        ["user.spent[1d]", "9007199254740993"],
        ["user.name", '"1"'],
        ["user.code", '"007"'],
      ],
      outputs: ["user.spent[1d]"],
      staleness: [["user.name", "1m30s"]],
      context: [["a", "[true]"]],
      ...{ now: "2024-05-01T12:00:00Z", explain: true, trace: false, tags: [] },
    });
    expect(inputText({ feature: "user.id" })).toBe("null");
  });
});
