import { expect, test } from "bun:test";
import { changedFiles, sourceFiles } from "../../../../src/ui/pages/deploy/source-files.ts";
import { failedShare, ratesOf } from "../../../../src/ui/pages/deploy/traffic-rates.ts";
import { changedWeights, trafficFlags, typedWeights, weightsProblem } from "../../../../src/ui/pages/deploy/traffic-weights.ts";
import { sumsBy } from "../../../../src/ui/pages/observe/usage-sums.ts";

const TAGS = [{ tag: "blue", weight: 70 }, { tag: "green", weight: 30, mirrorWeight: 5 }, { tag: "old" }];

test("weights that do not add up to 100 are refused with their sum", () => {
  const typed = typedWeights(TAGS);
  expect(weightsProblem(typed)).toBeUndefined();
  const withBlue = (weight: string) => typed.map((one) => (one.tag === "blue" ? { ...one, weight } : one));
  expect(weightsProblem(withBlue("60"))).toBe("The weights add up to 90, not to 100.");
  for (const wrong of ["101", "-1", "1.5", "x", "1e1"]) expect(weightsProblem(withBlue(wrong))).toContain("blue");
  expect(weightsProblem(typed.map((one) => ({ ...one, mirror: "" })))).toContain("blue");
  expect(weightsProblem(typed.map((one) => ({ ...one, weight: "" })))).toBeUndefined();
});

test("only what differs is set", () => {
  const typed = typedWeights(TAGS);
  expect(changedWeights(TAGS, typed)).toEqual({ weights: {}, mirrorWeights: {} });
  const next = [
    { tag: "blue", weight: "0", mirror: "0" },
    { tag: "green", weight: "100", mirror: "0" },
    { tag: "old", weight: "", mirror: "20" },
  ];
  const changes = changedWeights(TAGS, next);
  expect(changes).toEqual({ weights: { blue: 0, green: 100 }, mirrorWeights: { green: 0, old: 20 } });
  expect(trafficFlags(changes)).toEqual(["--tags", "blue=0,green=100", "--mirror", "green=0,old=20"]);
});

test("rates are those of the deployment alone, and nothing where nothing was recorded", () => {
  const series = (deployment: string, ...values: readonly number[]) => ({
    labels: { deployment },
    points: values.map((value) => ({ value })),
  });
  const rates = ratesOf(["blue", "dpl_1"], [series("dpl_2", 5), series("dpl_1", 1, 2)], [series("dpl_1", 1)]);
  expect(rates).toEqual({ queries: 3, failed: 1, byMinute: [1, 2] });
  expect(failedShare(rates)).toBe("33 %");
  expect(ratesOf(["dpl_3"], [series("dpl_2", 5)], [])).toEqual({ queries: 0, failed: 0, byMinute: [] });
  expect([failedShare({ queries: 0, failed: 0 }), failedShare({ queries: 3, failed: 0 })]).toEqual(["", "0 %"]);
});

const bundle = async (files: Record<string, string | Uint8Array>) =>
  new Blob([await new Bun.Archive(files, { compress: "gzip" }).bytes()]).stream() as ReadableStream<Uint8Array<ArrayBuffer>>;

test("files of two bundles are compared by their content", async () => {
  const before = await sourceFiles(await bundle({ "a.py": "x = 1\n", "dir/b.py": "same", "data.bin": new Uint8Array([255, 0, 1]) }));
  const after = await sourceFiles(await bundle({ "a.py": "x = 2\n", "dir/b.py": "same", "new.py": "" }));
  expect(before.get("a.py")).toBe("x = 1\n");
  expect(before.get("data.bin")).toBeUndefined();
  expect(changedFiles(before, after)).toEqual(["a.py", "data.bin", "new.py"]);
  expect(changedFiles(before, before)).toEqual([]);
});

test("usage is added up by day and by what it was for", () => {
  const usage = [
    { date: "2024-01-01", label: "a", queries: "2", bulkQueries: "1" },
    { date: "2024-01-01", label: "b", queries: "5" },
    { date: "2024-01-02", label: "a", queries: "1", cpuSeconds: 1.5 },
  ];
  expect(sumsBy(usage, "queries", "date")).toEqual([
    ["2024-01-01", 8],
    ["2024-01-02", 1],
  ]);
  expect(sumsBy(usage, "queries", "label")).toEqual([
    ["a", 4],
    ["b", 5],
  ]);
  expect(sumsBy(usage, "cpu", "label")).toEqual([
    ["a", 1.5],
    ["b", 0],
  ]);
});
