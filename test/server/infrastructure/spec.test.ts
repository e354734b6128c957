import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { JsonObject } from "../../../src/domain/json-value.ts";
import { bytesQuantity, quantityValue } from "../../../src/domain/quantity.ts";
import { beyond, mergeSpec } from "../../../src/server/infrastructure/spec-merge.ts";
import { readSpec } from "../../../src/server/infrastructure/spec-shape.ts";
import { histogram } from "../../../src/server/infrastructure/stats.ts";
import { measureVolumes } from "../../../src/server/infrastructure/volumes.ts";
import { BucketSum } from "../../../src/server/stores/metrics/bucket-sum.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { seeded } from "../../harness/seed.ts";

describe("quantities", () => {
  test.each([
    ["500m", 0.5],
    ["1", 1],
    ["1.5k", 1500],
    ["1000Mi", 1000 * 2 ** 20],
    ["100Gi", 100 * 2 ** 30],
    ["1e3", 1000],
    ["1E", 1e18],
    ["-1", undefined],
    ["1KB", undefined],
    ["", undefined],
    ["1e999", undefined],
  ])("%s is %p", (text, value) => {
    expect(quantityValue(text)).toBe(value as number);
  });

  test("bytes come back from their quantity", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (bytes) => expect(quantityValue(bytesQuantity(bytes))).toBe(bytes)),
      seeded(200),
    );
    expect([bytesQuantity(0), bytesQuantity(512 * 2 ** 20), bytesQuantity(1000)]).toEqual(["0", "512Mi", "1000"]);
  });
});

describe("specs", () => {
  test("are merged by key and by name, and null removes", () => {
    const base: JsonObject = { a: 1, limit: { cpu: "1", memory: "1Gi" }, writers: [{ name: "x", version: "1" }, { name: "y" }] };
    const over: JsonObject = { a: null, limit: { cpu: "2" }, writers: [{ name: "y", version: "2" }, { name: "z" }] };
    expect(mergeSpec(base, over)).toEqual({
      limit: { cpu: "2", memory: "1Gi" },
      writers: [{ name: "x", version: "1" }, { name: "y", version: "2" }, { name: "z" }],
    });
  });

  test("what is recorded beyond what runs gives the same when it is merged again", () => {
    const leaf = fc.constantFrom("1", "2", 3);
    const item = fc.record({ version: leaf, limit: fc.record({ cpu: leaf }, { requiredKeys: [] }) }, { requiredKeys: [] });
    const spec = fc.record(
      {
        a: leaf,
        b: fc.record({ c: leaf, d: leaf }, { requiredKeys: [] }),
        items: fc
          .uniqueArray(fc.constantFrom("x", "y", "z"))
          .chain((names) => fc.tuple(...names.map((name) => item.map((more) => ({ name, ...more }))))),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(spec, spec, (one, two) => {
        const [base, over] = [one, two] as unknown as [JsonObject, JsonObject];
        const merged = mergeSpec(base, over);
        const recorded = beyond(base, merged);
        expect(mergeSpec(base, recorded)).toEqual(merged);
        expect(beyond(base, base)).toEqual({});
      }),
      seeded(200),
    );
  });

  test("keys may be written in camelCase, and what status says is passed over", () => {
    expect(readSpec("metrics", '{"databaseReplicas":2,"postgresParameters":{"maxConns":5},"status":{"x":1}}')).toEqual({
      database_replicas: 2,
      postgres_parameters: { maxConns: "5" },
    });
  });

  test.each(["[]", "nothing", "1", "null"])("%s is refused", (text) => {
    expect(() => readSpec("gateway", text)).toThrow(/^The spec/);
  });

  test("a mapping that is too deep is refused", () => {
    const deep = `${'{"a":'.repeat(30)}1${"}".repeat(30)}`;
    expect(() => readSpec("telemetry", `{"customer_collector":${deep}}`)).toThrow("at most 20 deep");
  });
});

describe("measures", () => {
  test("a histogram counts every latency once, in buckets that grow", () => {
    const latencies = new BucketSum(true);
    for (const seconds of [0.0001, 0.0005, 0.003, 0.125, 1000]) latencies.record(seconds);
    const { samples } = histogram("x_seconds", "x", latencies);
    const at = (le: string) => samples.find(({ labels }) => labels.le === le)?.value;
    expect([at("0.000244140625"), at("0.0009765625"), at("0.0625"), at("0.125"), at("32.0"), at("+Inf")]).toEqual([1, 2, 3, 4, 4, 5]);
    expect(samples.slice(-2).map(({ value }) => value)).toEqual([5, expect.closeTo(1000.1286)]);
  });

  test("volumes that hold too much are counted in part, and say so", async () => {
    using folder = new TempFolder();
    mkdirSync(join(folder.path, "many", "deep"), { recursive: true });
    for (let n = 0; n < 20; n++) writeFileSync(join(folder.path, "many", "deep", `${n}`), "x".repeat(5_000));
    const [root, many] = await measureVolumes(folder.path);
    expect([root?.isComplete, many?.isComplete, (many?.usedBytes ?? 0) >= 100_000]).toEqual([true, true, true]);
    const [, part] = await measureVolumes(folder.path, 10);
    expect([part?.isComplete, (part?.usedBytes ?? 0) < (many?.usedBytes ?? 0)]).toEqual([false, true]);
  });
});
