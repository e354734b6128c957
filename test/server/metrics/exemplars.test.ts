import { expect, test } from "bun:test";
import { parseMetricExpression } from "../../../src/domain/metrics/expression.ts";
import { SERVER_SCOPE } from "../../../src/domain/metrics/metric.ts";
import { exemplarsOf } from "../../../src/server/metrics/exemplars.ts";
import type { MetricReader } from "../../../src/server/metrics/reader.ts";

type Selection = Parameters<MetricReader["exemplars"]>[0];

/** A reader with three exemplars of each of two names, the greatest first; notes what it was asked for. */
function reader(asked: Selection[]) {
  return {
    async exemplars(selection: Selection) {
      asked.push(selection);
      return ["a", "b"].map((query_name) => ({
        labels: { query_name },
        exemplars: [5, 9, 7].map((at, rank) => ({ at, value: 10 - rank, traceId: `${query_name}${at}` })),
      }));
    },
  };
}
const RANGE = { environmentId: "env_1", from: 0, before: 60 };
const of = async (text: string, labels: Readonly<Record<string, string>>, asked: Selection[] = []) =>
  (await exemplarsOf(reader(asked), parseMetricExpression(text), RANGE))(labels).map(({ traceId }) => traceId);

test("a series has those of its own labels, in the order of time", async () => {
  expect(await of("p99:query.latency by {query_name}", { query_name: "b" })).toEqual(["b5", "b7", "b9"]);
  expect(await of("p99:query.latency by {query_name}", { query_name: "c" })).toEqual([]);
});

test("the expression's filters, groups and environment are asked for; what is the server's, of the server", async () => {
  const asked: Selection[] = [];
  await of("max:query.latency{query_name:a} by {branch}", {}, asked);
  await of("p50:http.latency", {}, asked);
  expect(asked).toEqual([
    { ...RANGE, metric: "query.latency", by: ["branch"], filters: [{ label: "query_name", patterns: ["a"], isNegated: false }] },
    { ...RANGE, metric: "http.latency", by: [], environmentId: SERVER_SCOPE, filters: [] },
  ]);
});

test.each([
  "count:query.latency",
  "sum:query.latency",
  "sum:query.count",
  "p99:query.latency / 2",
  "p99:query.latency + p50:query.latency",
])("%s has none: its values are none that a call had", async (text) => {
  const asked: Selection[] = [];
  expect(await of(text, {}, asked)).toEqual([]);
  expect(asked).toEqual([]);
});
