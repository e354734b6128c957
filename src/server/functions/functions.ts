/**
 * Functions of projects that callers run with arguments of their own: their versions, calls that
 * are answered, and calls that are kept. A kept call is a row and a job; its job goes on elsewhere
 * when its node dies.
 */

import { fromBinary } from "@bufbuild/protobuf";
import { type ComputeFunction, ComputeFunctionSchema } from "../../../gen/svc/v1/graph_pb.ts";
import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { didYouMean } from "../../domain/closest.ts";
import { isInEnvironment } from "../../domain/in-environment.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { suspended } from "../deployments/environment-states.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { JobHandler } from "../jobs/runner.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import { createJobTracer, type JobTracerOptions } from "../query/job-tracer.ts";
import type { FunctionCallRecord } from "../stores/metadata/function-calls.ts";
import type { PlacedFunction } from "../stores/metadata/functions.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { JobErrorRecorder } from "../stores/telemetry/store.ts";
import { readArguments, type SentTable } from "./arguments.ts";
import { createCallHandler } from "./call-handler.ts";
import { type CallRun, type CallRunnerOptions, callTrace, runCall } from "./run-call.ts";
import { NoTurn, Turns } from "./turns.ts";

/** The kind of the jobs. */
export const FUNCTION_CALL_JOB = "function_call";

/** Most kept calls of an environment that may wait or run, and most bytes of their arguments. */
const LIMITS = { calls: 20_000, bytes: 512 * 1024 * 1024 } as const;
/** Kept calls of a function that run at once over all nodes, when it says nothing. */
const AT_ONCE = 16;
/** Attempts at a call whose node died, or whose workers were busy for all of its time. */
const MAX_ATTEMPTS = 20;
/** A call may take an hour, and may wait as long for its turn. */
const ATTEMPT_TIMEOUT_MS = 2 * 3_600_000;
/** Most bytes of a result that is answered at once. */
const MAX_RESULT_BYTES = 16 * 1024 * 1024;
const HOUR_MS = 3_600_000;
const MOST_CALLS = 1_000;
const USUAL_CALLS = 10;

/** The services that the capability needs. */
export interface FunctionsOptions {
  readonly metadata: Pick<MetadataStore, "environment" | "functionCalls" | "functions" | "jobs">;
  readonly deployments: Pick<Deployments, "acquire" | "find" | "graph" | "halted" | "resolve">;
  readonly metrics: MetricRecorder;
  readonly recordError: JobErrorRecorder;
  /** Undefined = calls are not traced. */
  readonly tracing?: JobTracerOptions | undefined;
  readonly bus: Bus;
  readonly clock: Clock;
}

/** A version, decoded. */
export interface FoundFunction extends PlacedFunction {
  readonly function: ComputeFunction;
  /** Whether the live deployment of its scope has it. */
  readonly isLive: boolean;
}

/** What a caller asks for. */
export interface CallWish {
  readonly name: string;
  /** 0 = that of the live deployment. */
  readonly version: number;
  readonly arguments: SentTable;
  /** Header of the caller; empty = it asks for no trace. */
  readonly traceparent: string;
}

/** What an answered call came to. */
export interface CallAnswer {
  readonly run: CallRun;
  readonly version: number;
  readonly deploymentId: string;
  readonly traceId: string;
  readonly resultType: DataType | undefined;
}

/** The capability. */
export interface Functions {
  /** Versions that a scope has or had, newest first, after the one with the id `before`. */
  list(target: DeploymentTarget, name: string, limit: number, before: string | undefined): Promise<readonly FoundFunction[]>;
  /**
   * The version of an id, or of a name and a number (0 = the live deployment's). Rejects with
   * Failure not_found.
   */
  find(target: DeploymentTarget, wanted: { readonly id: string; readonly name: string; readonly version: number }): Promise<FoundFunction>;
  /** Runs a function and waits for it. Rejects with Failure. */
  call(target: DeploymentTarget, wish: CallWish, signal: AbortSignal): Promise<CallAnswer>;
  /** Keeps a call, durably when this resolves. Rejects with Failure. */
  submit(target: DeploymentTarget, wish: CallWish, createdBy: string): Promise<FunctionCallRecord>;
  /** A kept call of an environment. Rejects with Failure not_found. */
  kept(id: string, environmentId: string): Promise<FunctionCallRecord>;
  /** Its result; undefined = it has none, or none any more. */
  output(call: FunctionCallRecord): Promise<Uint8Array | undefined>;
  /** The type of a value of its result; undefined when its version is not known any more. */
  resultType(call: FunctionCallRecord): Promise<DataType | undefined>;
  /**
   * Ends a kept call. Rejects with Failure not_found, and failed_precondition when it has ended.
   */
  cancel(id: string, environmentId: string): Promise<FunctionCallRecord>;
  /** Kept calls, newest first; `limit` is brought into the range that is answered. */
  recent(environmentId: string, name: string, limit: number): Promise<FunctionCallRecord[]>;
  /** How many calls were kept in the past hour. */
  countOfHour(environmentId: string, name: string): Promise<number>;
  /** The handler of FUNCTION_CALL_JOB jobs. */
  readonly handler: JobHandler;
}

/** Makes the capability. */
export function createFunctions(options: FunctionsOptions): Functions {
  const { metadata, deployments, bus, clock } = options;
  const { functionCalls: calls, functions } = metadata;
  const runner: CallRunnerOptions = { ...options, turns: new Turns(), tracer: createJobTracer(options.tracing, clock) };

  const liveOf = (target: DeploymentTarget): Promise<string | undefined> =>
    deployments.resolve(target).catch((error: unknown) => {
      if (error instanceof Failure) return undefined;
      throw error;
    });
  const liveVersions = async (deploymentId: string | undefined): Promise<ReadonlySet<string>> =>
    new Set(deploymentId === undefined ? [] : (await functions.ofDeployment(deploymentId)).map(({ id }) => id));
  const decoded = (found: PlacedFunction, live: ReadonlySet<string>): FoundFunction => ({
    ...found,
    function: fromBinary(ComputeFunctionSchema, found.definition),
    isLive: live.has(found.id),
  });

  /** The version of a deployment. Rejects with Failure not_found. */
  const ofDeployment = async (deploymentId: string, { environment, branch }: DeploymentTarget, name: string): Promise<FoundFunction> => {
    const known = await functions.ofDeployment(deploymentId);
    const found = known.find((one) => one.name === name);
    if (found) return decoded(found, new Set([found.id]));
    const [before] = await functions.list({ environmentId: environment.id, branch, name, limit: 1 });
    const near = didYouMean(
      name,
      known.map((one) => one.name),
    );
    throw new Failure("not_found", `Deployment ${deploymentId} has no function '${name.slice(0, 200)}'${near ? `; ${near}` : "."}`, {
      hint: before
        ? `An earlier one had it: give \`--version ${before.version}\` to run that.`
        : "`svc compute list` shows them; a function under `@function` is there after `svc apply`.",
    });
  };

  const find: Functions["find"] = async (target, { id, name, version }) => {
    const { environment, branch } = target;
    if (id === "" && version === 0) return ofDeployment(await deployments.resolve(target), target, name);
    const found =
      id === "" ? await functions.byVersion(environment.id, branch, name, version) : await functions.byId(id, environment.id, branch);
    if (found) return decoded(found, await liveVersions(await liveOf(target)));
    const what =
      id === "" ? `version ${version} of function '${name.slice(0, 200)}'` : `version of a function with the id '${id.slice(0, 200)}'`;
    throw new Failure("not_found", `There is no ${what} here.`, { hint: "`svc compute list` shows what there is." });
  };

  /** The version to run and the deployment to run it in. Rejects with Failure. */
  const runnable = async (
    target: DeploymentTarget,
    wish: CallWish,
  ): Promise<{ readonly of: FoundFunction; readonly deploymentId: string }> => {
    const { environment } = target;
    if (environment.suspendedAt !== undefined) throw suspended(environment);
    if (wish.version < 0) throw new Failure("invalid_argument", `Versions are numbered from 1; there is no version ${wish.version}.`);
    const of = checked(await find(target, { id: "", name: wish.name, version: wish.version }), target);
    const deploymentId = of.isLive ? await deployments.resolve(target) : of.deploymentId;
    if (target.deploymentId !== "" && deploymentId !== target.deploymentId)
      throw new Failure("not_found", `Deployment ${target.deploymentId} does not have version ${wish.version} of '${wish.name}'.`, {
        hint: "Leave the deployment or the version out.",
      });
    if (deploymentId === "")
      throw new Failure("failed_precondition", `No deployment is left that has version ${wish.version} of '${wish.name}'.`, {
        hint: "`svc compute list` shows the versions; leave --version out to run the live one.",
      });
    return { of, deploymentId };
  };

  return {
    async list(target, name, limit, before) {
      const { environment, branch } = target;
      const live = await liveVersions(await liveOf(target));
      const found = await functions.list({ environmentId: environment.id, branch, name: name || undefined, before, limit });
      return found.map((one) => decoded(one, live));
    },

    find,

    async call(target, wish, signal) {
      const { of, deploymentId } = await runnable(target, wish);
      const given = readArguments(wish.arguments, of.function);
      const id = newId("fnc", clock.now());
      const { branch } = await deployments.find(deploymentId, target.environment.id);
      const lease = await deployments.acquire({ ...target, branch, deploymentId });
      try {
        const ended = AbortSignal.any([signal, deployments.halted(target.environment.id)]);
        const call = {
          ...{ id, branch, traceparent: wish.traceparent, function: of.function, form: wish.arguments.form, arguments: given },
          maxOutputBytes: MAX_RESULT_BYTES,
        };
        const run = await runCall(runner, lease.deployment, call, ended);
        if ("error" in run && run.isPassing)
          throw new Failure("unavailable", `'${of.name}' was not run: ${run.error.message}.`, { hint: "Ask again in a moment." });
        return { run, version: of.version, deploymentId, traceId: callTrace(id, wish.traceparent), resultType: of.function.result };
      } catch (error) {
        if (!(error instanceof NoTurn)) throw error;
        const { concurrency } = of.function;
        throw new Failure("resource_exhausted", `'${of.name}' runs ${concurrency} calls at once, and ${error.message}.`, {
          hint: "Ask again in a moment, keep the call (`submit` of the client), or raise `concurrency=`.",
        });
      } finally {
        lease.release();
      }
    },

    async submit(target, wish, createdBy) {
      const { of, deploymentId } = await runnable(target, wish);
      const { rows } = readArguments(wish.arguments, of.function);
      const { environment } = target;
      const { branch } = await deployments.find(deploymentId, environment.id);
      const id = newId("fnc", clock.now());
      const call = {
        ...{ id, environmentId: environment.id, branch, deploymentId, name: of.name, version: of.version, rows, createdBy },
        ...{ traceId: callTrace(id, wish.traceparent), traceparent: wish.traceparent, form: wish.arguments.form },
      };
      if ((await calls.submit(call, wish.arguments.bytes, callJob(call, of.function), LIMITS)) === "full")
        throw new Failure("resource_exhausted", `Too many calls of functions wait in environment '${environment.name}'.`, {
          hint: "`svc compute calls recent` shows them; ask again when some have ended.",
        });
      bus.publish("jobs");
      noteChange(bus, "runs", environment.id);
      return kept(id, environment.id);
    },

    kept,
    output: ({ id }) => calls.output(id),
    async resultType({ branch, environmentId, name, version }) {
      const found = await functions.byVersion(environmentId, branch, name, version);
      return found && decoded(found, new Set()).function.result;
    },

    async cancel(id, environmentId) {
      const { state } = await kept(id, environmentId);
      if (!(await calls.cancel(id)))
        throw new Failure("failed_precondition", `Call ${id} has ended: it is ${state}.`, { hint: "Submit another one." });
      await metadata.jobs.cancel(jobIdOf(id));
      bus.publish("jobs", jobIdOf(id));
      noteChange(bus, "runs", environmentId);
      return kept(id, environmentId);
    },

    recent: (environmentId, name, limit) =>
      calls.list(environmentId, name || undefined, Math.min(Math.max(limit === 0 ? USUAL_CALLS : limit, 1), MOST_CALLS)),
    countOfHour: (environmentId, name) => calls.count(environmentId, name || undefined, clock.now() - HOUR_MS),
    handler: createCallHandler({ ...options, runner }),
  };

  async function kept(id: string, environmentId: string): Promise<FunctionCallRecord> {
    const call = await calls.call(id);
    if (call?.environmentId === environmentId) return call;
    throw new Failure("not_found", `There is no call '${id.slice(0, 200)}' in this environment.`, {
      hint: "`svc compute calls recent` shows what there is.",
    });
  }
}

/** Throws Failure for a function that its environment does not have. */
function checked(of: FoundFunction, { environment }: DeploymentTarget): FoundFunction {
  if (isInEnvironment(of.function.environments, environment.name)) return of;
  throw new Failure(
    "failed_precondition",
    `'${of.name}' exists in ${of.function.environments.join(", ")} only, not in '${environment.name}'.`,
    {
      hint: "Its `environment=` says where it exists.",
    },
  );
}

/** The id of a call's job. */
function jobIdOf(id: string): string {
  return id.replace(/^fnc_/, "job_");
}

function callJob(
  { id, environmentId, branch, name }: Pick<FunctionCallRecord, "branch" | "environmentId" | "id" | "name">,
  of: ComputeFunction,
): NewJob {
  return {
    id: jobIdOf(id),
    kind: FUNCTION_CALL_JOB,
    payload: {},
    scope: environmentId,
    subject: id,
    name,
    group: { name: `${FUNCTION_CALL_JOB}/${environmentId}/${branch}/${name}`, slots: of.concurrency || AT_ONCE },
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  };
}
