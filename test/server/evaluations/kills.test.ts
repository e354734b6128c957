/** Runs of evaluations and a server that is killed: no row is evaluated into the result twice. */

import { expect, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import { EvaluationRunState, EvaluationService } from "../../../gen/svc/v1/evaluation_pb.ts";
import { fromProtoValue } from "../../../src/domain/proto-value.ts";
import { eventually } from "../../harness/eventually.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { clientOf, spawnServer } from "../../harness/spawned-server.ts";
import { uploadDataset } from "../datasets/uploading.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";

const ROWS = 1_500;
/** A row after the first part, at which the first attempt waits. */
const STOP = 1_234;

const evals = (folder: string): string => `import os, time
from svc.evaluations import Evaluation, exact_match

def waits_once(number):
    with open(${JSON.stringify(join(folder, "rows"))}, "a") as rows:
        rows.write(f"{number}\\n")
    if number == ${STOP} and not os.path.exists(${JSON.stringify(join(folder, "go"))}):
        with open(${JSON.stringify(join(folder, "pid"))}, "w") as stream:
            stream.write(f"{os.getpid()}\\n")
        time.sleep(600)
    return number

Evaluation("numbers", dataset="numbers", task=waits_once, scorers=[exact_match("expected")])
`;

test("a run goes on after the parts that were kept, and its process ended with the server", async () => {
  using folder = new TempFolder();
  const first = await TestServer.start(folder.path);
  await first.server.ready;
  expectLive(await deploy(first, { ...GREETING, "evals.py": evals(folder.path) }));
  const lines = Array.from({ length: ROWS }, (_, number) => `${JSON.stringify({ number, expected: number % 2 === 0 ? number : -1 })}\n`);
  await uploadDataset(first, "numbers", { "numbers.jsonl": lines.join("") });
  const token = await first.token();
  const { credentials } = first;
  await first[Symbol.asyncDispose]();
  const path = join(folder.path, "pid");
  let id = "";
  let kept = 0;
  {
    await using server = await spawnServer(folder.path, credentials);
    const service = clientOf(EvaluationService, server, token);
    id = (await service.triggerEvaluation({ id: "numbers" })).run?.id ?? "";
    await eventually(() => existsSync(path) && readFileSync(path, "utf8").endsWith("\n"), "the row that waits");
    const { state, rowsDone = 0n } = (await service.getEvaluationRun({ id })).run ?? {};
    kept = Number(rowsDone);
    expect(state).toBe(EvaluationRunState.RUNNING);
    expect(kept).toBeWithin(1, STOP + 1);
    await server.kill();
  }
  await eventually(() => !isAlive(Number(readFileSync(path, "utf8"))), "the end of the process");
  appendFileSync(join(folder.path, "go"), "");
  await using server = await spawnServer(folder.path, credentials);
  const service = clientOf(EvaluationService, server, token);
  const runNow = async () => (await service.getEvaluationRun({ id })).run;
  await eventually(async () => (await runNow())?.state === EvaluationRunState.SUCCEEDED, "the end of the run");
  const run = await runNow();
  expect(run).toMatchObject({ attempts: 2, rows: BigInt(ROWS), rowsDone: BigInt(ROWS), rowsFailed: 0n });
  expect(run?.scores).toMatchObject([{ count: BigInt(ROWS), mean: 0.5 }]);
  const { revision, files } = await clientOf(DatasetService, server, token).getDataset({ dataset: run?.resultRevisionId ?? "" });
  expect(revision?.rows).toBe(BigInt(ROWS));
  expect(files.map(({ name }) => name)).toEqual(files.map((_, part) => `part-0000${part}.parquet`));
  const { columns } = await clientOf(DatasetService, server, token).previewDataset({ dataset: run?.resultRevisionId ?? "", rows: 1_000 });
  expect(columns.find(({ name }) => name === "row")?.values.map((value) => fromProtoValue(value))).toEqual(
    Array.from({ length: 1_000 }, (_, row) => row),
  );
  const called = readFileSync(join(folder.path, "rows"), "utf8").trim().split("\n").map(Number);
  expect(called.filter((number) => number < kept)).toHaveLength(kept);
  expect(called.filter((number) => number === STOP)).toHaveLength(2);
}, 300_000);
