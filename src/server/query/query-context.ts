/** The context of a query: everything beside its plan and its values that its run depends on. */

import { type CarriedHeaders, formatTraceparent, type TraceParent } from "../../domain/traceparent.ts";
import type { Log } from "../log.ts";
import type { CallOrigin } from "../python/pool.ts";
import type { ComputedRecorder } from "./answer/computed.ts";
import { QueryObserver } from "./answer/observer.ts";
import type { SpanRecorder } from "./answer/spans.ts";
import { StageRecorder } from "./answer/stages.ts";
import type { DeploymentMeter } from "./deployment-meter.ts";
import type { LiveDeployment } from "./live-deployment.ts";
import type { QueryRequest } from "./request/request.ts";
import { RunCaches } from "./run/caches.ts";
import { QueryTime } from "./run/query-time.ts";
import type { RunContext } from "./run/run.ts";
import { Trace } from "./run/trace.ts";

const NOTHING_CARRIED: CarriedHeaders = {};

/** The place of a query in a trace, and what else its steps are recorded for. */
export interface Tracing {
  /** The caller's span. */
  readonly parent: TraceParent | undefined;
  /** Set when the query's own spans are kept. */
  readonly spans: SpanRecorder | undefined;
  /** Set when others are told of what the query computes. */
  readonly computed?: ComputedRecorder | undefined;
}

/** Constructor arguments of a query's context. */
export interface ContextParts extends Pick<RunContext, "deployment" | "tags" | "log" | "signal" | "compile" | "meter"> {
  readonly request: QueryRequest;
  /** Time at which the request was received, epoch milliseconds. */
  readonly receivedAt: number;
  readonly tracing: Tracing | undefined;
  readonly since?: string | undefined;
  /** Id of the offline query or run that it is a part of; default: none. */
  readonly operation?: string | undefined;
  /** What is kept until the query ends; default: nothing yet. */
  readonly caches?: RunCaches;
}

/** The context of one query. Facts that few queries read are made on first use. */
export class QueryContext implements RunContext {
  readonly deployment: LiveDeployment;
  readonly tags: readonly string[];
  readonly log: Log;
  readonly signal: AbortSignal | undefined;
  readonly compile: RunContext["compile"];
  readonly queryId: string;
  readonly now: QueryTime;
  readonly since: string | undefined;
  readonly queryContext: QueryRequest["queryContext"];
  readonly trace: Trace | undefined;
  readonly observer: QueryObserver | undefined;
  readonly meter: DeploymentMeter | undefined;
  readonly caches: RunCaches;
  readonly #request: QueryRequest;
  readonly #operation: string;
  readonly #tracing: Tracing | undefined;

  constructor({
    deployment,
    request,
    tags,
    receivedAt,
    log,
    signal,
    compile,
    tracing,
    since,
    meter,
    operation = "",
    caches,
  }: ContextParts) {
    this.caches = caches ?? new RunCaches();
    this.deployment = deployment;
    this.tags = tags;
    this.log = log;
    this.signal = signal;
    this.compile = compile;
    this.meter = meter;
    this.queryId = Bun.randomUUIDv7("hex", receivedAt);
    this.now = request.now === undefined ? new QueryTime(BigInt(Math.round(receivedAt * 1000)), receivedAt) : new QueryTime(request.now);
    this.since = since;
    this.queryContext = request.queryContext;
    this.trace = request.explain ? new Trace() : undefined;
    this.#request = request;
    this.#operation = operation;
    this.#tracing = tracing;
    this.observer =
      tracing?.spans || tracing?.computed || request.storePlanStages
        ? new QueryObserver(tracing?.spans, request.storePlanStages ? new StageRecorder() : undefined, tracing?.computed)
        : undefined;
  }

  /**
   * The context of a query ahead of this one, for what this one has to know first: it has the same
   * time and shares what is kept, and nothing of it is recorded.
   */
  ahead(): QueryContext {
    const request: QueryRequest = { ...this.#request, now: this.now.micros, explain: false, storePlanStages: false };
    const { caches, compile, deployment, log, now, signal, since, tags } = this;
    const parts = { caches, compile, deployment, log, request, signal, since, tags, operation: this.#operation };
    return new QueryContext({ ...parts, receivedAt: now.ms, meter: undefined, tracing: undefined });
  }

  get origin(): CallOrigin {
    const { correlationId, queryName } = this.#request;
    return { operation: this.#operation, queryName, correlationId };
  }

  get traceId(): string {
    return this.#tracing?.spans?.traceId ?? this.#tracing?.parent?.traceId ?? this.queryId.replaceAll("-", "");
  }

  get carried(): CarriedHeaders {
    return this.#tracing?.parent?.carried ?? NOTHING_CARRIED;
  }

  get traceparent(): string {
    return this.#tracing?.parent ? formatTraceparent(this.#tracing.parent) : "";
  }
}
