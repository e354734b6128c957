/**
 * Workflows: planned as operations whose jobs run one after the other, and shown with the states
 * of those. A plan is jobs, of which the first begins the workflow: whoever stores a noun of its
 * own in the same step hands them to its store, others call `begin`.
 */

import { didYouMean } from "../../domain/closest.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { JobRecord, JobState, JobStore, NewJob } from "../stores/metadata/jobs.ts";
import type {
  WorkflowFilter,
  WorkflowKind,
  WorkflowOperation,
  WorkflowRecord,
  WorkflowStatus,
  WorkflowStore,
} from "../stores/metadata/workflows.ts";
import type { Bus } from "./bus.ts";
import { noteChange } from "./changes.ts";
import { checkOffset } from "./offset.ts";

/** An operation as it is planned. */
export interface PlannedOperation<J extends NewJob = NewJob> {
  /** What it is called, unique in the workflow. */
  readonly name: string;
  /** Names of operations before it, all of whose jobs must have succeeded; default: none. */
  readonly after?: readonly string[];
  /** Number of its jobs that may run at once; default: any. */
  readonly gate?: number;
  /** Its jobs, at least one, of one kind. */
  readonly jobs: readonly J[];
}

/** A workflow as it is planned. */
export interface WorkflowPlan<J extends NewJob = NewJob> {
  readonly environmentId: string;
  /** Empty = not known yet. */
  readonly deploymentId: string;
  readonly kind: WorkflowKind;
  /** What it is about, such as the FQN of a resolver. */
  readonly subject: string;
  /** In an order in which each stands after those that it waits for. */
  readonly operations: readonly PlannedOperation<J>[];
}

/** An operation of a workflow, as it stands. */
export interface OperationState {
  /** Empty = jobs that belong to no operation. */
  readonly id: string;
  readonly name: string;
  /** Kind of its jobs. */
  readonly kind: string;
  readonly status: WorkflowStatus;
  /** Number of its jobs. */
  readonly jobs: number;
  /** Numbers of them that run and that have succeeded. */
  readonly running: number;
  readonly completed: number;
  /** Numbers of them that failed and that were cancelled. */
  readonly failed: number;
  readonly canceled: number;
  /** Ids of the operations before it. */
  readonly after: readonly string[];
}

/** The workflows as callers see them. */
export interface Workflows {
  /** Stores a workflow with its jobs, durably when this resolves. */
  begin(plan: WorkflowPlan): Promise<JobRecord[]>;
  /** Selected workflows, newest first. Rejects with Failure invalid_argument for a bad offset. */
  list(filter: WorkflowFilter): Promise<WorkflowRecord[]>;
  /** A workflow of an environment. Rejects with Failure not_found. */
  find(id: string, environmentId: string): Promise<WorkflowRecord>;
  /** The operations of a workflow, each after those that it waits for. */
  operations(workflow: WorkflowRecord): Promise<OperationState[]>;
}

/** Most pairs of jobs of which one waits for the other. */
const MAX_PAIRS = 100_000;

/**
 * The jobs of a plan: with operations, their names in those, and what they wait for. The first
 * begins the workflow. Throws when an operation comes before one that it waits for.
 * @param now epoch milliseconds, for the ids
 */
export function planWorkflow<J extends NewJob>({ operations: planned, ...plan }: WorkflowPlan<J>, now: number): J[] {
  const before = new Map<string, { readonly operation: WorkflowOperation; readonly jobs: readonly J[] }>();
  const id = newId("wf", now);
  const jobs: J[] = [];
  let pairs = 0;
  for (const { name, after = [], gate, jobs: parts } of planned) {
    const awaited = after.map((one) => {
      const found = before.get(one);
      if (!found) throw new Error(`operation '${name}' waits for '${one}', which does not come before it`);
      return found;
    });
    const ids = awaited.flatMap((one) => one.jobs.map((job) => job.id));
    pairs += ids.length * parts.length;
    if (pairs > MAX_PAIRS) throw new Error(`jobs of a workflow wait for each other in more than ${MAX_PAIRS} pairs`);
    const operation: WorkflowOperation = {
      ...{ id: crypto.randomUUID(), name, jobs: parts.length, kind: parts[0]?.kind ?? "" },
      after: awaited.map((one) => one.operation.id),
    };
    const made = parts.map((job, index) => ({
      ...job,
      name: job.name ?? (parts.length === 1 ? name : `${name} ${index}`),
      operationId: operation.id,
      workflowId: id,
      index,
      ...(gate !== undefined && { gate }),
      ...(ids.length > 0 && { after: ids }),
    }));
    before.set(name, { operation, jobs: made });
    jobs.push(...made);
  }
  const [first, ...others] = jobs;
  if (!first) throw new Error("a workflow has no jobs");
  return [{ ...first, begins: { id, ...plan, operations: [...before.values()].map(({ operation }) => operation) } }, ...others];
}

/** Makes the capability. */
export function createWorkflows({
  jobs,
  workflows,
  bus,
  now,
}: {
  readonly jobs: Pick<JobStore, "enqueueAll">;
  readonly workflows: WorkflowStore;
  readonly bus: Bus;
  /** The time, epoch milliseconds. */
  readonly now: () => number;
}): Workflows {
  return {
    async begin(plan) {
      const made = await jobs.enqueueAll(planWorkflow(plan, now()));
      bus.publish("jobs");
      noteChange(bus, "runs", plan.environmentId);
      return made;
    },

    async list(filter) {
      checkOffset(filter.offset ?? 0);
      return workflows.list(filter);
    },

    async find(id, environmentId) {
      const workflow = await workflows.workflow(id);
      if (workflow?.environmentId === environmentId) return workflow;
      const known = (await workflows.list({ environmentId, limit: 100 })).map((one) => one.id);
      throw new Failure("not_found", `There is no workflow '${id.slice(0, 100)}' in this environment.`, {
        hint: didYouMean(id, known) || "`svc workflows list` shows those that there are.",
      });
    },

    async operations({ id, operations, status }) {
      const counts = await workflows.counts(id);
      const known = new Set(operations.map((one) => one.id));
      const added = [...new Map(counts.filter(({ operationId }) => !known.has(operationId)).map((one) => [one.operationId, one])).values()];
      const all = [...operations, ...added.map(({ operationId, kind }) => ({ id: operationId, name: kind, kind, jobs: 0, after: [] }))];
      return all.map((operation) => {
        const of = (state: JobState): number => counts.find((one) => one.operationId === operation.id && one.state === state)?.jobs ?? 0;
        const [queued, running, completed] = [of("queued"), of("running"), of("succeeded")];
        const [failed, canceled] = [of("failed"), of("cancelled")];
        const ended = completed + failed + canceled;
        return {
          ...operation,
          jobs: Math.max(operation.jobs, queued + running + ended),
          ...{ running, completed, failed, canceled },
          // The jobs of a workflow that ended long ago are removed before it is.
          status: queued + running + ended === 0 ? status : statusOf({ queued, running, completed, failed, canceled }),
        };
      });
    },
  };
}

function statusOf(count: Readonly<Record<"queued" | "running" | "completed" | "failed" | "canceled", number>>): WorkflowStatus {
  const { queued, running, completed, failed, canceled } = count;
  if (running > 0 || (queued > 0 && completed + failed + canceled > 0)) return "working";
  if (queued > 0) return "queued";
  if (failed > 0) return "failed";
  return canceled > 0 ? "canceled" : "completed";
}
