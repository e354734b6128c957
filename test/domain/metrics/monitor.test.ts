import { describe, expect, test } from "bun:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { GraphSchema, MonitorSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { breaks, watchOf } from "../../../src/domain/metrics/monitor.ts";
import { monitorFindings } from "../../../src/domain/monitor-rules.ts";

type Init = MessageInitShape<typeof MonitorSchema>;
const monitor = (expression: string, above: string, more: Init = {}) => create(MonitorSchema, { name: "m", expression, above, ...more });

describe("a monitor's watch", () => {
  test.each([
    ["p99:query.latency", "80ms", 0.08],
    ["p99:query.latency", "1m30s", 90],
    ["p99:query.latency", "0.25", 0.25],
    ["max:worker.memory", "1GiB", 2 ** 30],
    ["max:worker.memory", "1e9", 1e9],
    ["sum:query.errors / sum:query.count", "5%", 0.05],
    ["sum:query.errors / sum:query.count", "0.05", 0.05],
    ["sum:query.count - 10", "-3", -3],
    ["sum:query.latency / count:query.latency", "2s", 2],
  ])("the bound of %s: %s", (expression, above, bound) => {
    expect(watchOf(monitor(expression, above)).bound).toBe(bound);
  });

  test.each([
    ["p99:query.latency", "1GiB", "seconds"],
    ["p99:query.latency", "infinity", "seconds"],
    ["p99:query.latency", "5%", "seconds"],
    ["max:worker.memory", "80ms", "bytes"],
    ["sum:query.count", "5%", "numbers"],
    ["sum:query.count", "1e999", "numbers"],
    ["sum:query.errors / sum:query.count", "80ms", "shares of 1"],
  ])("%s takes no %s: its values are %s", (expression, above, unit) => {
    expect(() => watchOf(monitor(expression, above))).toThrow(unit);
  });

  test("a value is of the period that is stated, else of five minutes", () => {
    expect(watchOf(monitor("sum:query.count", "1")).periodMs).toBe(300_000);
    expect(watchOf(monitor("sum:query.count.rollup(2h)", "1")).periodMs).toBe(7_200_000);
    expect(watchOf(monitor("sum:query.errors.rollup(1m) / sum:query.count", "1")).periodMs).toBe(60_000);
    for (const rollup of ["10s", "90s", "3d"]) expect(() => watchOf(monitor(`sum:query.count.rollup(${rollup})`, "1"))).toThrow("1m to 2d");
    expect(() => watchOf(monitor("sum:query.errors.rollup(1m) / sum:query.count.rollup(2m)", "1"))).toThrow("do not go together");
  });

  test("the bound itself is kept", () => {
    expect([0.9, 1, 1.1].map((value) => breaks({ bound: 1, isBelow: false }, value))).toEqual([false, false, true]);
    expect([0.9, 1, 1.1].map((value) => breaks({ bound: 1, isBelow: true }, value))).toEqual([true, false, false]);
  });
});

describe("findings about monitors", () => {
  const found = (expression: string, endColumn: number) => {
    const expressionSpan = { file: "a.py", line: 3, column: 10, endLine: 3, endColumn };
    const graph = create(GraphSchema, { monitors: [monitor(expression, "80ms", { expressionSpan })] });
    return monitorFindings(graph).map(({ code, span, hint }) => [code, span?.column, span?.endColumn, hint]);
  };

  test("an expression is pointed into where it stands as it is", () => {
    const hint = "Did you mean 'query.latency'?";
    expect(found("p99:query.latancy", 29)).toEqual([[174, 15, 28, hint]]);
    expect(found("p99:query.latancy", 33)).toEqual([[174, 17, 30, hint]]);
    expect(found("p99:query.latancy", 20)).toEqual([[174, 10, 20, hint]]);
  });

  test("metrics of the server are nobody's to watch, and a project has a bounded number", () => {
    const of = (monitors: Init[]) => monitorFindings(create(GraphSchema, { monitors })).map(({ code, message }) => [code, message]);
    expect(of([monitor("sum:query.latency + sum:process.cpu", "1")])).toEqual([
      [173, "the monitor 'm' watches process.cpu, which is about the server and not about an environment"],
    ]);
    expect(of(Array.from({ length: 200 }, () => monitor("sum:query.count", "1")))).toEqual([]);
    expect(of(Array.from({ length: 201 }, () => monitor("sum:query.count", "1")))).toEqual([
      [173, "the project has 201 monitors, and 200 are the most"],
    ]);
  });

  test("what ends too early is pointed at behind it", () => {
    expect(found("p99:", 16)).toEqual([[174, 15, 16, ""]]);
  });
});
