/** One run of a function for the rows of a call, in a worker of its deployment. */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import type { ComputeFunction } from "../../../gen/svc/v1/graph_pb.ts";
import { FUNCTION_TIMEOUT_MS } from "../../domain/compute-function.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { SPAN_ATTRIBUTES } from "../../domain/span-attributes.ts";
import { parseTraceparent } from "../../domain/traceparent.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import { FUNCTION } from "../python/pool.ts";
import { type JobTracer, traceOf } from "../query/job-tracer.ts";
import type { LiveDeployment } from "../query/live-deployment.ts";
import type { CallError, CallForm } from "../stores/metadata/function-calls.ts";
import type { JobErrorRecorder } from "../stores/telemetry/store.ts";
import { unlessAborted } from "../unless-aborted.ts";
import { type Arguments, ResultMismatch, writeResult } from "./arguments.ts";
import type { Turns } from "./turns.ts";

/** Most characters of an error that are kept among the errors. */
const MAX_ERROR = 2_000;

/** The services that runs need. */
export interface CallRunnerOptions {
  readonly turns: Turns;
  readonly tracer: JobTracer;
  readonly metrics: MetricRecorder;
  readonly recordError: JobErrorRecorder;
}

/** A call that is run. */
export interface RunningCall {
  readonly id: string;
  readonly branch: string;
  /** Header of the caller that asked for a trace; empty = nobody did. */
  readonly traceparent: string;
  readonly function: ComputeFunction;
  readonly form: CallForm;
  readonly arguments: Arguments;
  /** Most bytes of its result. */
  readonly maxOutputBytes: number;
}

/** What became of a call. */
export type CallRun =
  | { readonly output: Uint8Array; readonly ranMs: number }
  /** `isPassing`: another attempt may succeed, as the function was not run to its end. */
  | { readonly error: CallError; readonly ranMs: number; readonly isPassing: boolean };

/** Id of the trace of a call: the caller's, or one that follows from its id. */
export function callTrace(id: string, traceparent: string): string {
  return parseTraceparent(traceparent === "" ? null : traceparent)?.traceId ?? traceOf(id);
}

/** Milliseconds that a call of a function may take. */
export function timeoutOf({ timeout }: ComputeFunction): number {
  return timeout ? durationToMs(timeout) : FUNCTION_TIMEOUT_MS;
}

/** Runs a call when it is its turn. Rejects with NoTurn, and with the signal's reason. */
export async function runCall(options: CallRunnerOptions, live: LiveDeployment, call: RunningCall, signal: AbortSignal): Promise<CallRun> {
  const { function: of } = call;
  const giveBack = await options.turns.take(`${live.scope}/${of.name}`, of.concurrency, signal);
  try {
    return await run(options, live, call, signal);
  } finally {
    giveBack();
  }
}

async function run(options: CallRunnerOptions, live: LiveDeployment, call: RunningCall, signal: AbortSignal): Promise<CallRun> {
  const { id, form, function: of, traceparent } = call;
  const { rows, columns } = call.arguments;
  const { environmentId } = live;
  const trace = options.tracer.begin({ id, environmentId, deploymentId: live.id }, `function ${of.name}`, traceparent || undefined);
  const spans = trace?.tracing.spans;
  const began = performance.now();
  const ended = await unlessAborted(
    live.pool.call({
      ...{ resolver: `${FUNCTION}${of.name}`, rows, columns, now: [], deadlineMs: timeoutOf(of), signal },
      context: {
        ...{ queryId: id, traceId: callTrace(id, traceparent), tags: [], queryContext: {} },
        ...(spans && { traceparent: spans.traceparent(spans.root) }),
      },
      origin: { operation: id, queryName: "", correlationId: "" },
    }),
    signal,
  );
  if (!ended || signal.aborted) {
    trace?.end({}, "the call was ended");
    throw signal.reason;
  }
  const ranMs = performance.now() - began;
  const told = (error?: CallError): void => {
    trace?.end({ [SPAN_ATTRIBUTES.function]: of.name, [SPAN_ATTRIBUTES.rowsIn]: rows }, error?.message ?? "");
    recordCall(options, live, call, ranMs, error);
  };
  const [raised] = ended.errors;
  if (raised) {
    const { exception } = raised;
    const error: CallError = {
      code: raised.code,
      message: rows > 1 && ended.whole === undefined ? `row ${raised.row}: ${raised.message}` : raised.message,
      ...(exception && {
        exception: {
          ...{ kind: exception.kind, message: exception.message, stacktrace: exception.stacktrace },
          ...{ file: exception.file, line: exception.line },
        },
      }),
    };
    told(error);
    return { error, ranMs, isPassing: ended.whole === "unavailable" };
  }
  try {
    const output = writeResult(ended.columns.result ?? [], of, form);
    if (output.length > call.maxOutputBytes)
      throw new ResultMismatch(`function '${of.name}' returned ${output.length} bytes, and a result has at most ${call.maxOutputBytes}`);
    told();
    return { output, ranMs };
  } catch (error) {
    if (!(error instanceof ResultMismatch)) throw error;
    const wrong: CallError = { code: ErrorCode.RESOLVER_FAILED, message: error.message };
    told(wrong);
    return { error: wrong, ranMs, isPassing: false };
  }
}

/** Counts a call that ended, and keeps its error among the errors. */
function recordCall(
  { metrics, recordError }: CallRunnerOptions,
  { environmentId, id, tag }: LiveDeployment,
  call: RunningCall,
  ms: number,
  error: CallError | undefined,
): void {
  const { branch, function: of } = call;
  const labels = { resolver: of.name, deployment: tag || id, branch, operation: "function" } as const;
  metrics.counter("resolver.count", environmentId, labels).add();
  metrics.histogram("resolver.latency", environmentId, labels).observe(ms / 1000);
  if (!error) return;
  metrics.counter("resolver.errors", environmentId, { ...labels, code: ErrorCode[error.code] ?? "" }).add();
  recordError({
    ...{ environmentId, deploymentId: id, branch, operationId: call.id, operationKind: "function", queryName: "" },
    ...{ resolver: of.name, message: error.message.slice(0, MAX_ERROR), failedRows: call.arguments.rows },
  });
}
