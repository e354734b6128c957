import { expect, test } from "bun:test";
import { enumWord, isGoingOn, runKindOf, stateTone, tookMs } from "../../../../src/ui/pages/run/run-state.ts";
import { workflowLayers } from "../../../../src/ui/pages/run/workflow-layers.ts";
import { plainOf } from "../../../../src/ui/parts/proto-value.ts";

test("the kind of a run follows from its id", () => {
  expect(["12", "job_1", "wf_1", "ofq_1", "ofq_1.2"].map(runKindOf)).toEqual(["job", "job", "workflow", "offline query", "job"]);
});

test("states are said as the command line says them", () => {
  expect(enumWord("JOB_STATE_NOT_READY", "JOB_STATE_")).toBe("not ready");
  expect(enumWord(undefined, "X_")).toBe("");
  expect(["running", "queued", "not ready"].every(isGoingOn)).toBe(true);
  expect(["completed", "failed", "canceled", "lost", ""].some(isGoingOn)).toBe(false);
  expect(stateTone("failed")).toBe("bad");
  expect(stateTone("queued")).toBe("dim");
  expect(tookMs("2024-01-01T00:00:00Z", "2024-01-01T00:00:02Z", 0)).toBe(2_000);
  expect(tookMs("1970-01-01T00:00:00Z", undefined, 5_000)).toBe(5_000);
  expect(tookMs(undefined, undefined, 5)).toBeUndefined();
});

test("an operation stands behind all that it waits for", () => {
  const nodes = ["plan", "left", "right", "join"].map((name, at) => ({ id: `n${at}`, name }));
  const edges = [
    { from: "n0", to: "n1" },
    { from: "n0", to: "n2" },
    { from: "n1", to: "n3" },
    { from: "n2", to: "n3" },
    { from: "n0", to: "n3" },
  ];
  const layers = workflowLayers(nodes, edges);
  expect(layers.map((layer) => layer.map(({ node }) => node.name))).toEqual([["plan"], ["left", "right"], ["join"]]);
  expect(layers[2]?.[0]?.waitsFor).toEqual(["left", "right", "plan"]);
  expect(workflowLayers([], [])).toEqual([]);
  expect(workflowLayers([{ name: "alone" }], [])).toHaveLength(1);
});

test("values of the contract are shown as plain JSON", () => {
  expect(plainOf({ int64Value: "12" })).toBe(12);
  expect(plainOf({ int64Value: "9007199254740993" })).toBe("9007199254740993");
  expect(plainOf({ doubleValue: "NaN" })).toBe("NaN");
  expect(plainOf({ boolValue: false })).toBe(false);
  expect(plainOf({ stringValue: "" })).toBe("");
  expect(plainOf({ nullValue: "NULL_VALUE_UNSPECIFIED" })).toBeNull();
  expect(plainOf(undefined)).toBeNull();
  expect(plainOf({ dateValue: { year: 33, month: 2, day: 1 } })).toBe("0033-02-01");
  expect(plainOf({ listValue: { values: [{ int64Value: "1" }, { nullValue: "NULL_VALUE_UNSPECIFIED" }] } })).toEqual([1, null]);
  expect(plainOf({ structValue: { fields: [{ name: "a", value: { decimalValue: "1.20" } }] } })).toEqual({ a: "1.20" });
});
