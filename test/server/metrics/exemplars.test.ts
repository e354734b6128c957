import { expect, test } from "bun:test";
import { parseMetricExpression } from "../../../src/domain/metrics/expression.ts";
import { SERVER_SCOPE } from "../../../src/domain/metrics/metric.ts";
import { exemplarsOf } from "../../../src/server/metrics/exemplars.ts";
import type { MetricReader } from "../../../src/server/metrics/reader.ts";

type Selection = Parameters<MetricReader["exemplars"]>[0];

/** A reader with one exemplar a second, of two names in turn; notes what it was asked for. */
function reader(asked: Selection[]) {
  return {
    exemplars(selection: Selection) {
      asked.push(selection);
      return Array.from({ length: 60 }, (_, at) => ({
        ...{ at, value: at / 10, traceId: `t${at}` },
        labels: { query_name: at % 2 === 0 ? "a" : "b", deployment: "d", branch: "" },
      }));
    },
  };
}
const RANGE = { environmentId: "env_1", from: 0, before: 60 };
const of = (text: string, labels: Readonly<Record<string, string>>, asked: Selection[] = []) =>
  exemplarsOf(reader(asked), parseMetricExpression(text), RANGE)(labels).map(({ traceId }) => traceId);

test("a series has the latest of its own labels, in the order of time", () => {
  expect(of("p99:query.latency by {query_name}", { query_name: "b" })).toEqual(Array.from({ length: 20 }, (_, at) => `t${21 + 2 * at}`));
  expect(of("p99:query.latency", {})).toEqual(Array.from({ length: 20 }, (_, at) => `t${40 + at}`));
  expect(of("p99:query.latency by {query_name}", { query_name: "c" })).toEqual([]);
});

test("the expression's filters and environment are asked for; what is the server's, of the server", () => {
  const asked: Selection[] = [];
  of("max:query.latency{query_name:a}", {}, asked);
  of("p50:http.latency", {}, asked);
  expect(asked).toEqual([
    { ...RANGE, metric: "query.latency", filters: [{ label: "query_name", patterns: ["a"], isNegated: false }] },
    { ...RANGE, metric: "http.latency", environmentId: SERVER_SCOPE, filters: [] },
  ]);
});

test.each([
  "count:query.latency",
  "sum:query.latency",
  "sum:query.count",
  "p99:query.latency / 2",
  "p99:query.latency + p50:query.latency",
])("%s has none: its values are none that a call had", (text) => {
  const asked: Selection[] = [];
  expect(of(text, {}, asked)).toEqual([]);
  expect(asked).toEqual([]);
});
