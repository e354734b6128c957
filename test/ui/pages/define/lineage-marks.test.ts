import { expect, test } from "bun:test";
import { parseMetricExpression } from "../../../../src/domain/metrics/expression.ts";
import { MARKINGS, markExpression, marksOf } from "../../../../src/ui/pages/define/lineage-marks.ts";

const series = (labels: Record<string, string>, ...values: number[]) => ({ labels, points: values.map((value) => ({ value })) });

test("every marking is an expression, of a branch too", () => {
  expect(MARKINGS.map((one) => markExpression(one, ""))).toEqual([
    "sum:resolver.errors by {resolver}",
    "p99:resolver.latency by {resolver}",
    "p95:feature.age by {feature}",
  ]);
  for (const marking of MARKINGS)
    for (const branch of ["", 'a"b {c}']) expect(parseMetricExpression(markExpression(marking, branch))).toMatchObject({ kind: "term" });
});

test("errors are added up, times are those of the worst period, and a class is as old as its oldest feature", () => {
  const errors = marksOf("errors", {
    series: [series({ resolver: "a.one" }, 4, 5), series({ resolver: "a.two" }, 10), series({ resolver: "" }, 9)],
  });
  expect([...errors]).toEqual([
    ["resolver:a.one", { level: "warn", text: "9 errors" }],
    ["resolver:a.two", { level: "bad", text: "10 errors" }],
  ]);
  const latency = marksOf("latency", {
    series: [series({ resolver: "a" }, 0.02, 0.05, 0.01), { labels: { resolver: "b" }, points: [{}] }],
  });
  expect([...latency]).toEqual([["resolver:a", { level: "good", text: "50ms" }]]);
  const age = marksOf("age", { series: [series({ feature: "user.name" }, 60), series({ feature: "user.score" }, 7_200)] });
  expect(age.get("class:user")).toEqual({ level: "warn", text: "2h" });
  expect(age.get("feature:user.name")?.level).toBe("good");
});
