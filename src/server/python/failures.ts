/**
 * Results of failed calls: messages and error codes of timeouts, crashes, refusals and exceptions.
 */

import { create } from "@bufbuild/protobuf";
import { ErrorCode, type ExceptionInfo, ExceptionInfoSchema } from "../../../gen/svc/v1/error_pb.ts";
import { crashedAt, lastOutput } from "../../python/crash.ts";
import { CHECKS_OF, FUNCTION, type ResolverCall, type ResolverResult, type RowError } from "./pool.ts";
import type { LoadedResolver, WorkerEnding } from "./worker.ts";
import type { Pending } from "./worker-slot.ts";

/** Lines of stderr in the message about a crash. */
const CRASH_LINES = 20;

/** A result in which every row failed for the same reason, which is not the rows' unless said. */
export function failedResult(
  call: ResolverCall,
  code: ErrorCode,
  message: string,
  exception?: ExceptionInfo,
  whole: NonNullable<ResolverResult["whole"]> = "unavailable",
): ResolverResult {
  const errors = Array.from({ length: call.rows }, (_, row): RowError => ({ row, code, message, ...(exception && { exception }) }));
  return { columns: {}, errors, whole, ranMs: 0 };
}

/**
 * A resolver with its location, `resolver 'pkg.f' (pkg/mod.py:12)`, a function of callers, or the
 * checks of a feature.
 */
export function named(fqn: string, loaded: LoadedResolver | undefined): string {
  if (fqn.startsWith(CHECKS_OF)) return `the ${fqn}`;
  return loaded?.file ? `${calledName(fqn)} (${loaded.file}:${loaded.line})` : calledName(fqn);
}

/** What a call runs, without its location. */
function calledName(fqn: string): string {
  return fqn.startsWith(FUNCTION) ? `function '${fqn.slice(FUNCTION.length)}'` : `resolver '${fqn}'`;
}

/** A duration for a message: `200 ms`, `2.5 s`. */
export function durationText(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}

/**
 * RESOLVER_TIMED_OUT. A call that had not `begun` waited for a worker all the time, for the reason
 * `why`.
 */
export function timedOut(
  pending: Pending,
  loaded: LoadedResolver | undefined,
  begun: boolean,
  why = "every worker was busy",
): ResolverResult {
  const resolver = named(pending.call.resolver, loaded);
  const limit = durationText(pending.limitMs);
  const message = begun ? `${resolver} did not answer within ${limit}` : `${resolver} was not begun within ${limit}: ${why}`;
  return failedResult(pending.call, ErrorCode.RESOLVER_TIMED_OUT, message, undefined, begun ? "timed_out" : "unavailable");
}

/**
 * RESOLVER_FAILED: the call was running on a worker that was killed because of another call,
 * `overrunner`.
 */
export function killedWith(call: ResolverCall, overrunner: string): ResolverResult {
  return failedResult(call, ErrorCode.RESOLVER_FAILED, `worker killed because ${overrunner} overran its deadline`);
}

/** RESOLVER_FAILED: the worker's process ended while the call was running. */
export function crashed(call: ResolverCall, loaded: LoadedResolver | undefined, ending: WorkerEnding, sourceRoot: string): ResolverResult {
  const frame = crashedAt(ending.stderr, sourceRoot);
  const said = lastOutput(ending.stderr, CRASH_LINES);
  const place = frame ? ` at ${frame.file}:${frame.line} in ${frame.function}` : "";
  const what = `the worker ${ending.how}${place} while it ran ${named(call.resolver, loaded)}`;
  const message = [what, ...said.map((line) => `  ${line}`)].join("\n");
  const exception = create(ExceptionInfoSchema, {
    kind: "WorkerCrashed",
    message: `the worker ${ending.how}`,
    stacktrace: said.join("\n"),
    file: frame?.file ?? loaded?.file ?? "",
    line: frame?.line ?? loaded?.line ?? 0,
  });
  return failedResult(call, ErrorCode.RESOLVER_FAILED, message, exception, "crashed");
}

/** An error of a RESULT frame. */
export interface RaisedError {
  readonly row: number;
  readonly kind: string;
  readonly message: string;
  readonly stack: string;
  readonly file: string;
  readonly line: number;
  /** `parse` = the message of a stream could not be read; absent = the function raised. */
  readonly stage?: "parse";
}

/**
 * RESOLVER_FAILED of a row: the resolver raised, or returned something that is not its output.
 * PARSE_FAILED when the message of a stream could not be read.
 */
export function raised(call: ResolverCall, error: RaisedError): RowError {
  const place = error.file ? ` (${error.file}:${error.line})` : "";
  const exception = create(ExceptionInfoSchema, {
    kind: error.kind,
    message: error.message,
    stacktrace: error.stack,
    file: error.file,
    line: error.line,
  });
  const what = error.message === "" ? error.kind : `${error.kind}: ${error.message}`;
  if (error.stage === "parse") return { row: error.row, code: ErrorCode.PARSE_FAILED, message: `${what}${place}`, exception };
  return { row: error.row, code: ErrorCode.RESOLVER_FAILED, message: `${calledName(call.resolver)} raised ${what}${place}`, exception };
}
