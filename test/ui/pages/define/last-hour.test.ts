/** What the overview says of the last hour. */

import { expect, test } from "bun:test";
import type { MetricSeriesJson } from "../../../../gen/svc/v1/metric_pb.ts";
import { failingThings, slowestThings, total, valuesOf } from "../../../../src/ui/pages/define/last-hour.ts";

const time = "2024-05-01T12:00:00Z";
const SERIES: readonly MetricSeriesJson[] = [
  { labels: { resolver: "b" }, points: [{ time, value: 1 }, { time }, { time, value: 2 }] },
  { labels: { resolver: "a" }, points: [{ time, value: 3 }] },
  { labels: { resolver: "c" }, points: [{ time, value: 9 }] },
  { labels: { resolver: "quiet" }, points: [{ time, value: 0 }] },
  { labels: {}, points: [{ time, value: 5 }] },
];

test("what failed is listed by how often, then by name; what did not fail and what has no name is not", () => {
  const all = [
    { name: "c", count: 9 },
    { name: "a", count: 3 },
    { name: "b", count: 3 },
  ];
  expect(failingThings(SERIES, "resolver", 5)).toEqual(all);
  expect(failingThings(SERIES, "resolver", 2)).toEqual(all.slice(0, 2));
});

test("periods without a value add nothing and leave a gap", () => {
  expect(total(SERIES)).toBe(20);
  expect(valuesOf(SERIES)).toEqual([1, null, 2]);
  expect(valuesOf([])).toEqual([]);
});

test("what was slow is listed by its slowest period, also without a name, and not without a value", () => {
  const latencies: readonly MetricSeriesJson[] = [
    { labels: { query_name: "a" }, points: [{ time, value: 0.1 }, { time, value: 0.3 }, { time }] },
    { labels: {}, points: [{ time, value: 0.2 }] },
    { labels: { query_name: "none" }, points: [{ time }] },
    { labels: { query_name: "odd" }, points: [{ time, value: "Infinity" }] },
  ];
  expect(slowestThings(latencies, "query_name", 5)).toEqual([
    { name: "a", worst: 0.3 },
    { name: "", worst: 0.2 },
  ]);
  expect(slowestThings(latencies, "query_name", 1)).toHaveLength(1);
});
