import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type LabelFilter,
  METRIC_FUNCTIONS,
  type MetricExpression,
  MetricExpressionError,
  type MetricFunction,
  type MetricTerm,
  parseMetricExpression,
  printMetricExpression,
  unitOf,
} from "../../../src/domain/metrics/expression.ts";
import { METRICS, type MetricDefinition, type MetricName } from "../../../src/domain/metrics/metric.ts";
import { seeded } from "../../harness/seed.ts";

function errorOf(text: string): MetricExpressionError {
  try {
    parseMetricExpression(text);
  } catch (error) {
    if (error instanceof MetricExpressionError) return error;
    throw error;
  }
  throw new Error(`${text} is read`);
}

describe("terms", () => {
  test("have a function, a metric, filters, groups and a period", () => {
    expect(parseMetricExpression('p99:query.latency{query_name:fraud*|"a b",branch:!""} by {deployment,branch}.rollup(5m)')).toEqual({
      kind: "term",
      fn: "p99",
      metric: "query.latency",
      filters: [
        { label: "query_name", patterns: ["fraud*", "a b"], isNegated: false },
        { label: "branch", patterns: [""], isNegated: true },
      ],
      by: ["deployment", "branch"],
      rollupMs: 300_000,
    });
  });

  test.each([
    ["sum:query.count", "sum:query.count"],
    ["sum:query.count{}", "sum:query.count"],
    [" sum : query.count { * } ", "sum:query.count"],
    ["p99:query.latency\t{ query_name : ! fraud | score }\nby { branch , deployment } . rollup ( 90s )", undefined],
    ["p99:query.latency.rollup(1m)", "p99:query.latency.rollup(1m)"],
    ["p99:query.latency{}by{branch}.rollup(60s)", "p99:query.latency by {branch}.rollup(1m)"],
    ['sum:query.count{query_name:"plain"}', "sum:query.count{query_name:plain}"],
    ["sum:query.count{query_name:a-b/c.d:e}", "sum:query.count{query_name:a-b/c.d:e}"],
  ])("are read with blanks anywhere: %s", (text, printed) => {
    const shown = printMetricExpression(parseMetricExpression(text));
    expect(shown).toBe(printed ?? "p99:query.latency{query_name:!fraud|score} by {branch,deployment}.rollup(1m30s)");
  });
});

describe("arithmetic", () => {
  test.each([
    ["sum:query.errors{} / sum:query.count{}", "sum:query.errors / sum:query.count", "ratio"],
    ["1-(sum:query.errors/sum:query.count)", "1 - sum:query.errors / sum:query.count", "ratio"],
    ["100*(sum:query.errors/sum:query.count)", "100 * (sum:query.errors / sum:query.count)", "one"],
    ["(sum:query.count+sum:resolver.count)/2", "(sum:query.count + sum:resolver.count) / 2", "one"],
    ["sum:query.count-(sum:query.errors-1)", "sum:query.count - (sum:query.errors - 1)", "one"],
    ["sum:query.latency/sum:query.count", "sum:query.latency / sum:query.count", "seconds"],
    ["(((p99:query.latency)))*2", "p99:query.latency * 2", "seconds"],
  ] as const)("%s", (text, printed, unit) => {
    const read = parseMetricExpression(text);
    expect([printMetricExpression(read), unitOf(read)]).toEqual([printed, unit]);
  });
});

const REFUSED: readonly (readonly [text: string, column: number, message: string, hint?: string])[] = [
  ["", 1, "the expression ends where a function (avg,"],
  ["query.latency", 1, "expected a function (avg,", "A function comes before the metric: p99:query.latency"],
  ["p90:query.latency", 1, "there is no function 'p90'", "Did you mean 'p50', 'p95' or 'p99'?"],
  ["p99 query.latency", 5, "there is 'query' where ':' and a metric"],
  ["p99:query.latancy", 5, "there is no metric 'query.latancy'", "Did you mean 'query.latency'?"],
  ["p99:query.latency{query:x}", 19, "query.latency has no label 'query'", "Did you mean 'query_name'?"],
  ["p99:query.latency{query_name}", 29, "there is '}' where ':' and a value of query_name belongs"],
  ["p99:query.latency{query_name:}", 30, "there is '}' where a value of query_name belongs"],
  ["p99:query.latency{query_name:a b}", 32, "there is 'b' where ',' and another filter, or '}' belongs"],
  ['p99:query.latency{query_name:"a}', 30, "the quote has no end"],
  ["p99:query.latency{query_name:a", 31, "the expression ends where"],
  ["p99:query.latency by {x}", 23, "query.latency has no label 'x'", "There is: query_name, deployment, branch."],
  ["p99:query.latency by {branch,branch}", 30, "the label 'branch' is there twice"],
  ["p99:query.latency.rollup(5)", 26, "'5' is no duration"],
  ["p99:query.latency.rollup(1s)", 26, "a period of 1s is not possible"],
  ["p99:query.latency.roll(5m)", 5, "there is no metric 'query.latency.roll'", "Did you mean 'query.latency'?"],
  ["p99:query.latency{} x", 21, "there is 'x' where the end"],
  ["p99:query.count", 1, "'p99' does not go with query.count, a counter in numbers", "It takes sum, count."],
  ["count:process.cpu", 1, "'count' does not go with process.cpu, a counter in seconds", "It takes sum."],
  ["sum:query.count +", 18, "the expression ends where a function"],
  ["(sum:query.count", 17, "the expression ends where ')' for the '(' of column 1 belongs"],
  ["p99:query.latency + sum:query.count", 19, "'+' does not go with seconds and one"],
  ["sum:query.count by {branch} / sum:query.errors by {code}", 29, "the sides of '/' are grouped differently"],
  ["😀 sum:query.count", 1, "there is '😀' where a function"],
  ["sum:query.count{query_name:😀} by {é}", 35, "query.count has no label 'é'"],
  [Array(9).fill("sum:query.count").join("+"), 129, "there are more than 8 metrics"],
  [`${"(".repeat(21)}1`, 21, "there are more than 20 parentheses"],
  ["1".repeat(2_001), 2_001, "the expression is longer than 2000 characters"],
];

test.each(REFUSED.map(([text, column, message, hint]) => ({ text, column, message, hint })))("$text", ({ column, hint, message, text }) => {
  const error = errorOf(text);
  expect([error.column, error.message]).toEqual([column, expect.stringContaining(`column ${column}: ${message}`)]);
  if (hint !== undefined) expect(error.hint).toBe(hint);
  expect([error.from <= error.to, error.to <= text.length, [...text.slice(0, error.from)].length + 1]).toEqual([true, true, column]);
});

describe("which function goes with which kind", () => {
  /** Stated here once more, apart from the parser's own table. */
  const GOES: Readonly<Record<string, string>> = {
    "counter in one": "sum count",
    "counter in seconds": "sum",
    "gauge in one": "avg sum min max",
    "gauge in bytes": "avg sum min max",
    "gauge in seconds": "avg sum min max",
    "histogram in one": METRIC_FUNCTIONS.join(" "),
    "histogram in seconds": METRIC_FUNCTIONS.join(" "),
  };
  const rows = (Object.keys(METRICS) as MetricName[]).flatMap((metric) => METRIC_FUNCTIONS.map((fn) => [fn, metric] as const));
  test.each(rows)("%s of %s", (fn, metric) => {
    const { kind, unit } = METRICS[metric];
    const isRead = GOES[`${kind} in ${unit}`]?.split(" ").includes(fn) ?? false;
    if (isRead) expect(printMetricExpression(parseMetricExpression(`${fn}:${metric}`))).toBe(`${fn}:${metric}`);
    else expect(errorOf(`${fn}:${metric}`).hint).toStartWith("It takes ");
  });
});

describe("any expression", () => {
  const LABEL_TEXT = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 10 }),
    fc.constantFrom("a*", "!a", "", '"', "\\", "a|b", "a,b", "{}", "\u202e"),
  );
  const termOf = (metrics: readonly MetricName[], fn: MetricFunction) =>
    fc.constantFrom(...metrics).chain((metric): fc.Arbitrary<MetricTerm> => {
      const { labels } = METRICS[metric] as MetricDefinition;
      const filter: fc.Arbitrary<LabelFilter> = fc.record({
        label: fc.constantFrom(...labels),
        patterns: fc.array(LABEL_TEXT, { minLength: 1, maxLength: 3 }),
        isNegated: fc.boolean(),
      });
      return fc.record({
        kind: fc.constant("term" as const),
        fn: fc.constant(fn),
        metric: fc.constant(metric),
        filters: fc.array(filter, { maxLength: 3 }),
        by: fc.constantFrom([], ["branch"]),
        rollupMs: fc.option(
          fc.integer({ min: 1, max: 10_000 }).map((tens) => tens * 10_000),
          { nil: undefined },
        ),
      });
    });
  const term = termOf(["query.count", "query.errors", "resolver.count"], "sum");
  const number = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map((value) => ({ kind: "number" as const, value }));
  const sum: fc.Arbitrary<MetricExpression> = fc.letrec<{ tree: MetricExpression }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      term,
      fc.record({
        kind: fc.constant("operation" as const),
        operator: fc.constantFrom("+", "-", "*"),
        left: fc.oneof(number, tie("tree")),
        right: fc.oneof(number, tie("tree")),
      }),
    ),
  })).tree;

  test("that is printed is read back as what it was", () => {
    fc.assert(
      fc.property(fc.oneof(sum, termOf(["query.latency", "resolver.latency", "feature.age"], "p99")), (expression) => {
        const text = printMetricExpression(expression);
        fc.pre(text.length <= 2_000);
        expect(parseMetricExpression(text)).toEqual(expression);
        expect(printMetricExpression(parseMetricExpression(text))).toBe(text);
      }),
      seeded(1_000),
    );
  });
});
