/**
 * Evaluations on a real server, with a real project and a real dataset: what rows score, what fails
 * of them, and what becomes of runs.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import {
  type EvaluationRun,
  EvaluationRunState,
  EvaluationService,
  type TriggerEvaluationRequestSchema,
} from "../../../gen/svc/v1/evaluation_pb.ts";
import { IntegrationService } from "../../../gen/svc/v1/integration_pb.ts";
import { LogService } from "../../../gen/svc/v1/log_pb.ts";
import { fromProtoValue } from "../../../src/domain/proto-value.ts";
import { eventually } from "../../harness/eventually.ts";
import { FakeOpenai, failure } from "../../harness/fake-openai.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { uploadDataset } from "../datasets/uploading.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";

const KEY = "sk-a-key-of-a-fake";

const EVALS = (pinned: string): string => `import os, sys, threading, time
from svc import Evaluation
from svc.evaluations import contains, exact_match, judge, numeric

def shout(text):
    print("shouting", text)
    if text == "raise":
        raise ValueError("no shouting")
    if text == "exit":
        sys.exit(3)
    return text.upper()

async def later(text, times=1):
    return text * times

def length(output, row):
    if row["text"] == "abc":
        raise KeyError("odd")
    return len(output) / row["weight"]

def is_short(output):
    return None if output == "ABC" else len(output) < 3

def half(number):
    if threading.active_count() == 1:
        threading.Thread(target=time.sleep, args=(600,)).start()  # which nobody waits for
    return number / 2

def same(text):
    return text

def waits(text, path):
    if text == "raise":
        raise ValueError("at once")
    with open(path, "w") as stream:
        stream.write(str(os.getpid()))
    time.sleep(600)

def endless(output):
    return float("inf")

def largest(output):
    return -1e100

def larger(output):
    return 1e101

def dies(text):
    os._exit(7)

Evaluation("shouts", dataset="words", task=shout, key="text", owner="a@example.com", description="Loud", tags=["t"],
    scorers=[exact_match("expected"), contains("expected", ignore_case=True, name="has"), length, is_short])
Evaluation("repeats", dataset="words", task=later, inputs={"text": "text", "times": "times"}, scorers=[exact_match("text")])
Evaluation("halves", dataset="words", task=half, inputs=["weight"], scorers=[
    numeric("times", name="exact"), numeric("times", tolerance=0.5, name="near"), numeric("times", relative=0.5, name="relative")])
Evaluation("judged", dataset="words", task=same, scorers=[
    judge("Is {output} like {expected}? {{yes}}", model="judge-1", integration="chat", timeout="30s")])
Evaluation("waits", dataset="paths", task=waits, scorers=[exact_match("text")])
Evaluation("extremes", dataset="words", task=same, scorers=[endless, largest, larger])
Evaluation("dies", dataset="words", task=dies, inputs=["text"], scorers=[exact_match("text")])
Evaluation("astray", dataset="words", task=same, scorers=[exact_match("expectd")])
Evaluation("nowhere", dataset="none", task=same, scorers=[exact_match("text")])
Evaluation("pinned", dataset="pins@${pinned}", task=same, scorers=[exact_match("text")])
Evaluation("alone", dataset="${pinned}", task=same, scorers=[exact_match("text")])
Evaluation("mispinned", dataset="words@${pinned}", task=same, scorers=[exact_match("text")])
Evaluation("many", dataset="many", task=same, inputs=["text"], key="number", scorers=[exact_match("expected")])
`;

const WORDS = [
  { text: "a", expected: "A", weight: 1, times: 1 },
  { text: "bb", expected: "b", weight: 2, times: 1 },
  { text: "abc", expected: "ABC", weight: 4, times: 2 },
  { text: "raise", expected: "RAISE", weight: 1, times: 1 },
  { text: "exit", expected: null, weight: 1, times: 1 },
];

let folder: TempFolder;
let server: TestServer;
let fake: FakeOpenai;
/** A revision of the dataset `pins`, which is not its newest one. */
let pinned: string;
const service = () => server.client(EvaluationService);

beforeAll(async () => {
  folder = new TempFolder();
  fake = new FakeOpenai(KEY, () => '{"score": 1, "reason": "it is"}');
  server = await TestServer.start(folder.path);
  await server.server.ready;
  const environmentVariables = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: fake.url };
  await server.client(IntegrationService).applyIntegration({ name: "chat", kind: "openai", environmentVariables });
  pinned = await uploadDataset(server, "pins", { "pins.jsonl": jsonLines([{ text: "a" }]) });
  expectLive(await deploy(server, { ...GREETING, "evals.py": EVALS(pinned) }));
  await uploadDataset(server, "words", { "words.jsonl": jsonLines(WORDS) });
}, 300_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  fake?.[Symbol.dispose]();
  folder?.[Symbol.dispose]();
});

function jsonLines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

const ENDED = [EvaluationRunState.SUCCEEDED, EvaluationRunState.FAILED, EvaluationRunState.CANCELLED];

async function runOf(id: string): Promise<EvaluationRun> {
  const { run } = await service().getEvaluationRun({ id });
  if (!run) throw new Error("no run");
  return run;
}

async function trigger(request: MessageInitShape<typeof TriggerEvaluationRequestSchema>): Promise<string> {
  return (await service().triggerEvaluation(request)).run?.id ?? "";
}

async function ended(name: string): Promise<EvaluationRun> {
  const id = await trigger({ id: name });
  await eventually(async () => ENDED.includes((await runOf(id)).state), `the end of a run of ${name}`);
  return runOf(id);
}

/** A result as a table: values by column. */
async function tableOf(run: EvaluationRun): Promise<Record<string, unknown[]>> {
  const { columns } = await server.client(DatasetService).previewDataset({ dataset: run.resultRevisionId, rows: 100 });
  return Object.fromEntries(columns.map(({ name, values }) => [name, values.map((value) => fromProtoValue(value))]));
}

const refusal = async (call: Promise<unknown>): Promise<ConnectError> =>
  call.then(
    () => Promise.reject(new Error("the call was not refused")),
    (error: unknown) => ConnectError.from(error),
  );

describe("a run", () => {
  test("scores every row, and a row that fails does not end it", async () => {
    const run = await ended("shouts");
    expect([run.state, run.error]).toEqual([EvaluationRunState.SUCCEEDED, ""]);
    expect([run.rows, run.rowsDone, run.rowsFailed, run.attempts]).toEqual([5n, 5n, 3n, 1]);
    const table = await tableOf(run);
    expect(table).toEqual({
      row: [0, 1, 2, 3, 4],
      text: ["a", "bb", "abc", "raise", "exit"],
      output: ["A", "BB", "ABC", null, null],
      error: [null, null, null, "ValueError: no shouting (evals.py:8)", "SystemExit: 3 (evals.py:10)"],
      "score.exact_match": [1, 0, 1, null, null],
      "error.exact_match": [null, null, null, null, null],
      "score.has": [1, 1, 1, null, null],
      "error.has": [null, null, null, null, null],
      "score.length": [1, 1, null, null, null],
      "error.length": [null, null, "KeyError: 'odd' (evals.py:18)", null, null],
      "score.is_short": [1, 0 + 1, null, null, null],
      "error.is_short": [null, null, null, null, null],
    });
    expect(run.scores).toMatchObject([
      { scorer: "exact_match", count: 3n, errors: 0n, mean: 2 / 3, p50: 1, p90: 1, p99: 1 },
      { scorer: "has", count: 3n, errors: 0n, mean: 1 },
      { scorer: "length", count: 2n, errors: 1n, mean: 1 },
      { scorer: "is_short", count: 2n, errors: 0n, mean: 1 },
    ]);
    expect(run.averageScore).toBeCloseTo((2 / 3 + 3) / 4, 12);
    expect(run.firstFailure).toMatchObject({ row: 2n, key: "abc", scorer: "length", message: "KeyError: 'odd' (evals.py:18)" });
  }, 300_000);

  test("gives coroutines and parameters with defaults their columns", async () => {
    const run = await ended("repeats");
    expect((await tableOf(run)).output).toEqual(["a", "bb", "abcabc", "raise", "exit"]);
    expect(run.scores).toMatchObject([{ scorer: "exact_match", count: 5n, mean: 4 / 5 }]);
    expect(run.firstFailure).toBeUndefined();
  }, 300_000);

  test("takes scores of which averages can be made", async () => {
    const run = await ended("extremes");
    expect(run.scores).toMatchObject([
      { scorer: "endless", count: 0n, errors: 5n },
      { scorer: "largest", count: 5n, errors: 0n, mean: -1e100 },
      { scorer: "larger", count: 0n, errors: 5n },
    ]);
    expect(run.averageScore).toBe(-1e100);
    const table = await tableOf(run);
    expect(table["error.endless"]?.[0]).toBe("NoScore: endless returned inf, which is no number");
    expect(table["error.larger"]?.[0]).toBe("NoScore: larger returned 1e+101, and a score is at most 1e+100");
  }, 300_000);

  test("compares numbers exactly, by a difference, and by a share", async () => {
    const table = await tableOf(await ended("halves"));
    expect(table.output).toEqual(["0.5", "1.0", "2.0", "0.5", "0.5"]);
    expect([table["score.exact"], table["score.near"], table["score.relative"]]).toEqual([
      [0, 1, 1, 0, 0],
      [1, 1, 1, 1, 1],
      [1, 1, 1, 1, 1],
    ]);
  }, 300_000);
});

describe("a judge", () => {
  test("is asked about each row that has an output, with the key of the integration, several at once", async () => {
    fake.completions.length = 0;
    fake.mostAtOnce = 0;
    const all = Promise.withResolvers<void>();
    fake.answer = async ({ messages }) => {
      if (fake.completions.length >= WORDS.length) all.resolve();
      await all.promise;
      const [, output] = /Is (\S*) like/.exec(messages.at(-1)?.content ?? "") ?? [];
      if (output === "a") return '```json\n{"score": 0.25, "reason": "no"}\n```';
      if (output === "bb") return "0.75";
      return output === "raise" ? "I would say 7 of 10" : '{"score": 1.5}';
    };
    const run = await ended("judged");
    expect(run.state).toBe(EvaluationRunState.SUCCEEDED);
    expect(fake.questions.sort()).toEqual(WORDS.map(({ text, expected }) => `Is ${text} like ${expected ?? ""}? {yes}`).sort());
    expect(new Set(fake.completions.map(({ model }) => model))).toEqual(new Set(["judge-1"]));
    expect(fake.mostAtOnce).toBe(WORDS.length);
    const table = await tableOf(run);
    expect(table["score.judge"]).toEqual([0.25, 0.75, null, null, null]);
    expect((table["error.judge"] ?? []).slice(2)).toEqual([
      `JudgeError: the judge gave no score from 0 to 1 but '{"score": 1.5}'`,
      "JudgeError: the judge gave no score from 0 to 1 but 'I would say 7 of 10'",
      `JudgeError: the judge gave no score from 0 to 1 but '{"score": 1.5}'`,
    ]);
    expect(run.scores).toMatchObject([{ scorer: "judge", count: 2n, errors: 3n, mean: 0.5 }]);
  }, 300_000);

  test("is asked again after a passing failure, and no more than four times; what refuses is not", async () => {
    fake.completions.length = 0;
    const tries = new Map<string, number>();
    fake.answer = ({ messages }) => {
      const question = messages.at(-1)?.content ?? "";
      const count = (tries.get(question) ?? 0) + 1;
      tries.set(question, count);
      if (question.startsWith("Is a ")) return count < 3 ? failure(429, "slow down", { "retry-after": "0" }) : "1";
      if (question.startsWith("Is bb ")) return failure(503, "never", { "retry-after": "0" });
      if (question.startsWith("Is abc ")) return failure(400, `no such model; your key is ${KEY}`);
      if (question.startsWith("Is raise ")) return Response.redirect("http://127.0.0.1:9/elsewhere", 307);
      return new Response("not JSON");
    };
    const run = await ended("judged");
    expect([...tries.values()].toSorted()).toEqual([1, 1, 1, 3, 4]);
    const table = await tableOf(run);
    const host = new URL(fake.url).host;
    expect(table["score.judge"]).toEqual([1, null, null, null, null]);
    expect(table["error.judge"]).toEqual([
      null,
      `JudgeError: ${host} answered 503: never (asked 4 times)`,
      expect.stringMatching(/^JudgeError: \S+ answered 400: no such model; your key is (?!sk-)/),
      `JudgeError: ${host} answered 307: Temporary Redirect`,
      `JudgeError: ${host} did not answer with JSON`,
    ]);
    expect(JSON.stringify(server.log)).not.toContain(KEY);
  }, 300_000);
});

describe("a run ends", () => {
  test("with its process when it is cancelled, and leaves no result", async () => {
    const path = join(folder.path, "pid");
    await uploadDataset(server, "paths", {
      "paths.jsonl": jsonLines([
        { text: "raise", path },
        { text: "a", path },
      ]),
    });
    const id = await trigger({ id: "waits", metadataJson: '{"commit": "4f5a7b3"}' });
    await eventually(() => existsSync(path) && readFileSync(path, "utf8") !== "", "the row that waits");
    const pid = Number(readFileSync(path, "utf8"));
    expect(isAlive(pid)).toBe(true);
    expect(await runOf(id)).toMatchObject({
      ...{ state: EvaluationRunState.RUNNING, rowsDone: 0n },
      firstFailure: { row: 0n, key: "", scorer: "", message: expect.stringMatching(/^ValueError: at once \(evals\.py:\d+\)$/) },
    });
    const { run } = await service().cancelEvaluationRun({ id });
    expect([run?.state, run?.metadataJson]).toEqual([EvaluationRunState.CANCELLED, '{"commit":"4f5a7b3"}']);
    await eventually(() => !isAlive(pid), "the end of the process");
    expect(await refusal(service().cancelEvaluationRun({ id }))).toMatchObject({ code: Code.FailedPrecondition });
    const { datasets } = await server.client(DatasetService).listDatasets({ search: "evaluation:waits" });
    expect(datasets).toEqual([]);
  }, 300_000);

  test("as failed when its process dies each time", async () => {
    const run = await ended("dies");
    expect([run.state, run.attempts, run.resultRevisionId]).toEqual([EvaluationRunState.FAILED, 3, ""]);
    expect(run.error).toStartWith("the process exited with code 7");
    expect(run.averageScore).toBeUndefined();
  }, 300_000);
});

describe("what is asked for", () => {
  test.each([
    ["astray", Code.FailedPrecondition, "has no column 'expectd'", "expected"],
    ["nowhere", Code.NotFound, "There is no dataset or revision 'none'", "svc dataset list"],
    ["shout", Code.NotFound, "no evaluation 'shout'", "shouts"],
  ])("an evaluation %s is refused", async (id, code, message, hint) => {
    const error = await refusal(service().triggerEvaluation({ id }));
    expect([error.code, error.rawMessage + JSON.stringify(error.details)]).toEqual([code, expect.stringContaining(message)]);
    expect(`${error.rawMessage}${new TextDecoder().decode((error.details[0] as { value?: Uint8Array } | undefined)?.value)}`).toContain(
      hint,
    );
  });

  test.each(["[]", "{", '"a"'])("metadata %j is refused", async (metadataJson) => {
    expect(await refusal(service().triggerEvaluation({ id: "shouts", metadataJson }))).toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: "The metadata of a run is a JSON object.",
    });
  });

  test("an evaluation has the same id by its name, and tells its latest scored run and its revision", async () => {
    const { evaluations } = await service().listEvaluations({});
    expect(evaluations.map(({ evaluation }) => evaluation?.name)).toEqual([
      ...[
        "alone",
        "astray",
        "dies",
        "extremes",
        "halves",
        "judged",
        "many",
        "mispinned",
        "nowhere",
        "pinned",
        "repeats",
        "shouts",
        "waits",
      ],
    ]);
    const shouts = evaluations.find(({ evaluation }) => evaluation?.name === "shouts");
    expect(shouts?.id).toMatch(/^evl_[0-9a-f]{32}$/);
    const { runs } = await service().listEvaluationRuns({ evaluation: "shouts", states: [EvaluationRunState.SUCCEEDED] });
    expect(shouts?.latestScored).toEqual(runs[0]);
    const byId = await service().getEvaluation({ id: shouts?.id ?? "" });
    expect(byId).toEqual(await service().getEvaluation({ id: "shouts" }));
    expect(byId.revisionId).toBe(runs[0]?.revisionId ?? "no run");
    expect(evaluations.find(({ evaluation }) => evaluation?.name === "dies")?.latestScored).toBeUndefined();
    const first = await service().listEvaluations({ pageSize: 4 });
    const rest = await service().listEvaluations({ pageSize: 500, pageToken: first.nextPageToken });
    expect([...first.evaluations, ...rest.evaluations]).toEqual(evaluations);
  });
});

describe("a revision that is named", () => {
  test("is what every run takes, whatever is newer", async () => {
    const newer = await uploadDataset(server, "pins", { "pins.jsonl": jsonLines([{ text: "b" }, { text: "c" }]) });
    for (const name of ["pinned", "alone"]) {
      const run = await ended(name);
      expect([run.revisionId, run.rows, run.dataset]).toEqual([pinned, 1n, "pins"]);
      expect((await tableOf(run)).output).toEqual(["a"]);
    }
    expect((await service().getEvaluation({ id: "pinned" })).revisionId).toBe(pinned);
    expect(newer).not.toBe(pinned);
  }, 300_000);

  test("has to be one of the dataset, and one that can be read", async () => {
    expect((await refusal(service().triggerEvaluation({ id: "mispinned" }))).rawMessage).toBe(
      `Revision ${pinned} is one of dataset 'pins', not of 'words'.`,
    );
    await server.client(DatasetService).archiveDatasetRevision({ revisionId: pinned });
    expect((await refusal(service().triggerEvaluation({ id: "pinned" }))).rawMessage).toBe(
      `Revision ${pinned} is archived, so its rows cannot be read.`,
    );
    expect((await service().getEvaluation({ id: "pinned" })).revisionId).toBe("");
  });
});

describe("two runs", () => {
  const ROWS = 2_345;
  const numbers = (expected: (number: number) => string): string =>
    jsonLines(Array.from({ length: ROWS }, (_, number) => ({ number, text: `t${number}`, expected: expected(number) })));

  test("over many rows are in several parts, and are compared by the key over different revisions", async () => {
    await uploadDataset(server, "many", { "a.jsonl": numbers((number) => (number % 2 === 0 ? `t${number}` : "")) });
    const base = await ended("many");
    expect([base.state, base.rowsDone, base.scores[0]?.count]).toEqual([EvaluationRunState.SUCCEEDED, BigInt(ROWS), BigInt(ROWS)]);
    expect(base.scores[0]?.mean).toBeCloseTo(1_173 / ROWS, 12);
    const lines = numbers((number) => (number % 3 === 0 ? `t${number}` : ""))
      .trimEnd()
      .split("\n")
      .toReversed();
    await uploadDataset(server, "many", { "a.jsonl": `${lines.join("\n")}\n` });
    const other = await ended("many");
    expect(other.revisionId).not.toBe(base.revisionId);
    const all = Array.from({ length: ROWS }, (_, number) => number);
    const higher = all.filter((number) => number % 3 === 0 && number % 2 !== 0);
    const lower = all.filter((number) => number % 3 !== 0 && number % 2 === 0);
    const compared = await service().compareEvaluationRuns({ baseId: base.id, otherId: other.id, limit: 3 });
    expect(compared).toMatchObject({ rowsInBoth: BigInt(ROWS), truncated: true, base: { id: base.id }, other: { id: other.id } });
    expect(compared.scorers).toMatchObject([
      { scorer: "exact_match", count: BigInt(ROWS), higher: BigInt(higher.length), lower: BigInt(lower.length) },
    ]);
    expect(compared.scorers[0]?.meanDifference).toBeCloseTo((higher.length - lower.length) / ROWS, 12);
    expect(compared.rows).toHaveLength(3);
    for (const { key, base: before, other: after, baseOutput, otherOutput } of compared.rows) {
      expect([before, after]).toEqual(higher.includes(Number(key)) ? [0, 1] : [1, 0]);
      expect([baseOutput, otherOutput]).toEqual([`t${key}`, `t${key}`]);
    }
    const { columns } = await server.client(DatasetService).previewDataset({ dataset: base.resultRevisionId, rows: 1_000 });
    expect(columns[0]?.values.map((value) => fromProtoValue(value))).toEqual(all.slice(0, 1_000));
  }, 300_000);

  test("without a result or without a scorer in common are not compared", async () => {
    const { runs } = await service().listEvaluationRuns({});
    const of = (name: string): string =>
      runs.find(({ evaluationName, state }) => evaluationName === name && ENDED.includes(state))?.id ?? "";
    const refused = async (baseId: string, otherId: string) =>
      (await refusal(service().compareEvaluationRuns({ baseId, otherId }))).rawMessage;
    expect(await refused(of("dies"), of("shouts"))).toBe(`Run ${of("dies")} has no result: it is failed.`);
    expect(await refused(of("halves"), of("repeats"))).toContain("have no scorer in common");
    expect(await refused(of("shouts"), of("many"))).toContain("are of different revisions");
  });
});

test("what a run prints is in the log under its id", async () => {
  const { runs } = await service().listEvaluationRuns({ evaluation: "shouts" });
  const texts = async () =>
    (await server.client(LogService).searchLogs({ search: `operation_id:"${runs[0]?.id}"` })).lines.map(({ message }) => message);
  await eventually(async () => (await texts()).length === WORDS.length, "all lines");
  expect((await texts()).toSorted()).toEqual(WORDS.map(({ text }) => `shouting ${text}`).toSorted());
});

test("rows, failures, runs and scores are metrics", async () => {
  const { runs } = await service().listEvaluationRuns({ pageSize: 500 });
  const of = (name: string, state = EvaluationRunState.SUCCEEDED) =>
    runs.filter((run) => run.evaluationName === name && run.state === state).length;
  const answer = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${await server.token()}` } });
  const figures = (await answer.text()).split("\n").filter((line) => line.startsWith("svc_evaluation_"));
  const figure = (metric: string, ...labels: readonly string[]): number => {
    const line = figures.find((one) => one.startsWith(metric) && labels.every((label) => one.includes(label)));
    return Number(line?.split(" ").at(-1));
  };
  expect(figure("svc_evaluation_rows", 'evaluation="shouts"')).toBe(of("shouts") * WORDS.length);
  expect(figure("svc_evaluation_errors", 'evaluation="shouts"')).toBe(of("shouts") * 3);
  expect(figure("svc_evaluation_runs", 'evaluation="dies"', 'state="failed"')).toBe(of("dies", EvaluationRunState.FAILED));
  expect(figure("svc_evaluation_score", 'evaluation="halves"', 'scorer="near"')).toBe(1);
});
