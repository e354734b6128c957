/**
 * Vectors and models, as people use them, against a real server and a fake of a model's: the page of
 * the docs is followed from its first block to its last, and what it leaves out comes after it.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { followPage } from "../harness/docs-page.ts";
import { eventually } from "../harness/eventually.ts";
import { FakeOpenai, failure } from "../harness/fake-openai.ts";
import { type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

/** Features of every kind, of texts that say what the fake is to do. */
const PROJECT = `from dataclasses import dataclass
from svc import online
from svc.embedding import embed
from svc.features import Vector, features
from svc.prompts import PromptResponse, completion, message

@dataclass
class Mark:
    stars: int
    why: "str | None"

@features(max_staleness="infinity")
class Review:
    id: int
    body: "str | None"
    given: "Vector[2] | None"
    emb: "Vector[2] | None" = embed(input=lambda: Review.body, model="embedder", dimensions=2)
    short: Vector[3] = embed(input=lambda: Review.body, model="embedder", max_staleness="0s")
    said: str = completion(model="chatter", max_staleness="0s", temperature=0, max_tokens=9, messages=[
        message(role="system", content="Be short"), message(role="user", content=lambda: Review.body)])
    mark: Mark = completion(model="chatter", max_staleness="0s", messages=[
        message(role="user", content="{{ Review.body }} is {{Review.id}}: {{ Review.given }}")])
    full: PromptResponse = completion(model="chatter", max_staleness="0s", output_structure=Mark, messages=[
        message(role="user", content="{{ Review.body }}")])

@online
def body(id: Review.id) -> Review.body:
    return None if id == 1000 else f"text {id}"

@online
def given(id: Review.id) -> Review.given:
    return [0.1, id]
`;

let platform: Platform;
let project: string;
let fake: FakeOpenai;

const svc = (path: string, words: readonly string[], input?: string[]): Promise<Outcome> =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project, ...(input && { input }) });

beforeAll(async () => {
  platform = await startPlatform();
  fake = new FakeOpenai("sk-a-key-of-a-fake", () => '{"mood": "good", "stars": 5}');
  project = tempFolder("svc-docs-");
  writeFileSync(join(project, "svc.yaml"), "project: docs\n");
}, 300_000);
afterAll(async () => {
  fake?.[Symbol.dispose]();
  await platform?.server.stop();
});

/** Lines without the address of a run or what stands for an empty cell, and with any spaces as two. */
function steady(text: string): string[] {
  const lines = text.split("\n").map((line) => line.replaceAll(/ {2,}-(?= {2,}|$)/g, "").replaceAll(/ {2,}/g, "  "));
  return lines.filter((line) => line !== "" && !line.startsWith("http://"));
}

test("the page of the docs", async () => {
  await followPage("vectors.md", project, async ({ line, words, said }) => {
    const length = words[0] === "metrics" ? 2 : words[0] === "upload" ? 1 : words.findIndex((word) => word.startsWith("-"));
    const key = words[1] === "insert" ? [`OPENAI_API_KEY=${fake.key}`, `OPENAI_BASE_URL=${fake.url}`] : undefined;
    const outcome = await svc(words.slice(0, length).join("/"), words.slice(length), key);
    expect(outcome.exitCode, `${line}\n${outcome.stderr}`).toBe(0);
    if (said !== "...\n") expect(steady(outcome.stdout), line).toEqual(steady(said));
  });
}, 300_000);

interface Answered {
  readonly value: unknown;
  readonly error?: string;
}

/** The value or the error of one feature of a review. */
async function ask(id: number, output: string): Promise<Answered> {
  const outcome = await svc("query", ["--in", `review.id=${id}`, "--out", output, "--json"]);
  expect(outcome.stdout + outcome.stderr).not.toContain(fake.key);
  const { data, errors } = outcome.json() as {
    data: { value: unknown; error?: { message: string } }[];
    errors?: { message: string }[];
  };
  const error = data[0]?.error?.message ?? errors?.[0]?.message;
  return { value: data[0]?.value, ...(error !== undefined && { error }) };
}

describe("models", () => {
  beforeAll(async () => {
    const key = [`OPENAI_API_KEY=${fake.key}`, `OPENAI_BASE_URL=${fake.url}`];
    await svc("integration/insert", ["--name", "chat", "--kind", "openai"], key);
    writeFileSync(join(project, "features.py"), PROJECT);
    const { exitCode, stderr } = await svc("apply", ["--force", "--await"]);
    expect(exitCode, stderr).toBe(0);
  }, 300_000);

  test("texts of many rows go into few requests, each text once, and what is stored is asked for no more", async () => {
    fake.embeddings.length = 0;
    const ids = Array.from({ length: 300 }, (_, at) => at + 11);
    const bulk = async () => {
      const words = [...ids, 17].flatMap((id) => ["--in", `review.id=${id}`]);
      const { stdout } = await svc("query", ["--bulk", ...words, "--out", "review.emb", "--json"]);
      return (JSON.parse(stdout) as { data: Record<string, unknown[]> }).data["review.emb"];
    };
    const vectors = [...ids, 17].map((id) => [`text ${id}`.length, 1]);
    expect(await bulk()).toEqual(vectors);
    const asked = fake.embeddings.flatMap(({ input }) => input);
    expect([asked.length, new Set(asked).size]).toEqual([300, 300]);
    expect(fake.embeddings.map(({ input }) => input.length).toSorted((a, b) => a - b)).toEqual([44, 128, 128]);
    expect(fake.embeddings[0]).toMatchObject({ model: "embedder", dimensions: 2 });
    fake.embeddings.length = 0;
    expect(await bulk()).toEqual(vectors);
    expect(fake.embeddings).toEqual([]);
  }, 300_000);

  test("values are rounded, and what is no such vector is refused", async () => {
    expect(await ask(1, "review.given")).toEqual({ value: [Math.fround(0.1), 1] });
    expect((await ask(1, "review.short")).error).toContain("review.short: expected Vector[3], got list of 2");
    fake.embed = () => [1, 1e39, 2];
    expect((await ask(1, "review.short")).error).toContain("a finite number of Vector[3]");
    fake.embed = (text) => [text.length, 1];
  });

  test("a row without a text has no vector, and nobody is asked", async () => {
    fake.embeddings.length = 0;
    expect((await ask(1000, "review.emb")).value).toBeNull();
    expect(fake.embeddings).toEqual([]);
  });

  test("a completion is a text, a structure, or a response with its tokens", async () => {
    fake.answer = () => "fine";
    expect(await ask(3, "review.said")).toEqual({ value: "fine" });
    const messages = [
      { role: "system", content: "Be short" },
      { role: "user", content: "text 3" },
    ];
    expect(fake.completions.at(-1) as object).toEqual({ model: "chatter", temperature: 0, max_tokens: 9, messages });
    fake.answer = () => '```json\n{"stars": 4, "why": null}\n```';
    expect(await ask(3, "review.mark")).toEqual({ value: { stars: 4, why: null } });
    expect(fake.questions.at(-1)).toBe("text 3 is 3: [0.10000000149011612, 3.0]");
    const properties = { stars: { type: "integer" }, why: { anyOf: [{ type: "string" }, { type: "null" }] } };
    const schema = { type: "object", properties, required: ["stars", "why"], additionalProperties: false };
    expect(fake.completions.at(-1)).toMatchObject({
      response_format: { type: "json_schema", json_schema: { name: "Mark", strict: true, schema } },
    });
    expect(await ask(3, "review.full")).toEqual({
      value: { response: '{"stars": 4, "why": null}', model: "chatter", finish_reason: "stop", prompt_tokens: 2, completion_tokens: 6 },
    });
  });

  test("an answer that is no such structure is an error of its row", async () => {
    fake.answer = () => "four stars";
    expect((await ask(3, "review.mark")).error).toContain("ModelError: the model's answer is no JSON: 'four stars'");
    const message = { role: "assistant", content: null, refusal: "no marks" };
    fake.answer = () => Response.json({ choices: [{ index: 0, finish_reason: "stop", message }] });
    expect((await ask(3, "review.mark")).error).toContain("the model refused: no marks");
    fake.answer = () => '{"stars": "four", "why": null}';
    expect((await ask(3, "review.mark")).error).toContain('expected int, got str "four" at .stars');
  });

  test("a request that fails for a passing reason is made again, after the pause that is asked for", async () => {
    for (const status of [429, 503]) {
      const before = fake.completions.length;
      fake.answer = () => (fake.completions.length < before + 4 ? failure(status, "wait", { "retry-after": "0" }) : "at last");
      expect(await ask(4, "review.said")).toEqual({ value: "at last" });
      expect(fake.completions.length - before).toBe(4);
    }
    fake.answer = () => failure(500, "down", { "retry-after": "0" });
    const before = fake.completions.length;
    expect((await ask(4, "review.said")).error).toMatch(/ModelError: 127.0.0.1:\d+ answered 500: down \(asked 4 times\)/);
    expect(fake.completions.length - before).toBe(4);
  });

  test("a request that is refused is made once, and its error has no key", async () => {
    fake.answer = (asked) => failure(400, `no model ${asked.model} for ${fake.key}`);
    const before = fake.completions.length;
    expect((await ask(5, "review.said")).error).toEndWith("answered 400: no model chatter for ***");
    expect(fake.completions.length - before).toBe(1);
    const { stdout } = await svc("logs", ["--json"]);
    expect(stdout).not.toContain(fake.key);
  });

  test("requests of a worker are made side by side, eight at most", async () => {
    fake.mostAtOnce = 0;
    let waiting: (() => void)[] = [];
    fake.answer = async () => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length < 8) return;
        const all = waiting;
        waiting = [];
        for (const go of all) go();
      });
      return "done";
    };
    const words = Array.from({ length: 32 }, (_, at) => ["--in", `review.id=${at + 400}`]).flat();
    const { stdout } = await svc("query", ["--bulk", ...words, "--out", "review.said", "--json"]);
    expect(new Set((JSON.parse(stdout) as { data: Record<string, unknown[]> }).data["review.said"])).toEqual(new Set(["done"]));
    expect(fake.mostAtOnce).toBe(8);
  }, 300_000);

  test("requests, failures and tokens are metrics", async () => {
    const total = async (expression: string): Promise<number> => {
      const outcome = await svc("metrics/query", [expression, "--since", "1d", "--json"]);
      expect(outcome.stderr).toBe("");
      const { series } = outcome.json() as { series: { points: { value: number | null }[] }[] };
      return series.flatMap(({ points }) => points).reduce((sum, { value }) => sum + (value ?? 0), 0);
    };
    const reaches = (expression: string, least: number): Promise<void> =>
      eventually(async () => (await total(expression)) >= least, `${expression} of ${least}`);
    await reaches("sum:model.tokens{model:embedder,kind:input,resolver:features.Review.emb}", 600);
    await reaches("sum:model.errors{resolver:features.Review.said}", 3 + 3 + 4 + 1);
    await reaches("sum:model.requests{resolver:features.Review.said}", 3 + 3 + 4 + 1 + 32);
  }, 300_000);

  test("vectors are lists of floats in Parquet", async () => {
    const words = ["--in", "review.id=[1, 2]", "--out", "review.emb", "--out", "review.given"];
    const outcome = await svc("offline-query", [
      ...words,
      "--recompute",
      "--dataset",
      "rows",
      "--output-file",
      join(project, "rows.parquet"),
    ]);
    expect(outcome.exitCode, outcome.stderr).toBe(0);
    const sql = 'select typeof("review.emb") as t, "review.given" as v from datasets.rows order by "review.id"';
    const answer = await svc("sql", [sql, "--json"]);
    expect(answer.stderr).toBe("");
    expect((answer.json() as { rows: object[] }).rows).toEqual([1, 2].map((id) => ({ t: "FLOAT[]", v: [Math.fround(0.1), id] })));
    await ask(12, "review.given");
    const sampled = [
      "--in",
      "review.id=[12]",
      "--out",
      "review.given",
      "--dataset",
      "sampled",
      "--output-file",
      join(project, "sampled.parquet"),
    ];
    expect((await svc("offline-query", sampled)).exitCode).toBe(0);
    const kept = await svc("sql", ['select "review.given" as v from datasets.sampled', "--json"]);
    expect((kept.json() as { rows: object[] }).rows).toEqual([{ v: [Math.fround(0.1), 12] }]);
  }, 300_000);

  test("without the integration the error says what to do", async () => {
    const { exitCode, stderr } = await svc("integration/delete", ["chat", "--force"]);
    expect(exitCode, stderr).toBe(0);
    writeFileSync(join(project, "more.py"), "");
    expect((await svc("apply", ["--force", "--await"])).exitCode).toBe(0);
    expect((await ask(6, "review.said")).error).toContain("has no integration of kind openai; make one with `svc integration insert`");
  }, 300_000);
});
