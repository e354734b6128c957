/**
 * The work of a task: each attempt is a process of its own in a folder of its own, in which the
 * deployment's source is unpacked, so that it meets nothing that an earlier one left.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { makePrivateFolder } from "../../disk/private-file.ts";
import { errorText } from "../../domain/error-text.ts";
import type { DeploymentRuntime } from "../deployments/builder.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { Specs } from "../deployments/worker-groups.ts";
import { type Attempt, JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import type { Processes } from "../processes/processes.ts";
import type { PlainLog } from "../python/pool.ts";
import type { DeploymentRecord } from "../stores/metadata/deployments.ts";
import type { JobRecord } from "../stores/metadata/jobs.ts";
import type { TaskRecord, TaskStore } from "../stores/metadata/tasks.ts";
import { type TaskGroup, taskGroup } from "./task-group.ts";
import { runTaskProcess, type TaskEnding } from "./task-process.ts";

/** The services that attempts need. */
export interface TaskHandlerOptions {
  readonly store: TaskStore;
  readonly deployments: Pick<Deployments, "find" | "halted" | "live" | "runtime">;
  readonly processes: Pick<Processes, "began">;
  readonly logs: LogRecorder;
  readonly specs: Specs;
  /** Folder for the folders of attempts. */
  readonly folder: string;
}

const MAX_ERROR = 2_000;

/** Makes the handler. */
export function createTaskHandler({ store, deployments, processes, logs, specs, folder }: TaskHandlerOptions): JobHandler {
  /** The group of a task as it is now. */
  const groupOf = async ({ environmentId, request }: TaskRecord): Promise<TaskGroup> => {
    try {
      return taskGroup(await specs(environmentId), request.resourceGroup);
    } catch (error) {
      throw new JobFailed(errorText(error));
    }
  };

  const attemptOf = async (task: TaskRecord, deployment: DeploymentRecord, signal: AbortSignal): Promise<TaskEnding> => {
    const group = await groupOf(task);
    const own = join(folder, `${task.id}.${task.attempts}`);
    makePrivateFolder(own);
    try {
      const venv = task.request.venv ?? group.venv;
      const runtime = inGroup(await deployments.runtime(deployment.id, task.environmentId, join(own, "src"), signal, venv), group);
      const line = ({ level, text, logger, timestampMs }: PlainLog, podName: string): void =>
        logs.record({
          ...{ environmentId: task.environmentId, deploymentId: deployment.id, branch: deployment.branch },
          ...{ at: timestampMs * 1_000, level, logger, podName, operationId: task.id },
          component: deployment.branch === "" ? "engine" : "branch",
          resourceGroup: group.name,
          message: runtime.plain(text),
        });
      let seen: ReturnType<Processes["began"]> | undefined;
      const ending = await runTaskProcess({
        ...{ runtime, request: task.request, folder: own, signal },
        onLog: (said) => line(said, seen?.name ?? ""),
        onStart(started) {
          seen = processes.began({
            ...{ ...started, kind: "task", environmentId: task.environmentId, deploymentId: deployment.id },
            ...{ resourceGroup: group.name, tag: deployment.tags[0] ?? "" },
          });
          seen.ready();
        },
      });
      const how = ending.exitCode === undefined ? "was ended by a signal" : `exited with code ${ending.exitCode}`;
      seen?.ended({ isExpected: ending.exitCode === 0 || signal.aborted, how, cpuMs: ending.cpuMs });
      return { ...ending, error: runtime.plain(ending.error), result: runtime.plain(ending.result) };
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  };

  return {
    isQuiet: true,
    isLong: true,

    async run(job: JobRecord, { signal }: Attempt) {
      const stored = await store.task(job.subject);
      if (!stored) return;
      const deploymentId = stored.request.deploymentId || deployments.live(stored.environmentId, "");
      if (deploymentId === undefined) throw new JobFailed("nothing is live in its environment");
      const deployment = await deployments.find(deploymentId, stored.environmentId).catch((error: unknown) => {
        throw new JobFailed(errorText(error));
      });
      const { id, branch } = deployment;
      const task = await store.begin(stored.id, job.fence, { deploymentId: id, branch, attempts: job.attempts });
      if (!task) return;
      const halted = deployments.halted(task.environmentId);
      const over = AbortSignal.any([signal, halted]);
      const { error, isWrong, exitCode, ...output } = await attemptOf(task, deployment, over).catch(async (failure: unknown) => {
        if (!over.aborted) await store.update(task.id, job.fence, { state: "received", error: errorText(failure).slice(0, MAX_ERROR) });
        throw failure;
      });
      signal.throwIfAborted();
      const outcome = { exitCode, output: { result: output.result, stacks: output.stacks, dropped: output.dropped } };
      if (exitCode === 0) {
        await store.update(task.id, job.fence, { ...outcome, state: "succeeded", error: "" });
        return;
      }
      const reason = halted.aborted ? String(halted.reason) : error;
      await store.update(task.id, job.fence, { ...outcome, state: "received", error: reason });
      throw isWrong || halted.aborted ? new JobFailed(reason) : new Error(reason);
    },

    async giveUp(job, reason) {
      await store.update(job.subject, job.fence, { state: "failed", error: reason.slice(0, MAX_ERROR) });
    },
  };
}

/** What a process is started with, with what its group gives and takes. */
function inGroup(runtime: DeploymentRuntime, { memoryLimitBytes: limit, variables }: TaskGroup): DeploymentRuntime {
  const { memoryLimitBytes: own } = runtime;
  const memoryLimitBytes = limit === undefined || own === undefined ? (limit ?? own) : Math.min(limit, own);
  return { ...runtime, env: { ...runtime.env, ...variables }, ...(memoryLimitBytes !== undefined && { memoryLimitBytes }) };
}
