import { describe, expect, test } from "bun:test";
import { boundText, monitorCode, stateOf, valueText } from "../../../../src/ui/pages/observe/monitor-text.ts";

describe("a monitor", () => {
  const SLOW = {
    ...{ name: "slow", expression: "p99:query.latency", above: "80ms", pendingFor: "600s", severity: "critical" },
    ...{ webhooks: ["ops"], owner: "risk@example.com", description: 'says "no"' },
  };

  test("says its bound as the command line does", () => {
    expect(boundText(SLOW)).toBe("above 80ms for 10m");
    expect(boundText({ below: "5%" })).toBe("below 5%");
  });

  test("says its state, also before the first evaluation", () => {
    expect(stateOf({ state: "MONITOR_STATE_FIRING" })).toEqual({ word: "firing", tone: "bad" });
    expect(stateOf({ state: "MONITOR_STATE_NO_DATA" })).toEqual({ word: "no data", tone: "dim" });
    expect(stateOf({})).toEqual({ word: "not evaluated yet", tone: "dim" });
  });

  test("says a value in its unit, with its series", () => {
    expect(valueText(0.0801, "METRIC_UNIT_SECONDS", { query_name: "fraud" })).toBe("80.1ms query_name:fraud");
    expect(valueText("NaN", "METRIC_UNIT_ONE")).toBe("NaN");
    expect(valueText(undefined, "METRIC_UNIT_ONE")).toBe("");
  });

  test("is code without what is so by default", () => {
    expect(monitorCode({ name: "idle", expression: "sum:query.count", below: "1", severity: "warning" })).toBe(
      'from svc import Monitor\n\nMonitor(\n    "idle",\n    "sum:query.count",\n    below=1,\n)',
    );
  });

  test("is code that Python reads as the same monitor", () => {
    const program = `
import json, sys, types
class Monitor:
    def __init__(self, *args, **options): print(json.dumps([args, options]))
sys.modules["svc"] = types.SimpleNamespace(Monitor=Monitor)
exec(sys.stdin.read())`;
    const hostile = { ...SLOW, name: "a'\"\\\n\u2028\u{1f600}", above: "", below: "-1.5e3" };
    const said = (monitor: typeof SLOW) => {
      const { stderr, stdout } = Bun.spawnSync(["python3", "-c", program], { stdin: Buffer.from(monitorCode(monitor)) });
      if (stdout.length === 0) throw new Error(stderr.toString());
      return JSON.parse(stdout.toString()) as unknown;
    };
    const options = { for_: "10m", notify: ["webhook:ops"], severity: "critical", owner: "risk@example.com", description: 'says "no"' };
    expect(said(SLOW)).toEqual([["slow", "p99:query.latency"], { above: "80ms", ...options }]);
    expect(said(hostile)).toEqual([[hostile.name, "p99:query.latency"], { below: -1500, ...options }]);
  });
});
