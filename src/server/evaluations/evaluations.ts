/**
 * Evaluations: functions of a deployment that are called for each row of a dataset, and scored.
 * They are defined in code; a run of one is a row and a job, and its result is a revision of a
 * dataset.
 */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Evaluation, Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { didYouMean } from "../../domain/closest.ts";
import type { JsonObject } from "../../domain/json-value.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import { tableColumns } from "../datasets/columns.ts";
import type { Datasets } from "../datasets/datasets.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { type Protection, suspended } from "../deployments/environment-states.ts";
import { namedDeployment } from "../deployments/named-deployment.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { JobHandler } from "../jobs/runner.ts";
import { planWorkflow } from "../jobs/workflows.ts";
import type { RevisionRecord } from "../stores/metadata/datasets.ts";
import type { EvaluationRunFilter, EvaluationRunRecord } from "../stores/metadata/evaluations.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { type Comparison, compareResults, type ResultTable } from "./comparison.ts";
import { namedColumns } from "./needed-columns.ts";
import { resultColumns } from "./result-table.ts";
import { createRunHandler, type RunHandlerOptions } from "./run-handler.ts";

/** The kind of the jobs. */
export const EVALUATION_JOB = "evaluation";

/** Most runs of an environment that may wait or run. */
const MAX_OPEN = 1_000;
/** Most rows of a run. */
const MAX_ROWS = 1_000_000;
/** Longest metadata of a run, in characters of JSON. */
const MAX_METADATA = 8 * 1024;
const MAX_ATTEMPTS = 3;
const ATTEMPT_TIMEOUT_MS = 24 * 3_600_000;
/** Runs of an environment that run at once, over all nodes. */
const AT_ONCE = 4;

/** The services that evaluations need. */
export interface EvaluationsOptions extends Omit<RunHandlerOptions, "deployments" | "metadata"> {
  readonly metadata: Pick<MetadataStore, "datasets" | "evaluations" | "jobs">;
  readonly deployments: Deployments;
  readonly protection: Protection;
  readonly datasets: Pick<Datasets, "find">;
  /** Whether the code of an environment reaches a network. */
  readonly hasNetwork: (environmentId: string) => Promise<boolean>;
  readonly bus: Bus;
  readonly clock: Clock;
}

/** An evaluation with its latest scored run. */
export interface FoundEvaluation {
  readonly id: string;
  readonly evaluation: Evaluation;
  /** Undefined before the first. */
  readonly latestScored: EvaluationRunRecord | undefined;
}

/** The capability. */
export interface Evaluations {
  /** The evaluations of what is live, by name, after the one with the id `after`. */
  list(target: DeploymentTarget, limit: number, after: string | undefined): Promise<readonly FoundEvaluation[]>;
  /** The evaluation of an id or name in what is live. Rejects with Failure not_found. */
  find(target: DeploymentTarget, idOrName: string): Promise<FoundEvaluation>;
  /** Id of the revision that a run would take now; empty when there is none. */
  revisionOf(environmentId: string, evaluation: Evaluation): Promise<string>;
  /** Stores a run and its job, durably when this resolves. Rejects with Failure. */
  trigger(target: DeploymentTarget, idOrName: string, metadata: JsonObject, createdBy: string): Promise<EvaluationRunRecord>;
  /** Selected runs, newest first. */
  runs(filter: EvaluationRunFilter): Promise<EvaluationRunRecord[]>;
  /** A run of an environment. Rejects with Failure not_found. */
  run(id: string, environmentId: string): Promise<EvaluationRunRecord>;
  /** Ends a run. Rejects with Failure not_found, and failed_precondition when it has ended. */
  cancel(id: string, environmentId: string): Promise<EvaluationRunRecord>;
  /** What two runs of an environment scored otherwise. Rejects with Failure. */
  compare(base: EvaluationRunRecord, other: EvaluationRunRecord, limit: number, signal: AbortSignal): Promise<Comparison>;
  /** The handler of EVALUATION_JOB jobs. */
  readonly handler: JobHandler;
}

/** The id of an evaluation: the same for an environment and a name. */
export function evaluationId(environmentId: string, name: string): string {
  return `evl_${new Bun.CryptoHasher("sha256").update(`${environmentId}\n${name}`).digest("hex").slice(0, 32)}`;
}

/** Makes the capability. */
export function createEvaluations(options: EvaluationsOptions): Evaluations {
  const { metadata, deployments, datasets, revisions, tables, bus, clock, folder } = options;
  const { evaluations: store } = metadata;

  const latest = async (environmentId: string, of: readonly Evaluation[]): Promise<FoundEvaluation[]> => {
    const ids = of.map(({ name }) => evaluationId(environmentId, name));
    const scored = new Map((await store.latestScored(environmentId, ids)).map((run) => [run.evaluationId, run]));
    return of.map((evaluation, at) => ({ id: ids[at] as string, evaluation, latestScored: scored.get(ids[at] as string) }));
  };
  const definition = (environmentId: string, { evaluations }: Graph, wanted: string): Evaluation => {
    const found = evaluations.find(({ name }) => name === wanted || evaluationId(environmentId, name) === wanted);
    if (found) return found;
    const near = didYouMean(
      wanted,
      evaluations.map(({ name }) => name),
    );
    throw new Failure("not_found", `What is live has no evaluation '${wanted.slice(0, 200)}'${near ? `; ${near}` : "."}`, {
      hint: "`svc eval list` shows them; an `Evaluation(...)` of the code is there after `svc apply`.",
    });
  };
  const graphAt = async (target: DeploymentTarget): Promise<Graph> => deployments.graph(await deployments.resolve(target));

  /** The revision that an evaluation takes. Rejects with Failure. */
  const revisionFor = async (environmentId: string, { dataset, revision: pinned }: Evaluation) => {
    const found = await datasets.find(environmentId, pinned || dataset);
    const name = found.dataset.name ?? "";
    if (pinned !== "" && dataset !== "" && name !== dataset)
      throw new Failure("failed_precondition", `Revision ${pinned} is one of dataset '${name || found.dataset.id}', not of '${dataset}'.`, {
        hint: `\`svc dataset get ${dataset}\` shows its revisions.`,
      });
    const { revision } = found;
    if (revision?.state !== "complete")
      throw new Failure(
        "failed_precondition",
        revision ? `Revision ${revision.id} is ${revision.state}, so its rows cannot be read.` : `Dataset '${dataset}' has no revision.`,
        { hint: `\`svc dataset get ${dataset || pinned}\` shows what there is.` },
      );
    return { revision, dataset: name };
  };

  const find = async (id: string, environmentId: string): Promise<EvaluationRunRecord> => {
    const run = await store.run(id);
    if (run?.environmentId === environmentId) return run;
    throw new Failure("not_found", `There is no run '${id.slice(0, 200)}' of an evaluation in this environment.`, {
      hint: "`svc eval runs list` shows what there is.",
    });
  };

  const resultOf = async (run: EvaluationRunRecord): Promise<ResultTable> => {
    const result = run.resultRevisionId === "" ? undefined : await metadata.datasets.revision(run.resultRevisionId);
    if (result?.state !== "complete")
      throw new Failure("failed_precondition", `Run ${run.id} has no result: it is ${result ? `${result.state} by now` : run.state}.`, {
        hint: "`svc eval runs list --state succeeded` shows those that have one.",
      });
    const columns = tableColumns(result.columns);
    return { run, columns, key: columns[1]?.name === "output" ? undefined : columns[1]?.name };
  };

  return {
    async list(target, limit, after) {
      const { evaluations } = await graphAt(target);
      const environmentId = target.environment.id;
      const begin = after === undefined ? 0 : evaluations.findIndex(({ name }) => evaluationId(environmentId, name) === after) + 1;
      return latest(environmentId, evaluations.slice(begin, begin + limit));
    },

    async find(target, idOrName) {
      const environmentId = target.environment.id;
      const [found] = await latest(environmentId, [definition(environmentId, await graphAt(target), idOrName)]);
      return found as FoundEvaluation;
    },

    revisionOf: (environmentId, evaluation) =>
      revisionFor(environmentId, evaluation).then(
        ({ revision }) => revision.id,
        (error: unknown) => {
          if (error instanceof Failure) return "";
          throw error;
        },
      ),

    async trigger(target, idOrName, noted, createdBy) {
      const { environment, branch } = target;
      if (environment.suspendedAt !== undefined) throw suspended(environment);
      if (JSON.stringify(noted).length > MAX_METADATA)
        throw new Failure("invalid_argument", `The metadata of a run has at most ${MAX_METADATA} characters of JSON.`);
      const deploymentId =
        target.deploymentId === ""
          ? await deployments.resolve(target)
          : await namedDeployment(options, target, target.deploymentId, "evaluations");
      const evaluation = definition(environment.id, await deployments.graph(deploymentId), idOrName);
      const isJudged = evaluation.scorers.some(({ kind }) => kind.case === "judge");
      if (isJudged && !(await options.hasNetwork(environment.id)))
        throw new Failure(
          "failed_precondition",
          `A judge scores evaluation '${evaluation.name}', and the containers of environment '${environment.name}' have no network to ask it.`,
          { hint: "Set `network: true` under `worker_container` with `svc environment update`, or score without a judge." },
        );
      const { revision, dataset } = await revisionFor(environment.id, evaluation);
      checkColumns(evaluation, revision);
      if (revision.rows === 0 || revision.rows > MAX_ROWS)
        throw new Failure(
          revision.rows === 0 ? "failed_precondition" : "resource_exhausted",
          `A run evaluates 1 to ${MAX_ROWS} rows, and revision ${revision.id} has ${revision.rows}.`,
        );
      const id = newId("evr", clock.now());
      const job = runJob(id, environment.id, deploymentId, evaluation.name, clock.now());
      const { branch: ofDeployment } = await deployments.find(deploymentId, environment.id);
      const run = {
        ...{
          id,
          environmentId: environment.id,
          evaluationId: evaluationId(environment.id, evaluation.name),
          evaluationName: evaluation.name,
        },
        ...{ workflowId: job.begins?.id ?? "", dataset, revisionId: revision.id, deploymentId, branch: ofDeployment || branch },
        ...{ metadata: noted, rows: revision.rows, createdBy },
      };
      if ((await store.create(run, job, MAX_OPEN)) === "full")
        throw new Failure(
          "resource_exhausted",
          `${MAX_OPEN} runs of evaluations wait or run in environment '${environment.name}' already.`,
          {
            hint: "`svc eval runs list` shows them; ask again when some have ended.",
          },
        );
      bus.publish("jobs");
      noteChange(bus, "runs", environment.id);
      return find(id, environment.id);
    },

    runs: (filter) => store.list(filter),
    run: find,

    async cancel(id, environmentId) {
      const { state } = await find(id, environmentId);
      if (!(await store.cancel(id)))
        throw new Failure("failed_precondition", `Run ${id} has ended: it is ${state}.`, {
          hint: "`svc eval trigger` begins another one.",
        });
      await metadata.jobs.cancel(jobIdOf(id));
      bus.publish("jobs", jobIdOf(id));
      noteChange(bus, "runs", environmentId);
      return find(id, environmentId);
    },

    async compare(base, other, limit, signal) {
      const workFolder = join(folder, crypto.randomUUID());
      const [from, to] = [await resultOf(base), await resultOf(other)];
      await mkdir(workFolder, { recursive: true, mode: 0o700 });
      return compareResults({ revisions, tables: await tables(), workFolder }, from, to, limit, signal);
    },

    handler: createRunHandler(options),
  };
}

/** Throws Failure when a revision lacks a column that an evaluation reads. */
function checkColumns(evaluation: Evaluation, { id, columns }: RevisionRecord): void {
  if (columns.length === 0)
    throw new Failure("failed_precondition", `The files of revision ${id} are no table, so there are no rows to evaluate.`);
  const names = columns.map(({ name }) => name);
  const missing = [...namedColumns(evaluation)].find((name) => !names.includes(name));
  if (missing !== undefined)
    throw new Failure("failed_precondition", `Revision ${id} has no column '${missing}', which '${evaluation.name}' reads.`, {
      hint: didYouMean(missing, names) || `Its columns are ${names.slice(0, 20).join(", ")}${names.length > 20 ? ", ..." : ""}.`,
    });
  const taken = resultColumns(
    evaluation.scorers.map(({ name }) => name),
    undefined,
  ).find(({ name }) => name.toLowerCase() === evaluation.key.toLowerCase());
  if (taken)
    throw new Failure("failed_precondition", `The key '${evaluation.key}' has the name of a column that every result has.`, {
      hint: "Give the column of the dataset another name.",
    });
}

/** The id of a run's job. */
function jobIdOf(id: string): string {
  return id.replace(/^evr_/, "job_");
}

/** The job of a run, a workflow of its own. */
function runJob(id: string, environmentId: string, deploymentId: string, name: string, now: number): NewJob {
  const job: NewJob = {
    id: jobIdOf(id),
    kind: EVALUATION_JOB,
    payload: {},
    scope: environmentId,
    subject: id,
    group: { name: `${EVALUATION_JOB}/${environmentId}`, slots: AT_ONCE },
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  };
  const plan = { environmentId, deploymentId, kind: "manual", subject: name, operations: [{ name, jobs: [job] }] } as const;
  return planWorkflow(plan, now)[0] ?? job;
}
