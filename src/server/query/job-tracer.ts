/**
 * The traces of work that runs as jobs: runs of resolvers, and offline queries. Whether the spans
 * of an operation are kept follows from its id, so that all of its jobs are in one trace, on
 * whatever node they run, or none is.
 */

import { createHash } from "node:crypto";
import type { Clock } from "../../context/clock.ts";
import type { SpanSampling } from "../../domain/span-sampling.ts";
import { parseTraceparent, type TraceParent } from "../../domain/traceparent.ts";
import type { SpanRecord } from "../stores/telemetry/store.ts";
import { type SpanFacts, SpanRecorder } from "./answer/spans.ts";
import type { Tracing } from "./query-context.ts";

/** The operation that a job is a part of. */
export interface TracedOperation {
  readonly id: string;
  readonly environmentId: string;
  readonly deploymentId: string;
}

/** The trace of one attempt at a job. */
export interface JobTrace {
  /** For what the attempt computes. */
  readonly tracing: Tracing;
  /** Ends the attempt, once; its spans are kept. `error`: why it failed; empty = it did not. */
  end(facts?: SpanFacts, error?: string): void;
}

/** Begins traces. */
export interface JobTracer {
  /**
   * Begins the trace of an attempt; undefined = it is not kept.
   * @param name of its first span
   * @param traceparent of the caller that asked for it; undefined = nobody did
   */
  begin(operation: TracedOperation, name: string, traceparent: string | undefined): JobTrace | undefined;
}

/** What traces are made with. */
export interface JobTracerOptions {
  /** How many operations are traced although nobody asked, at the moment. */
  readonly sampling: () => SpanSampling;
  /** Whether spans are recorded. */
  readonly isTracing: () => boolean;
  readonly record: (spans: readonly SpanRecord[]) => void;
}

/**
 * Makes a tracer.
 * @param options undefined = nothing is traced
 */
export function createJobTracer(options: JobTracerOptions | undefined, clock: Pick<Clock, "now">): JobTracer {
  if (!options) return { begin: () => undefined };
  const { sampling, isTracing, record } = options;
  return {
    begin({ id, environmentId, deploymentId }, name, traceparent) {
      if (!isTracing()) return undefined;
      const asked = parseTraceparent(traceparent ?? null);
      const parent = asked?.sampled ? asked : sampledTrace(id, sampling().rate);
      if (!parent) return undefined;
      const spans = new SpanRecorder(name, clock.now(), parent, asked !== undefined, "job");
      return {
        tracing: { parent, spans },
        end(facts = {}, error = "") {
          record(spans.finish({ queryId: id, deploymentId }, facts, error).map((span) => ({ ...span, environmentId })));
        },
      };
    },
  };
}

/** The trace of an operation if it is one of those that are kept: their share is the rate. */
function sampledTrace(id: string, rate: number): TraceParent | undefined {
  if (digestOf(id).readUInt32BE(16) / 2 ** 32 >= rate) return undefined;
  return { traceId: traceOf(id), spanId: "", sampled: true };
}

/** Id of the trace of an operation for which nobody asked for one, whether it is kept or not. */
export function traceOf(operationId: string): string {
  return digestOf(operationId).subarray(0, 16).toString("hex");
}

function digestOf(id: string): Buffer {
  return createHash("sha256").update(id).digest();
}

/** The header of a caller that asks for a trace; undefined = there is none. */
export function askedTrace(headers: Pick<Headers, "get">): string | undefined {
  const header = headers.get("traceparent");
  return header !== null && parseTraceparent(header)?.sampled ? header.trim() : undefined;
}
