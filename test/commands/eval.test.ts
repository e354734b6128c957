/**
 * `svc eval`, as people type it, against a real server: the page of the docs is followed from its
 * first block to its last, and what it leaves out comes after it.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { followPage } from "../harness/docs-page.ts";
import { FakeOpenai } from "../harness/fake-openai.ts";
import { lacks } from "../harness/needs.ts";
import { type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

let platform: Platform;
let project: string;
let fake: FakeOpenai;

const svc = (path: string, ...words: readonly string[]): Promise<Outcome> =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project });
const json = async <T>(path: string, ...words: readonly string[]): Promise<T> => {
  const outcome = await svc(path, ...words, "--json");
  if (outcome.exitCode !== 0) throw new Error(outcome.stderr);
  return outcome.json() as T;
};

interface Run {
  readonly id: string;
  readonly state: string;
  readonly average_score: number | null;
  readonly metadata_json: string;
}
const runs = async (): Promise<readonly Run[]> => (await json<{ runs: readonly Run[] }>("eval/runs/list")).runs;

/** A function that ends its process, and one that tells the types of what it is given. */
const BREAKING = `import os
from svc import Evaluation, exact_match


def kinds(n, d, at, raw, l, dec):
    return [type(value).__name__ for value in (n, d, at, raw, l, dec)]


def is_same(output, row):
    return (type(row["n"]).__name__, type(row["at"]).__name__) == (output[0], output[2])


Evaluation("breaks", dataset="durations", task=lambda text: os._exit(9), scorers=[exact_match("text")])
Evaluation("kinds", dataset="typed", task=kinds, key="n", scorers=[is_same])
`;

const WRITE_TYPED = `
import datetime as dt, decimal, pyarrow as pa, pyarrow.parquet as pq
pq.write_table(pa.table({
    "n": pa.array([1, 2**62], pa.int64()),
    "d": pa.array([dt.date(2026, 1, 31), None], pa.date32()),
    "at": pa.array([dt.datetime(2026, 1, 31, tzinfo=dt.timezone.utc), None], pa.timestamp("us", "UTC")),
    "raw": pa.array([b"a", None], pa.binary()),
    "l": pa.array([[1], None], pa.list_(pa.int64())),
    "dec": pa.array([decimal.Decimal("1.5"), None], pa.decimal128(9, 2)),
}), "typed.parquet")
`;

beforeAll(async () => {
  platform = await startPlatform();
  fake = new FakeOpenai("sk-a-key-of-a-fake", () => '{"score": 0.5, "reason": "half"}');
  project = tempFolder("svc-docs-");
  writeFileSync(join(project, "svc.yaml"), "project: docs\n");
}, 300_000);
afterAll(async () => {
  fake?.[Symbol.dispose]();
  await platform?.server.stop();
});

/**
 * A text with what differs each time in words, without what stands for an empty cell in a pipe and
 * for progress, and with any number of spaces as two.
 */
function steady(text: string): string[] {
  return text
    .replaceAll(/\b(evl|evr|rev)_[0-9a-f]{32}\b/g, "$1_ID")
    .replaceAll(/http:\S+\/evals\/\S+/g, "PAGE")
    .replaceAll(/\b(just now|\d+ \w+ ago|\d+s ago)$/gm, "AGO")
    .split("\n")
    .map((line) =>
      line
        .trimEnd()
        .replaceAll(/: +/g, ":  ")
        .replaceAll(/ {2,}-(?= {2,}|$)/g, "")
        .replaceAll(/ {2,}/g, "  "),
    )
    .filter((line) => line !== "" && line !== "Evaluating");
}

test("the page of the docs", async () => {
  await followPage("evaluations.md", project, async ({ line, words, said }) => {
    const [second, first] = line.includes("FIRST") ? await runs() : [];
    const given = words.map((word) => word.replace("FIRST", first?.id ?? "").replace("SECOND", second?.id ?? ""));
    const length = given.findIndex((word) => /^(apply|upload|list|trigger|compare)$/.test(word)) + 1;
    const outcome = await svc(given.slice(0, length).join("/"), ...given.slice(length));
    expect(outcome.exitCode, `${line}\n${outcome.stderr}`).toBe(0);
    if (said !== "...\n") expect(steady(outcome.stderr + outcome.stdout), line).toEqual(steady(said));
  });
}, 300_000);

describe("svc eval", () => {
  beforeAll(async () => {
    await runCommand("integration/insert", ["--name", "chat", "--kind", "openai"], {
      ...{ home: platform.home, env: platform.env, dir: project },
      input: [`OPENAI_API_KEY=${fake.key}`, `OPENAI_BASE_URL=${fake.url}`],
    });
    mkdirSync(join(project, "more"));
    writeFileSync(join(project, "more", "breaking.py"), BREAKING);
    const { exitCode, stdout } = await svc("apply", "--force", "--await");
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringContaining("Added Evaluations\nName\nbreaks\njudged minutes\nkinds\n\nPlan: 2 monitors added; 3 evaluations added\n"),
    ]);
  }, 300_000);

  test("get shows the definition, by name and by id", async () => {
    const { stdout } = await svc("eval/get", "minutes");
    expect(steady(stdout)).toEqual([
      "ID:  evl_ID",
      "Name:  minutes",
      "Dataset:  durations",
      "Revision:  rev_ID",
      "Function:  durations.minutes",
      "Inputs:  text",
      "Scorers:  exact_match:  equals expected",
      "  near:  at most 5 from expected",
      "  is_plausible:  evaluations.is_plausible",
      "Key:  text",
      "Latest score:  1 (evr_ID)",
      "Page:  PAGE",
    ]);
    const id = /evl_\w+/.exec(stdout)?.[0] ?? "";
    expect((await svc("eval/get", id)).stdout).toBe(stdout);
  });

  test("a judge's key comes from the integration, and is in nothing that is shown", async () => {
    const { exitCode, stdout, stderr } = await svc("eval/trigger", "judged minutes", "--await");
    expect([exitCode, stderr]).toEqual([0, "Evaluating\n"]);
    expect(stdout).toContain("judge: 0.5 (p50 0.5, p90 0.5, p99 0.5) of 4 rows");
    expect(fake.questions.toSorted()[0]).toBe("Are 120 minutes the same as 2h?");
    const [run] = await runs();
    expect((await svc("eval/runs/get", run?.id ?? "")).stdout).not.toContain(fake.key);
  }, 300_000);

  test("a run that fails ends the command that waits for it with 1", async () => {
    const { exitCode, stdout, stderr } = await svc("eval/trigger", "breaks", "--await");
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^Evaluating\nError: Run evr_\w+ failed: the process exited with code 9\n/);
    expect(await json("eval/runs/list", "--evaluation", "breaks", "--state", "failed")).toMatchObject({
      runs: [{ evaluation_name: "breaks" }],
    });
  }, 300_000);

  test("metadata stays with its run", async () => {
    const { runs: all } = await json<{ runs: readonly Run[] }>("eval/runs/list", "--evaluation", "minutes");
    expect(all.map(({ metadata_json }) => metadata_json)).toEqual(["", '{"reader":"first"}']);
    expect((await svc("eval/runs/get", all[1]?.id ?? "")).stdout).toMatch(/^Metadata: +\{"reader":"first"\}$/m);
  });

  test.each([
    [["eval/trigger", "minutes", "--metadata", "[]"], 2, "--metadata takes a JSON object"],
    [["eval/trigger", "minute"], 1, "did you mean 'minutes'"],
    [["eval/trigger", ""], 1, "no evaluation ''.\n"],
    [["eval/get", "evl_none"], 1, "`svc eval list` shows them"],
    [["eval/compare", "evr_a"], 2, "other"],
    [["eval/compare", "evr_a", "evr_b", "--limit", "0"], 2, "--limit takes 1 to 500"],
    [["eval/compare", "evr_a", "evr_b"], 1, "There is no run 'evr_a'"],
    [["eval/runs/cancel", "evr_a"], 1, "There is no run 'evr_a'"],
    [["eval/list", "--limit", "0"], 2, "--limit takes 1 to"],
  ] as const)("%j is refused", async ([path, ...words], exitCode, said) => {
    const outcome = await svc(path, ...words);
    expect([outcome.exitCode, outcome.stderr]).toEqual([exitCode, expect.stringContaining(said)]);
  });

  test.skipIf(lacks("pyarrow", Bun.spawnSync(["python3", "-c", "import pyarrow"], { stderr: "ignore" }).success))(
    "functions are given typed values, and pyarrow reads what became of them",
    async () => {
      const python = (code: string): string => {
        const { exitCode, stdout, stderr } = Bun.spawnSync(["python3", "-c", code], { cwd: project });
        if (exitCode !== 0) throw new Error(stderr.toString());
        return stdout.toString();
      };
      python(WRITE_TYPED);
      expect((await svc("dataset/upload", "typed.parquet", "--name", "typed")).exitCode).toBe(0);
      const { result_revision_id: result } = await json<{ result_revision_id: string }>("eval/trigger", "kinds", "--await");
      expect((await svc("dataset/download", result, "--output-dir", join(project, "result"))).exitCode).toBe(0);
      const read = "import json, pyarrow.parquet as pq; print(json.dumps(pq.read_table('result').to_pydict()))";
      expect(JSON.parse(python(read))).toEqual({
        row: [0, 1],
        n: [1, 2 ** 62],
        output: [
          '["int", "date", "datetime", "bytes", "list", "Decimal"]',
          '["int", "NoneType", "NoneType", "NoneType", "NoneType", "NoneType"]',
        ],
        error: [null, null],
        "score.is_same": [1, 1],
        "error.is_same": [null, null],
      });
    },
    300_000,
  );

  test("a branch has evaluations of its own", async () => {
    writeFileSync(join(project, "more", "breaking.py"), "");
    expect((await svc("apply", "--branch", "trial", "--force", "--await")).exitCode).toBe(0);
    const { evaluations } = await json<{ evaluations: readonly { evaluation: { name: string } }[] }>("eval/list", "--branch", "trial");
    expect(evaluations.map(({ evaluation }) => evaluation.name)).toEqual(["judged minutes", "minutes"]);
    expect(await json("eval/trigger", "minutes", "--branch", "trial", "--await")).toMatchObject({ branch: "trial", average_score: 1 });
  }, 300_000);

  test("a run that has ended is not cancelled", async () => {
    const [run] = await runs();
    const { exitCode, stderr } = await svc("eval/runs/cancel", run?.id ?? "");
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`Run ${run?.id} has ended: it is succeeded.`)]);
  });

  test("list is one document with --json, and goes on page by page", async () => {
    const { evaluations } = await json<{ evaluations: readonly { evaluation: { name: string } }[] }>("eval/list", "--all", "--limit", "1");
    expect(evaluations.map(({ evaluation }) => evaluation.name)).toEqual(["breaks", "judged minutes", "kinds", "minutes"]);
    expect((await svc("eval/list", "--limit", "1")).stderr).toStartWith("More: --page-token ");
  });
});
