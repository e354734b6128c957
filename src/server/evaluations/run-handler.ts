/**
 * The work of a run: rows are read in batches, evaluated in a process of the deployment's code, and
 * kept in parts, each of them a file of the result. Another attempt goes on after the last part, so
 * that no row is in the result twice.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Evaluation } from "../../../gen/svc/v1/graph_pb.ts";
import { makePrivateFolder } from "../../disk/private-file.ts";
import { errorText } from "../../domain/error-text.ts";
import { tableColumns } from "../datasets/columns.ts";
import type { RevisionMaker } from "../datasets/revisions.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { type Attempt, JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import type { Processes } from "../processes/processes.ts";
import type { PlainLog } from "../python/pool.ts";
import type { EvaluationRunRecord } from "../stores/metadata/evaluations.ts";
import type { JobRecord } from "../stores/metadata/jobs.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { DEFAULT_RESOURCE_GROUP } from "../stores/metadata/usage.ts";
import type { TableChunk, TableColumn, TableEngine } from "../tables/engine.ts";
import { type ScoredRows, startEvaluationProcess } from "./evaluation-process.ts";
import { neededColumns } from "./needed-columns.ts";
import { MOST_ROWS, paceOf } from "./pace.ts";
import { averageOf, firstFailureOf, type ResultSummary, readSummary, resultColumns, resultRows, summaryStatement } from "./result-table.ts";

/** The services that runs need. */
export interface RunHandlerOptions {
  readonly metadata: Pick<MetadataStore, "datasets" | "evaluations">;
  readonly deployments: Pick<Deployments, "find" | "graph" | "halted" | "runtime">;
  readonly revisions: RevisionMaker;
  readonly tables: () => Promise<TableEngine>;
  readonly processes: Pick<Processes, "began">;
  readonly logs: LogRecorder;
  readonly metrics: MetricRecorder;
  /** Folder for the folders of attempts. */
  readonly folder: string;
}

/** Rows that a process has at once where it asks judges: as many as it asks at once. */
const JUDGED_ROWS = 8;
const SUMMARY_LIMITS = { timeoutMs: 600_000, rows: 1, bytes: 1024 * 1024 };
const MAX_ERROR = 2_000;

/** What an attempt at a run works with. */
interface Work {
  readonly run: EvaluationRunRecord;
  readonly evaluation: Evaluation;
  readonly fence: number;
  readonly signal: AbortSignal;
  /** Folder of this attempt. */
  readonly folder: string;
  /** The revision of the result, which is being written. */
  readonly resultId: string;
  readonly scorers: readonly string[];
  /** Whether a scorer is a judge. */
  readonly isJudged: boolean;
  readonly columns: readonly TableColumn[];
  readonly key: TableColumn | undefined;
}

/** The revision that a run writes. */
export function resultOf({ environmentId, id }: Pick<EvaluationRunRecord, "environmentId" | "id">) {
  return { environmentId, origin: "evaluation", originId: id } as const;
}

/** Makes the handler. */
export function createRunHandler(options: RunHandlerOptions): JobHandler {
  const { metadata, deployments, revisions, tables, processes, logs, metrics, folder } = options;
  const { evaluations: store } = metadata;

  const startProcess = async ({ run, signal, folder: own, columns, scorers, evaluation: { venv, span } }: Work) => {
    const deployment = await deployments.find(run.deploymentId, run.environmentId);
    const runtime = await deployments.runtime(deployment.id, run.environmentId, join(own, "src"), signal, venv);
    let seen: ReturnType<Processes["began"]> | undefined;
    const process = await startEvaluationProcess({
      ...{ runtime, name: run.evaluationName, scorers, columns, folder: own, signal },
      ...(venv !== "" && span && { files: [span.file] }),
      onLog: ({ level, text, logger, timestampMs }: PlainLog) =>
        logs.record({
          ...{ environmentId: run.environmentId, deploymentId: deployment.id, branch: deployment.branch },
          ...{ at: timestampMs * 1_000, level, logger, podName: seen?.name ?? "", operationId: run.id },
          component: deployment.branch === "" ? "engine" : "branch",
          resourceGroup: DEFAULT_RESOURCE_GROUP,
          message: runtime.plain(text),
        }),
      onStart(started) {
        seen = processes.began({
          ...{ ...started, kind: "evaluation", environmentId: run.environmentId, deploymentId: deployment.id },
          ...{ resourceGroup: DEFAULT_RESOURCE_GROUP, tag: deployment.tags[0] ?? "" },
        });
        seen.ready();
      },
      onEnd: ({ exitCode, how, cpuMs }) => seen?.ended({ isExpected: exitCode === 0 || signal.aborted, how, cpuMs }),
    }).catch((error: unknown) => {
      throw error instanceof JobFailed ? new JobFailed(runtime.plain(error.message)) : new Error(runtime.plain(errorText(error)));
    });
    return { process, plain: runtime.plain };
  };

  /** Rows of the run's dataset in their order, from one on. */
  async function* rowsFrom({ run, folder: own, columns, signal }: Work, from: number): AsyncGenerator<TableChunk> {
    const inputs = (await revisions.files(run.revisionId)).filter(({ kind }) => kind === "output");
    let before = 0;
    for (const [at, file] of inputs.entries()) {
      const offset = Math.max(0, from - before);
      before += file.rows;
      if (offset >= file.rows) continue;
      const path = join(own, `input-${at}.parquet`);
      await revisions.fetch(file, path);
      yield* (await tables()).read(path, { columns, offset, chunkRows: MOST_ROWS, signal });
      await rm(path, { force: true });
    }
  }

  /** Evaluates the rows that no earlier attempt has kept, those after `done` in `parts`. */
  const evaluateRest = async (work: Work, parts: number, done: number, { progress }: Attempt): Promise<void> => {
    const { run, fence, signal, resultId, scorers, isJudged, key } = work;
    const { process, plain } = await startProcess(work);
    const engine = await tables();
    const keyAt = key ? work.columns.indexOf(key) : -1;
    let [part, from] = [parts, done];
    const keep = async (chunks: readonly TableChunk[], rows: number): Promise<void> => {
      const name = partName(part);
      const path = join(work.folder, name);
      const writer = await engine.write(path, resultColumns(scorers, key));
      for (const chunk of chunks) await writer.append(chunk);
      await writer.finish();
      if (!(await store.update(run.id, fence, {}))) throw new Error("another attempt has taken the run over");
      await revisions.addFile(resultId, { name, kind: "output", rows, path, signal });
      part += 1;
      from += rows;
      await store.update(run.id, fence, { rowsDone: from });
      progress(`${from} of ${run.rows} rows`);
    };
    const clock = (): number => performance.now();
    const pace = paceOf(isJudged ? JUDGED_ROWS : 1, clock());
    let isTold = run.firstFailure !== undefined;
    let chunks: TableChunk[] = [];
    let [rows, since] = [0, clock()];
    for await (const chunk of rowsFrom(work, from)) {
      for (let at = 0; at < chunk.rows; ) {
        const batch = slice(chunk, at, at + pace.batchRows(rows));
        const begun = clock();
        const scored = withoutSecrets(await process.evaluate(batch), plain);
        const ended = clock();
        pace.took(batch.rows, ended - begun);
        const keys = keyAt < 0 ? undefined : batch.columns[keyAt];
        const failure = isTold ? undefined : firstFailureOf(scorers, from + rows, keys, scored);
        if (failure) isTold = await store.update(run.id, fence, { firstFailure: failure });
        chunks.push(resultRows(scorers, from + rows, keys, scored));
        rows += batch.rows;
        at += batch.rows;
        signal.throwIfAborted();
        if (!pace.isDue(rows, since, ended)) continue;
        await keep(chunks, rows);
        [chunks, rows, since] = [[], 0, clock()];
      }
    }
    if (rows > 0) await keep(chunks, rows);
    await process.close();
    signal.throwIfAborted();
    if (from !== run.rows) throw new JobFailed(`the revision has ${from} rows, and ${run.rows} when the run was asked for`);
  };

  const summaryOf = async ({ folder: own, resultId, scorers, key, signal }: Work): Promise<ResultSummary> => {
    const engine = await tables();
    const paths: string[] = [];
    for (const file of await revisions.files(resultId)) {
      const path = join(own, file.name);
      if (!(await Bun.file(path).exists())) await revisions.fetch(file, path);
      paths.push(path);
    }
    const target = join(own, "summary.parquet");
    const source = { name: ["result"], paths, columns: resultColumns(scorers, key) };
    const answer = await engine.select(summaryStatement(scorers, key), [source], target, { limits: SUMMARY_LIMITS, signal });
    const [row] = await Array.fromAsync(engine.read(target, { columns: answer.columns, signal }));
    if (!row) throw new Error("the figures of the result could not be read");
    return readSummary(scorers, row);
  };

  const attemptAt = async (run: EvaluationRunRecord, fence: number, attempt: Attempt, signal: AbortSignal): Promise<void> => {
    const graph = await deployments.graph(run.deploymentId);
    const evaluation = graph.evaluations.find(({ name }) => name === run.evaluationName);
    const revision = await metadata.datasets.revision(run.revisionId);
    if (!evaluation || revision?.state !== "complete")
      throw new JobFailed(evaluation ? `revision ${run.revisionId} is not complete any more` : "its deployment has no such evaluation");
    const all = tableColumns(revision.columns);
    const needed = neededColumns(evaluation);
    const columns = needed === "all" ? all : all.filter(({ name }) => needed.has(name));
    const { revisionId: resultId } = await revisions.begin({
      ...resultOf(run),
      ...{ dataset: `evaluation:${run.evaluationName}`, createdBy: run.createdBy },
    });
    const own = join(folder, `${run.id}.${run.attempts}`);
    makePrivateFolder(own);
    try {
      const scorers = evaluation.scorers.map(({ name }) => name);
      const key = columns.find(({ name }) => name === evaluation.key);
      const isJudged = evaluation.scorers.some(({ kind }) => kind.case === "judge");
      const work: Work = { run, evaluation, fence, signal, folder: own, resultId, scorers, isJudged, columns, key };
      const parts = await revisions.files(resultId);
      const done = parts.reduce((sum, { rows }) => sum + rows, 0);
      if (done < run.rows) await evaluateRest(work, parts.length, done, attempt);
      const { scores, rowsFailed, firstFailure } = await summaryOf(work);
      await revisions.complete(resultId, resultColumns(scorers, key));
      const ended = { scores, rowsFailed, firstFailure, rowsDone: run.rows, averageScore: averageOf(scores), resultRevisionId: resultId };
      if (!(await store.update(run.id, fence, { ...ended, state: "succeeded", error: "" }))) return;
      record(run, ended);
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  };

  const record = (run: EvaluationRunRecord, { scores, rowsFailed }: Pick<ResultSummary, "rowsFailed" | "scores">): void => {
    const { environmentId, evaluationName: evaluation } = run;
    metrics.counter("evaluation.runs", environmentId, { evaluation, state: "succeeded" }).add();
    metrics.counter("evaluation.rows", environmentId, { evaluation }).add(run.rows);
    metrics.counter("evaluation.errors", environmentId, { evaluation }).add(rowsFailed);
    for (const { scorer, mean } of scores)
      if (mean !== undefined) metrics.gauge("evaluation.score", environmentId, { evaluation, scorer }).set(mean);
  };

  return {
    isQuiet: true,
    isLong: true,

    async run(job: JobRecord, attempt) {
      const run = await store.begin(job.subject, job.fence, job.attempts);
      if (!run) return;
      const halted = deployments.halted(run.environmentId);
      const over = AbortSignal.any([attempt.signal, halted]);
      await attemptAt(run, job.fence, attempt, over).catch(async (failure: unknown) => {
        attempt.signal.throwIfAborted();
        const reason = (halted.aborted ? String(halted.reason) : errorText(failure)).slice(0, MAX_ERROR);
        await store.update(run.id, job.fence, { state: "received", error: reason });
        throw halted.aborted ? new JobFailed(reason) : failure;
      });
    },

    async giveUp(job, reason) {
      const run = await store.run(job.subject);
      if (!run) return;
      const resultId = await revisions.begun(resultOf(run));
      if (resultId !== undefined) await revisions.abandon(resultId);
      const isFailed = await store.update(run.id, job.fence, { state: "failed", error: reason.slice(0, MAX_ERROR) });
      const state = isFailed ? "failed" : run.state;
      metrics.counter("evaluation.runs", run.environmentId, { evaluation: run.evaluationName, state }).add();
    },
  };
}

function partName(number: number): string {
  return `part-${String(number).padStart(5, "0")}.parquet`;
}

/** Rows of a chunk, from one to before another, or to its end. */
function slice({ rows, columns }: TableChunk, from: number, to: number): TableChunk {
  const end = Math.min(to, rows);
  return from === 0 && end === rows ? { rows, columns } : { rows: end - from, columns: columns.map((values) => values.slice(from, end)) };
}

function withoutSecrets({ outputs, scores, errors }: ScoredRows, plain: (text: string) => string): ScoredRows {
  return {
    scores,
    outputs: outputs.map((text) => (text === null ? null : plain(text))),
    errors: new Map([...errors].map(([name, texts]) => [name, new Map([...texts].map(([row, text]) => [row, plain(text)]))])),
  };
}
