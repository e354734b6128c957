/** TaskService: scripts, modules and functions that run once. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  CancelTaskResponseSchema,
  GetTaskProfileResponseSchema,
  GetTaskResponseSchema,
  ListTasksResponseSchema,
  RerunTaskResponseSchema,
  RunTasksResponseSchema,
  type Task,
  type TaskArguments,
  TaskArgumentsSchema,
  TaskSchema,
  TaskService,
  TaskState,
  type TaskTarget as TaskTargetMessage,
} from "../../../../gen/svc/v1/task_pb.ts";
import { DEFAULT_GROUP } from "../../../domain/environment-config.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json-value.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import type { TaskTarget } from "../../../domain/task-target.ts";
import { type DeploymentTarget, resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import type { StoredTaskState, TaskOutput, TaskRecord } from "../../stores/metadata/tasks.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { readPage } from "./page-token.ts";

const STATES = {
  received: TaskState.RECEIVED,
  running: TaskState.RUNNING,
  succeeded: TaskState.SUCCEEDED,
  failed: TaskState.FAILED,
  cancelled: TaskState.CANCELLED,
} as const satisfies Record<StoredTaskState, TaskState>;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const scopeOf = async (context: HandlerContext): Promise<DeploymentTarget> =>
    resolveScope(platform.environments, callerOf(context), context.requestHeader);
  const addressIn = ({ requestHeader }: HandlerContext, environmentId: string, id: string): string =>
    pageAddress(platform, requestHeader, environmentId, "run", { id });
  const shown = (task: TaskRecord, context: HandlerContext, output?: TaskOutput): Task => {
    const message = taskMessage(task, addressIn(context, task.environmentId, task.id));
    const { args, kwargs } = task.request;
    message.arguments = create(TaskArgumentsSchema, { argsJson: JSON.stringify(args), kwargsJson: JSON.stringify(kwargs) });
    message.resultJson = output?.result ?? "";
    return message;
  };

  router.service(TaskService, {
    async runTasks({ target, arguments: all, texts, deploymentId, maxRetries, profiling, resourceGroup, skipValidation, venv }, context) {
      const at = await scopeOf(context);
      const tasks = await platform.tasks();
      const { ids, workflowId } = await tasks.run(at, {
        ...{ target: targetOf(target), arguments: all.map(argumentsOf), texts, maxRetries, profiling, skipValidation },
        deploymentId: deploymentId || at.deploymentId,
        ...(venv !== "" && { venv }),
        ...(resourceGroup !== "" && { resourceGroup }),
      });
      const url = addressIn(context, at.environment.id, ids.length === 1 ? (ids[0] as string) : workflowId);
      return create(RunTasksResponseSchema, { ids: [...ids], workflowId, url });
    },

    async rerunTask({ id }, context) {
      const task = await (await platform.tasks()).rerun(id, await scopeOf(context));
      return create(RerunTaskResponseSchema, { task: shown(task, context) });
    },

    async cancelTask({ id }, context) {
      const { environment } = await scopeOf(context);
      return create(CancelTaskResponseSchema, { task: shown(await (await platform.tasks()).cancel(id, environment.id), context) });
    },

    async getTask({ id }, context) {
      const { environment } = await scopeOf(context);
      const tasks = await platform.tasks();
      const task = await tasks.find(id, environment.id);
      return create(GetTaskResponseSchema, { task: shown(task, context, await tasks.output(task)) });
    },

    async listTasks({ workflowId, states, since, until, pageSize, pageToken }, context) {
      const { environment } = await scopeOf(context);
      const tasks = await platform.tasks();
      const wanted = (Object.keys(STATES) as StoredTaskState[]).filter((state) => states.includes(STATES[state]));
      const filter = JSON.stringify(["tasks", environment.id, workflowId, wanted]);
      const page = await readPage(platform.keys.objects, filter, { pageSize, pageToken }, (limit, before) =>
        tasks.list({
          ...{ environmentId: environment.id, workflowId: workflowId || undefined, limit, before },
          ...(wanted.length > 0 && { states: wanted }),
          ...{ since: since && timestampToMs(since), until: until && timestampToMs(until) },
        }),
      );
      return create(ListTasksResponseSchema, {
        tasks: page.items.map((task) => taskMessage(task, addressIn(context, environment.id, task.id))),
        nextPageToken: page.nextPageToken,
      });
    },

    async getTaskProfile({ id }, context) {
      const { environment } = await scopeOf(context);
      const tasks = await platform.tasks();
      const { stacks, dropped, intervalMs } = await tasks.profile(await tasks.find(id, environment.id));
      return create(GetTaskProfileResponseSchema, {
        stacks: stacks.map(({ frames, samples }) => ({ frames: [...frames], samples: BigInt(samples) })),
        dropped: BigInt(dropped),
        intervalMs,
      });
    },
  });
}

/** A task without its arguments and its result. */
function taskMessage(task: TaskRecord, url: string): Task {
  const { id, workflowId, deploymentId, branch, attempts, exitCode, error, createdAt, startedAt, endedAt } = task;
  const { target, maxRetries, profiling, resourceGroup = DEFAULT_GROUP, venv = "" } = task.request;
  const code = target.path === "" ? ({ case: "module", value: target.module } as const) : ({ case: "path", value: target.path } as const);
  return create(TaskSchema, {
    ...{ id, workflowId, deploymentId, branch, attempts, error, maxRetries, profiling, url, venv, resourceGroup },
    target: { code, callable: target.callable },
    state: STATES[task.state],
    ...(exitCode !== undefined && { exitCode }),
    createdAt: msToTimestamp(createdAt),
    ...(startedAt !== undefined && { startedAt: msToTimestamp(startedAt) }),
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
  });
}

function targetOf(target: TaskTargetMessage | undefined): TaskTarget {
  const { case: kind, value = "" } = target?.code ?? {};
  return { path: kind === "path" ? value : "", module: kind === "module" ? value : "", callable: target?.callable ?? "" };
}

function argumentsOf({ argsJson, kwargsJson }: TaskArguments, at: number): { readonly args: readonly Json[]; readonly kwargs: JsonObject } {
  const args = parsed(argsJson || "[]");
  const kwargs = parsed(kwargsJson || "{}");
  if (!Array.isArray(args) || !isJsonObject(kwargs))
    throw new Failure("invalid_argument", `The arguments of task ${at + 1} are no JSON array and no JSON object.`);
  return { args, kwargs };
}

/** Undefined for what is no JSON. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
