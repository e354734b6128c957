/**
 * Runs of resolvers by themselves: asked for, listed, and done as jobs. A run is one row and one
 * job of the same id; its values count as observed when it was asked for or due, however often it
 * begins again.
 */

import type { Clock } from "../../context/clock.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { Protection } from "../deployments/environment-states.ts";
import { resolverNamed } from "../deployments/graph-names.ts";
import { scheduleKey } from "../deployments/live-schedules.ts";
import { namedDeployment } from "../deployments/named-deployment.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { JobHandler } from "../jobs/runner.ts";
import { planWorkflow } from "../jobs/workflows.ts";
import type { Log } from "../log.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import { createEngine } from "../query/create-engine.ts";
import type { JobTracerOptions } from "../query/job-tracer.ts";
import { QueryRefused } from "../query/refusal.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";
import type { ResolverRunFilter, ResolverRunRecord, ResolverRunRequest } from "../stores/metadata/resolver-runs.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { JobErrorRecorder } from "../stores/telemetry/store.ts";
import type { ValueSinks } from "../writes/value-sinks.ts";
import { type AskedRun, createRunHandler } from "./run-handler.ts";

/** The kind of the jobs, and of the schedules that make them. */
export const RESOLVER_RUN_JOB = "resolver-run";

/** Most runs of an environment that may wait or run. */
const MAX_OPEN = 1_000;
const MAX_KEY = 200;
const MAX_ATTEMPTS = 5;
const ATTEMPT_TIMEOUT_MS = 3_600_000;

/** The services that runs need. */
export interface ResolverRunsOptions {
  readonly metadata: Pick<MetadataStore, "environment" | "environments" | "incremental" | "livePointers" | "resolverRuns" | "schedules">;
  readonly deployments: Deployments;
  readonly protection: Protection;
  readonly online: Pick<OnlineStore, "dropped" | "flush">;
  readonly offline: () => Promise<OfflineStore>;
  readonly sinks: Pick<ValueSinks, "dropped" | "flush">;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly metrics: MetricRecorder;
  readonly log: Log;
  /** Takes what runs failed with; absent = nobody does. */
  readonly recordError?: JobErrorRecorder | undefined;
  /** Where and how often runs are traced; absent = none is. */
  readonly tracing?: JobTracerOptions | undefined;
}

/** A wish for a run, as a caller states it. */
export interface RunWish extends Omit<ResolverRunRequest, "persistOnline" | "persistOffline"> {
  /** FQN, or its last part where that is clear. */
  readonly resolver: string;
  /** Id or tag; empty = the live one. */
  readonly deploymentId: string;
  /** Undefined = yes. */
  readonly persistOnline: boolean | undefined;
  /** Undefined = yes, but on a branch, which has no history of its own. */
  readonly persistOffline: boolean | undefined;
  /** Empty = another run each time. */
  readonly idempotencyKey: string;
  /** Of a caller that asks for a trace; undefined = it does not. */
  readonly traceparent?: string | undefined;
}

/** The capability. */
export interface ResolverRuns {
  /**
   * Stores a run and its job, durably when this resolves; the run that has the idempotency key
   * already, if it is the same request. Rejects with Failure.
   */
  trigger(target: DeploymentTarget, wish: RunWish): Promise<ResolverRunRecord>;
  /** Selected runs, newest first. */
  list(filter: ResolverRunFilter): Promise<ResolverRunRecord[]>;
  /** A run of an environment. Rejects with Failure not_found. */
  find(id: string, environmentId: string): Promise<ResolverRunRecord>;
  /** The handler of RESOLVER_RUN_JOB jobs. */
  readonly handler: JobHandler;
}

/** Makes the capability. */
export function createResolverRuns(options: ResolverRunsOptions): ResolverRuns {
  const { metadata, deployments, metrics, bus, clock, log } = options;
  const engine = createEngine({ clock, log, metering: { metrics, operation: "run" } });

  /**
   * Id of the deployment that is named, or is a branch's live one; empty = the environment's live
   * one.
   */
  const deploymentOf = async ({ environment, branch }: DeploymentTarget, named: string): Promise<string> => {
    if (named === "") return branch === "" ? "" : deployments.resolve({ environment, branch, deploymentId: "" });
    return namedDeployment(options, { environment, branch }, named, "resolvers");
  };

  /** Refuses a request whose run could only fail. */
  const check = async (target: DeploymentTarget, request: ResolverRunRequest): Promise<void> => {
    const lease = await deployments.acquire(target);
    try {
      const { persistOnline: online, persistOffline: isOffline } = request;
      const into = { online, offline: isOffline };
      const run = engine.runResolver(lease.deployment, {
        ...{ resolver: request.resolver, now: clock.now(), into },
        signal: new AbortController().signal,
      });
      if ((request.lowerBound !== null || request.upperBound !== null) && run.boundsProblem !== undefined)
        throw new Failure("failed_precondition", `${request.resolver} cannot run with bounds: ${run.boundsProblem}.`, {
          hint: "Leave `--lower-bound` and `--upper-bound` out.",
        });
    } catch (error) {
      throw error instanceof QueryRefused ? new Failure("failed_precondition", `${error.message}.`) : error;
    } finally {
      lease.release();
    }
  };

  return {
    async trigger(target, { idempotencyKey, persistOnline, persistOffline, deploymentId: named, traceparent, ...wish }) {
      const { environment, branch } = target;
      if (idempotencyKey.length > MAX_KEY)
        throw new Failure(
          "invalid_argument",
          `An idempotency key has at most ${MAX_KEY} characters, and this one ${idempotencyKey.length}.`,
        );
      if (wish.lowerBound !== null && wish.upperBound !== null && wish.lowerBound >= wish.upperBound)
        throw new Failure("invalid_argument", "The lower bound has to be earlier than the upper bound.");
      const deploymentId = await deploymentOf(target, named);
      const at = { environment, branch, deploymentId };
      const graph = await deployments.graph(await deployments.resolve(at));
      const isOnBranch = deploymentId !== "" && (await deployments.find(deploymentId, environment.id)).branch !== "";
      if (isOnBranch && persistOffline)
        throw new Failure("invalid_argument", "A branch has no history of its own, so its values are not stored offline.", {
          hint: "Leave `--persist-offline` out.",
        });
      const request: ResolverRunRequest = {
        resolver: resolverNamed(graph, wish.resolver).fqn,
        deploymentId,
        persistOnline: persistOnline ?? true,
        persistOffline: persistOffline ?? !isOnBranch,
        lowerBound: wish.lowerBound,
        upperBound: wish.upperBound,
      };
      await check(at, request);
      const id = newId("job", clock.now());
      const run = await metadata.resolverRuns.create(
        { id, environmentId: environment.id, cause: "trigger", request, idempotencyKey: idempotencyKey || undefined },
        runJob(id, environment.id, request, clock.now(), traceparent),
        MAX_OPEN,
      );
      if (run === "full")
        throw new Failure("resource_exhausted", `${MAX_OPEN} runs of resolvers wait in environment '${environment.name}' already.`, {
          hint: "`svc scheduled-resolver runs list` shows them; ask again when some have ended.",
        });
      if (!Bun.deepEquals(run.request, request))
        throw new Failure(
          "already_exists",
          `The idempotency key belongs to run ${run.id} of ${run.resolver}, which was asked for otherwise.`,
          {
            hint: "Repeat the same request, or choose another key.",
          },
        );
      bus.publish("jobs", run.id);
      noteChange(bus, "runs", run.environmentId);
      return run;
    },

    list: (filter) => metadata.resolverRuns.list(filter),

    async find(id, environmentId) {
      const run = await metadata.resolverRuns.run(id);
      if (run?.environmentId === environmentId) return run;
      throw new Failure("not_found", `There is no run '${id}' of a resolver in this environment.`, {
        hint: "`svc scheduled-resolver runs list` shows what there is.",
      });
    },

    handler: createRunHandler({ ...options, engine }),
  };
}

/**
 * The job of a run that was asked for, a workflow of its own. It shares its group with those of the
 * resolver's schedule, so that one runs at a time.
 */
function runJob(
  id: string,
  environmentId: string,
  { resolver, deploymentId }: ResolverRunRequest,
  now: number,
  traceparent: string | undefined,
): NewJob {
  const job: NewJob = {
    id,
    kind: RESOLVER_RUN_JOB,
    payload: { environmentId, ...(traceparent !== undefined && { traceparent }) } satisfies AskedRun,
    scope: environmentId,
    subject: id,
    group: { name: `schedule:${RESOLVER_RUN_JOB}/${scheduleKey(environmentId, resolver)}`, slots: 1 },
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  };
  const plan = { environmentId, deploymentId, kind: "manual", subject: resolver, operations: [{ name: resolver, jobs: [job] }] } as const;
  return planWorkflow(plan, now)[0] ?? job;
}
