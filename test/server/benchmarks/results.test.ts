/**
 * What results of a benchmark hold: payloads without what is personal, and a page without markup of
 * callers.
 */

import { describe, expect, test } from "bun:test";
import { type BenchmarkPlan, checkPlan, memoryLimitOf, warningsOf } from "../../../src/server/benchmarks/benchmark-plan.ts";
import { createPayloadFilter, NOT_KEPT } from "../../../src/server/benchmarks/payload-filter.ts";
import { otherAddress } from "../../../src/server/benchmarks/query-address.ts";
import { reportPage } from "../../../src/server/benchmarks/report-page.ts";
import { type BenchmarkFacts, type BenchmarkMeasure, readWindows, resultText } from "../../../src/server/benchmarks/result-file.ts";
import { Failure } from "../../../src/server/failure.ts";

const NONE = { memoryRequest: "", memoryLimit: "", cpuRequest: "", cpuLimit: "" };
const PLAN: BenchmarkPlan = {
  ...{ outputs: ["user.score"], queryName: "", queryNameVersion: "", inputFile: "", qps: 10, durationMs: 5_000, warmupQps: 1, warmupMs: 0 },
  ...{ percentiles: [50, 99], traceSampleRate: 0, dataSampleRate: 0, queryHost: "", insecure: false, image: "", nodePool: "" },
  ...{ resources: NONE, warmupResources: NONE },
};
const SCRIPT = "</script><script>alert(1)</script>";
const FACTS: BenchmarkFacts = {
  ...{ id: "bench_1", plan: { ...PLAN, outputs: [SCRIPT], queryHost: `https://x"onload=y` }, environment: SCRIPT, branch: "<b>" },
  ...{ deploymentId: "dpl_1", inputRevisionId: "", warnings: [SCRIPT], startedAt: 0, endedAt: 5_000, serverCpuMs: 10, version: "v1" },
};
const MEASURE: BenchmarkMeasure = {
  ...{ due: 50, answered: 49, unsent: 1, failed: 2, elapsedMs: 5_000, minMs: 1, meanMs: 2, maxMs: 30, lateMs: 0.1 },
  ...{ generatorCpuMs: 5, generatorMemoryBytes: 1_000_000 },
  percentiles: [{ percent: 99, ms: 30 }],
  histogram: [{ fromMs: 1, toMs: 30, count: 50 }],
  errors: [{ code: SCRIPT, count: 2 }],
  seconds: [{ second: 0, answered: 10, failed: 0, p50Ms: 1, p95Ms: 2, p99Ms: 3, maxMs: 3 }],
  windows: [{ percent: 99, windowS: 1, valuesMs: [1, 2, 3] }],
  samples: [{ status: 200, inputs: { "user.id": SCRIPT }, answer: { fields: { userScore: 1 }, errors: [] } }],
};

describe("payloads", () => {
  const filter = createPayloadFilter(["user.id", "user.score"]);

  test("only values of features that may be shown are kept", () => {
    expect(filter.inputs('{"user.id":1,"user.email":"ada@example.com","__proto__":{"a":"secret"}}')).toEqual(
      JSON.parse(`{"user.id":1,"user.email":"${NOT_KEPT}","__proto__":"${NOT_KEPT}"}`) as Record<string, unknown>,
    );
    const answer = {
      data: [
        { field: "user.score", value: 3, pkey: "ada@example.com" },
        { field: "user.email", value: "ada@example.com" },
        { field: "user.friends", value: [{ "friend.email": "bob@example.com" }] },
        null,
      ],
      errors: [{ code: "RESOLVER_FAILED", message: "no ada@example.com" }],
    };
    const kept = filter.answer(JSON.stringify(answer));
    expect(kept).toEqual({
      fields: { "user.score": 3, "user.email": NOT_KEPT, "user.friends": NOT_KEPT },
      errors: ["RESOLVER_FAILED"],
    });
    expect(JSON.stringify(kept)).not.toContain("@example");
  });

  test("of an answer that cannot be read, nothing is", () => {
    for (const text of ['{"data":[{"field":"user.id","value":"cut', "", "3", "[]"])
      expect(filter.answer(text)).toEqual({ fields: {}, errors: [] });
  });
});

describe("the report", () => {
  test("has texts of callers as texts, no scripts, and a policy that allows none", () => {
    const page = reportPage(FACTS, MEASURE);
    expect(page).not.toMatch(/<script|<b>|"onload/i);
    expect(page).toContain("&lt;/script&gt;");
    expect(page).toContain("default-src &#39;none&#39;");
    expect(page).not.toMatch(/\b(?:src|href)=/);
  });

  test("is drawn of a run without an answer too", () => {
    const none = { ...MEASURE, answered: 0, percentiles: [], histogram: [], seconds: [], samples: [], errors: [] };
    expect(reportPage(FACTS, none)).toContain("0 of 50 queries");
    expect(reportPage(FACTS, none)).not.toMatch(/NaN|Infinity|undefined/);
  });
});

test("the file of results has names of features as they are, and its windows can be read", () => {
  const text = resultText(FACTS, MEASURE);
  const file = JSON.parse(text) as { samples: unknown; elapsed_ms: number; windows: unknown };
  expect(file).toMatchObject({ format: 1, elapsed_ms: 5_000, started_at: "1970-01-01T00:00:00.000Z", plan: { duration_ms: 5_000 } });
  expect(file.samples).toEqual([{ status: 200, inputs: { "user.id": SCRIPT }, answer: { fields: { userScore: 1 }, errors: [] } }]);
  expect(readWindows(text)).toEqual(MEASURE.windows);
  expect(() => readWindows("{}")).toThrow("no results of a benchmark");
});

describe("a plan", () => {
  test.each<[string, Partial<BenchmarkPlan>, string]>([
    ["without outputs", { outputs: [] }, "needs outputs"],
    ["with both", { queryName: "q" }, "do not go together"],
    ["with a version alone", { queryNameVersion: "1" }, "needs its name"],
    ["of no rate", { qps: 0 }, "above 0"],
    ["of too high a rate", { qps: 10_001 }, "at most 10000"],
    ["of a rate that is none", { warmupQps: Number.NaN }, "warm-up"],
    ["of no time", { durationMs: 0 }, "more than 0"],
    ["of too much time", { durationMs: 3_600_001 }, "at most an hour"],
    ["without a second query", { qps: 0.1, durationMs: 5_000 }, "no query would be due"],
    ["of a strange percentile", { percentiles: [100] }, "below 100"],
    ["of a strange share", { dataSampleRate: 1.5 }, "from 0 to 1"],
    ["that trusts this server", { insecure: true }, "another address"],
    ["of no quantity", { resources: { ...NONE, cpuLimit: "much" } }, "no quantity"],
    ["of too little processor", { resources: { ...NONE, cpuLimit: "50m" } }, "at least 100m"],
    ["of too little memory", { resources: { ...NONE, memoryLimit: "64Mi" } }, "256Mi to 2Gi"],
  ])("%s is refused", (_name, change, says) => {
    expect(() => checkPlan({ ...PLAN, ...change })).toThrow(says);
  });

  test("what does nothing is warned about, and a limit of memory is not", () => {
    expect(() => checkPlan(PLAN)).not.toThrow();
    expect([warningsOf(PLAN, false), warningsOf(PLAN, true)]).toEqual([[], []]);
    const resources = { memoryRequest: "1Gi", memoryLimit: "512Mi", cpuRequest: "1", cpuLimit: "500m" };
    const asked = { ...PLAN, image: "runner:1", nodePool: "big", resources, warmupResources: resources };
    const warnings = warningsOf(asked, false);
    expect(warnings).toHaveLength(6);
    const contained = warningsOf(asked, true);
    expect(contained.map((warning) => warning.split(" was ")[0])).toEqual([
      ...["The image runner:1", "The node pool big", "The request of 1 processors", "The request of 1Gi of memory"],
      expect.stringContaining("warm-up"),
    ]);
    expect(warnings.every((warning) => / nothing[:.]/.test(warning))).toBe(true);
    expect(memoryLimitOf({ resources })).toBe(512 * 1024 * 1024);
  });
});

describe("another address", () => {
  const resolve = async (host: string): Promise<readonly string[]> =>
    ({ "public.example": ["93.184.216.34"], "inner.example": ["10.0.0.1"], "both.example": ["93.184.216.34", "127.0.0.1"] })[host] ?? [];
  const refusal = async (text: string, allowed: readonly string[] = []): Promise<string> =>
    otherAddress(text, allowed, resolve).then(
      () => "ok",
      (error: unknown) => (error instanceof Failure ? error.message : String(error)),
    );

  test("is pinned to what its name means, with the name for the certificate", async () => {
    expect(await otherAddress("public.example:8443", [], resolve)).toEqual({
      url: "https://93.184.216.34:8443/v1/query/online",
      host: "public.example:8443",
      serverName: "public.example",
    });
    expect(await otherAddress("http://10.0.0.1:80", ["10.0.0.0/8"], resolve)).toEqual({
      url: "http://10.0.0.1/v1/query/online",
      host: "10.0.0.1",
    });
  });

  test.each([
    ["inner.example", "is private"],
    ["both.example", "is loopback"],
    ["127.0.0.1:1", "is loopback"],
    ["http://[::ffff:169.254.169.254]", "never called"],
    ["http://2130706433", "is loopback"],
    ["http://public.example", "could be read on the way"],
    ["none.example", "is not known"],
    ["https://user:pass@public.example", "cannot be"],
    ["https://public.example/path", "cannot be"],
    ["file:///etc/passwd", "cannot be"],
    ["https://", "cannot be"],
  ])("%s is refused", async (text, says) => {
    expect(await refusal(text)).toContain(says);
  });

  test("a network that is allowed is called, and never one of link-local addresses", async () => {
    expect(await refusal("inner.example", ["10.0.0.0/8"])).toBe("ok");
    expect(await refusal("http://169.254.169.254", ["0.0.0.0/0"])).toContain("never called");
  });
});
