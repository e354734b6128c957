/**
 * Tasks: scripts, modules and functions of deployments that run once, with arguments. A task is a
 * row and a job; those that are asked for together are the jobs of one workflow.
 */

import type { Clock } from "../../context/clock.ts";
import { didYouMean } from "../../domain/closest.ts";
import { DEFAULT_GROUP } from "../../domain/environment-config.ts";
import type { Json, JsonObject } from "../../domain/json-value.ts";
import { type TaskTarget, targetProblem, targetText } from "../../domain/task-target.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { type Protection, suspended } from "../deployments/environment-states.ts";
import { namedDeployment } from "../deployments/named-deployment.ts";
import type { SourceFiles } from "../deployments/source-files.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import type { JobHandler } from "../jobs/runner.ts";
import { planWorkflow } from "../jobs/workflows.ts";
import { SAMPLE_INTERVAL_MS } from "../python/profile.ts";
import type { DeploymentRecord } from "../stores/metadata/deployments.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { NewTask, TaskFilter, TaskOutput, TaskRecord, TaskRequest } from "../stores/metadata/tasks.ts";
import { taskGroup } from "./task-group.ts";
import { createTaskHandler, type TaskHandlerOptions } from "./task-handler.ts";

/** The kind of the jobs. */
export const TASK_JOB = "script_task";

/** Most tasks that are asked for together. */
const MAX_TOGETHER = 10_000;
/** Most tasks of an environment that may wait or run. */
const MAX_OPEN = 20_000;
const MAX_RETRIES = 20;
/** Longest arguments of a task, in characters of JSON. */
const MAX_ARGUMENTS = 16_384;
const ATTEMPT_TIMEOUT_MS = 24 * 3_600_000;

/** The services that tasks need. */
export interface TasksOptions extends Omit<TaskHandlerOptions, "store" | "deployments"> {
  readonly metadata: Pick<MetadataStore, "jobs" | "tasks">;
  readonly deployments: Deployments;
  readonly protection: Protection;
  readonly sources: SourceFiles;
  readonly bus: Bus;
  readonly clock: Clock;
}

/** The arguments of one task. */
export interface TaskArguments {
  readonly args: readonly Json[];
  readonly kwargs: JsonObject;
}

/** A wish for tasks, as a caller states it. */
export interface TaskWish extends Omit<TaskRequest, "args" | "kwargs"> {
  readonly arguments: readonly TaskArguments[];
  /** Whether not to look for the target in the deployment's source. */
  readonly skipValidation: boolean;
}

/** The capability. */
export interface Tasks {
  /** Stores tasks and their jobs, durably when this resolves, all or none. Rejects with Failure. */
  run(target: DeploymentTarget, wish: TaskWish): Promise<{ readonly ids: readonly string[]; readonly workflowId: string }>;
  /** Asks for a task like another one. Rejects with Failure. */
  rerun(id: string, target: DeploymentTarget): Promise<TaskRecord>;
  /** Ends a task. Rejects with Failure not_found, and failed_precondition when it has ended. */
  cancel(id: string, environmentId: string): Promise<TaskRecord>;
  /** A task of an environment. Rejects with Failure not_found. */
  find(id: string, environmentId: string): Promise<TaskRecord>;
  /** What its last attempt left; undefined = none has ended. */
  output(task: TaskRecord): Promise<TaskOutput | undefined>;
  /**
   * What its last attempt spent its time on, with milliseconds between two samples. Rejects with
   * Failure failed_precondition when there is none.
   */
  profile(task: TaskRecord): Promise<Pick<TaskOutput, "dropped" | "stacks"> & { readonly intervalMs: number }>;
  /** Selected tasks, newest first. */
  list(filter: TaskFilter): Promise<TaskRecord[]>;
  /** The handler of TASK_JOB jobs. */
  readonly handler: JobHandler;
}

/** Makes the capability. */
export function createTasks(options: TasksOptions): Tasks {
  const { metadata, deployments, protection, sources, specs, bus, clock } = options;
  const store = metadata.tasks;

  const find = async (id: string, environmentId: string): Promise<TaskRecord> => {
    const task = await store.task(id);
    if (task?.environmentId === environmentId) return task;
    throw new Failure("not_found", `There is no task '${id}' in this environment.`, { hint: "`svc task list` shows what there is." });
  };

  /** Stores tasks and their jobs. Rejects with Failure. */
  const keep = async (target: DeploymentTarget, request: Omit<TaskRequest, "args" | "kwargs">, all: readonly TaskArguments[]) => {
    const { environment } = target;
    if (environment.suspendedAt !== undefined) throw suspended(environment);
    const { name: group, atOnce } = taskGroup(await specs(environment.id), request.resourceGroup);
    const subject = targetText(request.target);
    const ids = all.map(() => newId("st", clock.now()).replace("_", "-"));
    const jobs = planWorkflow(
      {
        ...({ environmentId: environment.id, deploymentId: request.deploymentId, kind: "manual", subject } as const),
        operations: [{ name: subject, jobs: ids.map((id) => taskJob(id, environment.id, request.maxRetries, { group, atOnce })) }],
      },
      clock.now(),
    );
    const workflowId = jobs[0]?.begins?.id ?? "";
    const tasks: NewTask[] = all.map(({ args, kwargs }, at) => ({
      ...{ id: ids[at] as string, environmentId: environment.id, workflowId, request: { ...request, args, kwargs } },
    }));
    if ((await store.create(tasks, jobs, MAX_OPEN)) === "full")
      throw new Failure(
        "resource_exhausted",
        `Environment '${environment.name}' would have more than ${MAX_OPEN} tasks that wait or run.`,
        {
          hint: "`svc task list` shows them; ask again when some have ended.",
        },
      );
    bus.publish("jobs");
    return { ids, workflowId };
  };

  /**
   * Rejects when the source of a deployment does not have the target. What cannot be read here is
   * left to the task.
   */
  const checkTarget = async (target: TaskTarget, deploymentId: string, environmentId: string): Promise<void> => {
    const deployment = await deployments.find(deploymentId, environmentId);
    const stem = target.module.replaceAll(".", "/");
    const last = target.callable === "" ? [`${stem}/__main__.py`] : [];
    const paths = target.path !== "" ? [target.path] : [`${stem}.py`, `${stem}/__init__.py`, ...last];
    for (const path of paths) {
      const file = await sources.read(deployment, path);
      if ("text" in file) return requireBound(target, path, file.text);
      if (!file.isAbsent) return;
    }
    throw new Failure("invalid_argument", `Deployment ${deploymentId} has no ${target.path || `module ${target.module}`}.`, {
      hint: "Deploy it first with `svc apply`, or give --skip-validation for what a package brings.",
    });
  };

  return {
    async run(at, { arguments: all, skipValidation, ...wish }) {
      checkWish(wish, all);
      const deploymentId =
        wish.deploymentId !== ""
          ? await namedDeployment({ deployments, protection }, at, wish.deploymentId, "tasks")
          : at.branch === ""
            ? ""
            : await deployments.resolve({ ...at, deploymentId: "" });
      const runsIn = deploymentId || (await deployments.resolve({ ...at, deploymentId: "" }));
      const venv = wish.venv ?? taskGroup(await specs(at.environment.id), wish.resourceGroup).venv;
      if (venv !== "") checkVenv(venv, await deployments.find(runsIn, at.environment.id));
      if (!skipValidation) await checkTarget(wish.target, runsIn, at.environment.id);
      return keep(at, { ...wish, deploymentId }, all);
    },

    async rerun(id, at) {
      const { request } = await find(id, at.environment.id);
      const { args, kwargs, ...rest } = request;
      if (rest.deploymentId !== "") await namedDeployment({ deployments, protection }, { ...at, branch: "" }, rest.deploymentId, "tasks");
      const { ids } = await keep(at, rest, [{ args, kwargs }]);
      return find(ids[0] as string, at.environment.id);
    },

    async cancel(id, environmentId) {
      const task = await find(id, environmentId);
      if (!(await store.cancel(id)))
        throw new Failure("failed_precondition", `Task ${id} has ended: it is ${(await find(id, environmentId)).state}.`, {
          hint: `\`svc task rerun ${id}\` runs it once more.`,
        });
      await metadata.jobs.cancel(jobIdOf(id));
      bus.publish("jobs", jobIdOf(id));
      return find(task.id, environmentId);
    },

    find,
    output: ({ id }) => store.output(id),
    async profile({ id, request }) {
      const output = request.profiling ? await store.output(id) : undefined;
      if (output) return { ...output, intervalMs: SAMPLE_INTERVAL_MS };
      const why = request.profiling ? "no attempt of it has ended" : "it was not asked for";
      throw new Failure("failed_precondition", `There is no profile of task ${id}: ${why}.`, {
        hint: "`svc task run --enable-profiling` makes one.",
      });
    },
    list: (filter) => store.list(filter),
    handler: createTaskHandler({ ...options, store }),
  };
}

function checkVenv(venv: string, { id, venvs }: DeploymentRecord): void {
  const names = venvs.map(({ name }) => name);
  if (names.includes(venv)) return;
  const known = names.length > 0 ? `It has ${names.join(", ")}.` : "It has none: they are under `venvs` of svc.yaml when it is deployed.";
  const hint = [didYouMean(venv, names).replace(/^d/, "D"), known].filter((text) => text !== "").join(" ");
  throw new Failure("invalid_argument", `Deployment ${id} has no venv '${venv.slice(0, 100)}'.`, { hint });
}

/** The id of a task's job. */
function jobIdOf(id: string): string {
  return id.replace(/^st-/, "job_");
}

function taskJob(id: string, environmentId: string, maxRetries: number, { group, atOnce }: { group: string; atOnce: number }): NewJob {
  return {
    id: jobIdOf(id),
    kind: TASK_JOB,
    payload: {},
    scope: environmentId,
    subject: id,
    group: { name: `${TASK_JOB}/${environmentId}${group === DEFAULT_GROUP ? "" : `/${group}`}`, slots: atOnce },
    maxAttempts: maxRetries + 1,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  };
}

function checkWish({ target, maxRetries }: Pick<TaskRequest, "target" | "maxRetries">, all: readonly TaskArguments[]): void {
  const problem = targetProblem(target);
  if (problem !== undefined) throw new Failure("invalid_argument", `The target '${targetText(target).slice(0, 200)}' ${problem}.`);
  if (all.length === 0 || all.length > MAX_TOGETHER)
    throw new Failure("invalid_argument", `From 1 to ${MAX_TOGETHER} tasks are asked for together, not ${all.length}.`);
  if (maxRetries < 0 || maxRetries > MAX_RETRIES)
    throw new Failure("invalid_argument", `A task is retried from 0 to ${MAX_RETRIES} times, not ${maxRetries}.`);
  const long = all.findIndex(({ args, kwargs }) => JSON.stringify([args, kwargs]).length > MAX_ARGUMENTS);
  if (long >= 0)
    throw new Failure("invalid_argument", `The arguments of task ${long + 1} have more than ${MAX_ARGUMENTS} characters of JSON.`, {
      hint: "Put what is large into a file or a dataset, and give its name.",
    });
}

/** Throws Failure when a file binds no name with which the function begins. */
function requireBound({ callable }: TaskTarget, path: string, text: string): void {
  const [name = ""] = callable.split(".");
  if (name === "") return;
  const escaped = RegExp.escape(name);
  const binds = new RegExp(
    `^\\s*(?:(?:async\\s+)?def|class)\\s+${escaped}\\b|^\\s*${escaped}\\s*(?::[^=]*)?=|\\bimport\\b.*\\b${escaped}\\b|^\\s*${escaped},?\\s*$`,
    "mu",
  );
  if (binds.test(text)) return;
  const defined = [...text.matchAll(/^(?:(?:async\s+)?def|class)\s+([\p{L}_][\p{L}\p{N}_]*)/gmu)].map(([, found]) => found as string);
  throw new Failure("invalid_argument", `${path} defines no '${name}'.`, {
    hint: didYouMean(name, defined) || "Name a function of the file, or give --skip-validation.",
  });
}
