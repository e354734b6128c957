/** JobService: the queue of jobs, as far as the caller sees it. */

import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { JobAttemptState, JobService, type JobState, JobWaitReason } from "../../../../gen/svc/v1/job_pb.ts";
import { JOB_STATES, type JobStateName } from "../../../domain/job-states.ts";
import { allows } from "../../../domain/permissions.ts";
import { msToDuration, msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveNames, visibleEnvironments } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { Failure } from "../../failure.ts";
import type { JobViewer, JobWait, ShownJob } from "../../jobs/queue.ts";
import { type AttemptOutcome, environmentOf, type JobAttempt } from "../../stores/metadata/jobs.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { readPage } from "./page-token.ts";

const REASONS = {
  run_time: JobWaitReason.RUN_TIME,
  slot: JobWaitReason.SLOT,
  earlier_job: JobWaitReason.EARLIER_JOB,
  node: JobWaitReason.NODE,
  jobs: JobWaitReason.JOBS,
  gate: JobWaitReason.GATE,
} as const satisfies Readonly<Record<JobWait["for"], JobWaitReason>>;
const OUTCOMES = {
  running: JobAttemptState.RUNNING,
  succeeded: JobAttemptState.COMPLETED,
  failed: JobAttemptState.FAILED,
  cancelled: JobAttemptState.CANCELED,
  lost: JobAttemptState.LOST,
} as const satisfies Readonly<Record<AttemptOutcome, JobAttemptState>>;

const MAX_STATES = 10;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { environments, jobQueue, keys, telemetry } = platform;
  /** What a caller sees, and the names of its environments by id. */
  const viewer = async (caller: Caller): Promise<JobViewer & { readonly names: ReadonlyMap<string, string> }> => {
    const visible = await visibleEnvironments(environments, caller);
    const seesAll = caller.environments === undefined && allows(caller.permissions, "audit.read");
    return {
      environmentIds: seesAll ? undefined : visible.map(({ id }) => id),
      names: new Map(visible.map(({ id, name }) => [id, name])),
    };
  };

  /** The trace of a job, or of what it is a part of; empty = none is kept. */
  const traceIdOf = async ({ entry: { id, scope, subject } }: ShownJob): Promise<string> => {
    const [store, environmentId] = [await telemetry(), environmentOf(scope)];
    return (await store.traceIdOf(environmentId, id)) ?? (await store.traceIdOf(environmentId, subject)) ?? "";
  };

  const shown = (job: ShownJob, { names }: { readonly names: ReadonlyMap<string, string> }, { requestHeader }: HandlerContext) => {
    const { id, scope } = job.entry;
    const environmentId = environmentOf(scope);
    return {
      ...message(job, names),
      url: environmentId === "" ? "" : pageAddress(platform, requestHeader, environmentId, "run", { id }),
    };
  };

  router.service(JobService, {
    async listJobs({ states, kinds, environment, pageSize, pageToken, offset }, context) {
      const caller = callerOf(context);
      const looking = await viewer(caller);
      const scope = environment && (await resolveNames(environments, caller, { environment, project: "", branch: "", deployment: "" }));
      const environmentId = scope ? scope.environment.id : undefined;
      const filter = { states: shownStates(states), kinds, environmentId, offset };
      const queue = await jobQueue();
      const listed = JSON.stringify(["jobs", states, kinds, environmentId]);
      const page = await readPage(keys.objects, listed, { pageSize, pageToken, offset }, async (limit, after) => {
        const before = after === undefined ? undefined : Number(after);
        const found = await queue.list(looking, { ...filter, before, limit });
        return found.map((job) => ({ id: String(job.entry.number), job }));
      });
      return { jobs: page.items.map(({ job }) => shown(job, looking, context)), nextPageToken: page.nextPageToken };
    },

    async getJob({ id }, context) {
      const looking = await viewer(callerOf(context));
      checkNamed(id);
      const found = await (await jobQueue()).get(looking, id);
      const attemptsMade = found.attempts.map(attemptMessage);
      return { job: { ...shown(found, looking, context), attemptsMade, traceId: await traceIdOf(found) } };
    },

    async setJobPriority({ id, priority }, context) {
      const looking = await viewer(callerOf(context));
      checkNamed(id);
      return { job: shown(await (await jobQueue()).setPriority(looking, id, priority), looking, context) };
    },
  });
}

/** Throws Failure invalid_argument for a job that is not named. */
function checkNamed(id: string): void {
  if (id === "") throw new Failure("invalid_argument", "Name the job, by its number or its id.");
}

/** Throws Failure invalid_argument for states that there are not, and for too many. */
function shownStates(states: readonly JobState[]): JobStateName[] {
  if (states.length > MAX_STATES) throw new Failure("invalid_argument", `At most ${MAX_STATES} states can be named.`);
  const named = (Object.keys(JOB_STATES) as JobStateName[]).filter((state) => states.includes(JOB_STATES[state]));
  if (named.length < new Set(states).size) throw new Failure("invalid_argument", "There is no such state of jobs.");
  return named;
}

function message({ entry, state, wait }: ShownJob, names: ReadonlyMap<string, string>) {
  const { id, kind, subject, group, priority, attempts, maxAttempts, node, progress, error, name, operationId, workflowId } = entry;
  const environmentId = environmentOf(entry.scope);
  const hasEnded = state === "completed" || state === "failed" || state === "canceled";
  return {
    ...{ id, kind, subject, environmentId, priority, attempts, maxAttempts, node, progress, error, name, operationId, workflowId },
    ...(entry.index !== undefined && { index: entry.index }),
    gate: entry.gate ?? 0,
    number: BigInt(entry.number),
    state: JOB_STATES[state],
    ...(wait && { waitsFor: waitMessage(wait) }),
    environmentName: names.get(environmentId) ?? "",
    resourceGroup: group?.name ?? "",
    slots: group?.slots ?? 0,
    attemptTimeout: msToDuration(entry.attemptTimeoutMs),
    cancelRequested: entry.isCancelRequested,
    createdAt: msToTimestamp(entry.createdAt),
    ...(entry.runAt > 0 && { runAt: msToTimestamp(entry.runAt) }),
    ...(entry.deadlineAt !== undefined && { deadlineAt: msToTimestamp(entry.deadlineAt) }),
    ...(hasEnded && { endedAt: msToTimestamp(entry.updatedAt) }),
  };
}

function waitMessage(wait: JobWait) {
  return {
    reason: REASONS[wait.for],
    ...("until" in wait && { until: msToTimestamp(wait.until) }),
    ...("behind" in wait && { behind: wait.behind.map(BigInt) }),
  };
}

function attemptMessage({ number, outcome, node, startedAt, endedAt, error }: JobAttempt) {
  return {
    ...{ number, node, error },
    state: OUTCOMES[outcome],
    startedAt: msToTimestamp(startedAt),
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
  };
}
