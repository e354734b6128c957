/** The work of a kept call: it is run in its deployment, again when its node died meanwhile. */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { errorText } from "../../domain/error-text.ts";
import { Failure } from "../failure.ts";
import { noteChange } from "../jobs/changes.ts";
import { JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { CallError, FunctionCallRecord } from "../stores/metadata/function-calls.ts";
import { readArguments } from "./arguments.ts";
import type { FunctionsOptions } from "./functions.ts";
import { type CallRun, type CallRunnerOptions, runCall } from "./run-call.ts";

/** Most bytes of a result that is kept. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;
const MAX_ERROR = 4_000;
/** Longest pause between two attempts. */
const MAX_PAUSE_SECONDS = 15;

/** Makes the handler. */
export function createCallHandler(
  options: Pick<FunctionsOptions, "bus" | "deployments" | "metadata"> & { readonly runner: CallRunnerOptions },
): JobHandler {
  const { bus, deployments, metadata, runner } = options;
  const { functionCalls: calls } = metadata;

  /** Runs a call. Rejects with JobFailed for what another attempt would not change. */
  const attempt = async (call: FunctionCallRecord, signal: AbortSignal): Promise<CallRun> => {
    const [environment, bytes] = await Promise.all([metadata.environment(call.environmentId), calls.input(call.id)]);
    if (!environment || !bytes) throw new JobFailed("its environment was deleted");
    const { branch, deploymentId, form, id, name, traceparent } = call;
    try {
      const lease = await deployments.acquire({ environment, branch, deploymentId });
      try {
        const of = lease.deployment.graph.computeFunctions.find((one) => one.name === name);
        if (!of) throw new JobFailed(`deployment ${deploymentId} has no function '${name}'`);
        const given = readArguments({ form, bytes }, of);
        const running = { id, branch, traceparent, function: of, form, arguments: given, maxOutputBytes: MAX_KEPT_BYTES };
        return await runCall(runner, lease.deployment, running, signal);
      } finally {
        lease.release();
      }
    } catch (error) {
      if (error instanceof Failure && error.kind !== "unavailable") throw new JobFailed(error.message);
      throw error;
    }
  };

  return {
    isQuiet: true,
    isLong: true,
    backoffMs: (attempts) => Math.min(attempts, MAX_PAUSE_SECONDS) * 1_000,

    async run(job, { signal }) {
      const call = await calls.begin(job.subject, job.fence, job.attempts);
      if (!call) return;
      noteChange(bus, "runs", call.environmentId);
      const halted = deployments.halted(call.environmentId);
      const run = await attempt(call, AbortSignal.any([signal, halted])).catch((error: unknown) => {
        signal.throwIfAborted();
        throw halted.aborted ? new JobFailed(String(halted.reason)) : error;
      });
      if ("output" in run) await calls.end(call.id, job.fence, { state: "succeeded", output: run.output });
      else if (run.isPassing) throw new Error(run.error.message);
      else {
        await calls.end(call.id, job.fence, { state: "failed", error: run.error });
        throw new JobFailed(run.error.message);
      }
      noteChange(bus, "runs", call.environmentId);
    },

    async giveUp(job, reason) {
      const error: CallError = { code: ErrorCode.RESOLVER_FAILED, message: errorText(reason).slice(0, MAX_ERROR) };
      await calls.end(job.subject, job.fence, { state: "failed", error });
      noteChange(bus, "runs", job.scope);
    },
  };
}
