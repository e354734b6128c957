import { describe, expect, test } from "bun:test";
import { bucketOfMs, slowestFirst, tracedIn } from "../../../../src/ui/pages/define/latency-distribution.ts";
import { versionsOf } from "../../../../src/ui/pages/define/resolver-version-list.ts";

describe("versions of a resolver", () => {
  const at = (deployment: string, version: number) => ({ deployment, version, createdAt: deployment, text: `v${version}` });

  test("are those of deployments in a row, each beside the one before it", () => {
    const versions = versionsOf([at("d5", 1), at("d4", 2), at("d3", 2), at("d2", 2), at("d1", 1)]);
    expect(versions.map(({ before, deployment, deployments, version }) => [version, deployment, deployments, before?.text])).toEqual([
      [1, "d5", 1, "v2"],
      [2, "d2", 3, "v1"],
      [1, "d1", 1, undefined],
    ]);
    expect(versionsOf([])).toEqual([]);
  });
});

describe("how long calls took", () => {
  const exemplars = [
    { traceId: "a", value: 0.001 },
    { traceId: "b", value: 0.25 },
    { traceId: "c", value: 0.0011 },
  ];

  test("is told in milliseconds, and a bucket leads to the latest trace in it", () => {
    expect(bucketOfMs({ from: 0.001, to: 0.002, count: "7" })).toEqual({ from: 1, to: 2, count: 7 });
    expect(bucketOfMs({ to: 0.5 })).toEqual({ from: 0, to: 500, count: 0 });
    expect(tracedIn(exemplars, { from: 0.9, to: 1.2, count: 2 })?.traceId).toBe("c");
    expect(tracedIn(exemplars, { from: 0.25, to: 1, count: 2 })?.traceId).toBe("a");
    expect(tracedIn(exemplars, { from: 2, to: 4, count: 2 })).toBeUndefined();
    expect(slowestFirst(exemplars).map(({ traceId }) => traceId)).toEqual(["b", "c", "a"]);
  });
});
