/**
 * `svc benchmark`, as people type it, against a real server: the page of the docs is followed from
 * its first block to its last, and what it leaves out comes after it.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { followPage } from "../harness/docs-page.ts";
import { type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

let platform: Platform;
let project: string;

const svc = (...words: readonly string[]): Promise<Outcome> => {
  const depth = words[0] === "benchmark" ? 2 : 1;
  const options = { home: platform.home, env: platform.env, dir: project };
  return runCommand(words.slice(0, depth).join("/"), words.slice(depth), options);
};
const LOAD = ["--qps", "20", "--duration", "1s", "--warmup-duration", "0s"] as const;
const ASKED = ["--in", "user.id=1", "--in", "user.visits=4", "--out", "user.score"] as const;

interface Benchmark {
  readonly id: string;
  readonly state: string;
  readonly result_files: readonly string[];
  readonly plan: { readonly resources: { readonly cpu_limit: string }; readonly percentiles: readonly number[] };
}
const run = async (...words: readonly string[]): Promise<Benchmark> => {
  const outcome = await svc("benchmark", "run", ...ASKED, ...LOAD, "--yes", "--watch", "--json", ...words);
  if (outcome.exitCode !== 0) throw new Error(outcome.stderr);
  return outcome.json() as Benchmark;
};

beforeAll(async () => {
  platform = await startPlatform();
  project = tempFolder("svc-docs-");
}, 300_000);
afterAll(() => platform?.server.stop());

test("the page of the docs does what it says", async () => {
  await followPage("benchmarks.md", project, async ({ line, words, said }) => {
    const outcome = await svc(...words);
    expect(outcome.exitCode, `${line}\n${outcome.stderr}`).toBe(0);
    expect(outcome.stdout, line).toStartWith(said.replace(/\.\.\.\n$/, ""));
  });
}, 300_000);

describe("svc benchmark run", () => {
  test("shows a histogram and what was used, and where the results are", async () => {
    const { exitCode, stdout, stderr } = await svc("benchmark", "run", ...ASKED, ...LOAD, "--yes", "--watch", "--percentile", "999");
    expect([exitCode, stderr]).toEqual([0, expect.stringMatching(/^Running bench_\w+\n$/)]);
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/^20 of 20 queries answered in [\d.]+ s: [\d.]+ a second of 20 asked for$/);
    expect(lines).toContainEqual(expect.stringMatching(/^p99\.9 +[\d.]+$/));
    expect(stdout).not.toMatch(/^p50/m);
    expect(lines).toContainEqual(expect.stringMatching(/^ *≤ [\d.]+ ms +\d+ +█+$/));
    expect(stdout).toMatch(/Results +bench_[0-9a-f]+\.json, bench_[0-9a-f]+\.html\nPage +http\S+\/benchmarks\/bench_[0-9a-f]+\n$/);
  }, 300_000);

  test("warns of what does nothing, and records it", async () => {
    const words = ["--cpu-limit", "500m", "--nodepool", "big", "--memory-limit", "1Gi", "--warmup-cpu-request", "1"];
    const { exitCode, stderr } = await svc("benchmark", "run", ...ASKED, ...LOAD, "--yes", ...words);
    expect(exitCode).toBe(0);
    for (const what of ["500m processors", "node pool big", "resources of the warm-up"]) expect(stderr).toContain(what);
    expect(stderr).not.toContain("1Gi");
    const benchmark = await run("--cpu-limit", "500m", "--percentile", "99", "--percentile", "50");
    expect(benchmark).toMatchObject({ state: "succeeded", plan: { resources: { cpu_limit: "500m" }, percentiles: [50, 99] } });
  }, 300_000);

  test("asks first, and says when it does not begin", async () => {
    const { exitCode, stderr } = await svc("benchmark", "run", ...ASKED, ...LOAD);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("Send 20 queries a second for 1s")]);
  }, 300_000);

  test.each<[string, readonly string[], string]>([
    ["no input", ["--out", "user.score"], "say what to query with"],
    ["no output", ["--in", "user.id=1"], "say what to ask for"],
    ["both kinds of inputs", [...ASKED, "--in-file", "users.jsonl"], "do not go together"],
    ["both kinds of outputs", [...ASKED, "--query-name", "q"], "do not go together"],
    ["an input twice", [...ASKED, "--in", "user.id=2"], "more than one value"],
    ["a version alone", [...ASKED, "--query-name-version", "1"], "needs --query-name"],
    ["no rate", [...ASKED, "--qps", "0"], "above 0"],
    ["a share beyond one", [...ASKED, "--data-sample-rate=1.5"], "from 0.0 to 1.0"],
    ["a percentile that is none", [...ASKED, "--percentile", "98"], "98"],
    ["this server, unverified", [...ASKED, "--insecure"], "needs --query-host"],
    ["no length", [...ASKED, "--duration", "0s"], "above zero"],
  ])("%s is wrong usage", async (_name, words, says) => {
    const { exitCode, stderr } = await svc("benchmark", "run", ...words, "--yes");
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(says)]);
  });
});

test("results are downloaded by their names, and two runs compared", async () => {
  const [base, other] = [await run(), await run("--data-sample-rate")];
  const out = join(project, "out");
  const names = other.result_files.flatMap((name) => ["--name", name]);
  const { exitCode, stdout } = await svc("benchmark", "download", ...names, "--output-dir", out);
  expect([exitCode, stdout]).toEqual([
    0,
    other.result_files
      .toSorted()
      .map((name) => `${join(out, name)}\n`)
      .join(""),
  ]);
  const file = JSON.parse(readFileSync(join(out, `${other.id}.json`), "utf8")) as { samples: { inputs: unknown }[] };
  expect(file.samples).toHaveLength(20);
  expect(file.samples[0]?.inputs).toEqual({ "user.id": 1, "user.visits": 4 });
  expect(readFileSync(join(out, `${other.id}.html`), "utf8")).toStartWith("<!doctype html>");
  const compared = await svc("benchmark", "compare", base.id, other.id);
  expect([compared.exitCode, compared.stdout]).toEqual([0, expect.stringContaining("too few queries to tell")]);
  expect(compared.stderr).toContain("moving-block bootstrap");
  const shown = await svc("benchmark", "get", other.id);
  expect(shown.stdout).toContain(other.result_files.join(", "));
  const none = await svc("benchmark", "download", "--name", "bench_0.json");
  expect([none.exitCode, none.stderr]).toEqual([1, expect.stringContaining("There is no benchmark 'bench_0'")]);
}, 300_000);

test.each([
  ["rows.csv", "a,b\n1,2\n", 2, "neither Parquet nor JSON"],
  ["empty.json", "", 1, "is empty"],
  ["broken.jsonl", '{"user.id": 1}\n{"user.id": \n', 1, "line 3"],
])(
  "%s is no input file",
  async (name, content, code, says) => {
    writeFileSync(join(project, name), content);
    const { exitCode, stderr } = await svc("benchmark", "upload", "--file-path", join(project, name));
    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(says)]);
  },
  300_000,
);
