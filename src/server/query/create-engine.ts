/** The engine: prepares, runs and answers online queries. */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { SPAN_ATTRIBUTES as ATTRIBUTE } from "../../domain/span-attributes.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { Log } from "../log.ts";
import { type Answer, answerFailures, answerFields, rootKeyOf } from "./answer/answer.ts";
import { explainRun } from "./answer/explain.ts";
import { type DescribedPlan, describePlan } from "./answer/plan-description.ts";
import { toldTrace } from "./answer/spans.ts";
import { type BulkAnswer, BulkRun } from "./bulk.ts";
import { type ClassRows, type ClassRowsRequest, createClassRows } from "./class-rows.ts";
import { DeploymentMeter, type Metering } from "./deployment-meter.ts";
import { buildGraphIndex } from "./graph/graph-index.ts";
import type { NamespaceInfo } from "./graph/index-types.ts";
import type { LiveDeployment } from "./live-deployment.ts";
import { FIRST_ROW } from "./plan/ids.ts";
import { QueryContext, type Tracing } from "./query-context.ts";
import { QueryRefused, refusal } from "./refusal.ts";
import { type Prepared, Preparer } from "./request/prepare.ts";
import type { BulkRequest, QueryRequest } from "./request/request.ts";
import { createResolverRun, type ResolverRun, type ResolverRunOptions } from "./resolver-run.ts";
import { type Awaitable, andThen } from "./run/awaitable.ts";
import { Execution } from "./run/executor.ts";
import { type StoredInto, storeFresh } from "./run/store-access.ts";
import { createSpineRun, rootsOf, type SpineOutputs, type SpineRequest, type SpineRun } from "./spine/spine-run.ts";

/** Latest instant that a datetime can write: the end of the year 9999. */
const LAST_MICROS = 253_402_300_799_999_999n;
const FIRST_MICROS = -62_135_596_800_000_000n;

export type { Tracing } from "./query-context.ts";

/** The clock and the log of an engine. */
export interface EngineOptions {
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** Where calls and answers are recorded, and what for; absent = they are not. */
  readonly metering?: Metering;
}

/** The engine. Failures while a query runs are in its answer. */
export interface OnlineEngine {
  /**
   * Runs an online query. Throws QueryRefused when it is wrong as a whole. Answers at once when
   * nothing has to be waited for.
   * @param now epoch milliseconds at which the request was received; default the clock's
   */
  answer(deployment: LiveDeployment, request: QueryRequest, now?: number, signal?: AbortSignal, tracing?: Tracing): Awaitable<Answer>;
  /**
   * Runs a bulk query, in batches. Rejects with QueryRefused when it is wrong whatever its rows.
   */
  answerBulk(deployment: LiveDeployment, bulk: BulkRequest, now?: number, signal?: AbortSignal, tracing?: Tracing): Promise<BulkAnswer>;
  /** Prepares a run of a resolver by itself. Throws QueryRefused when it cannot run so. */
  runResolver(deployment: LiveDeployment, options: ResolverRunOptions): ResolverRun;
  /** Prepares the reading of a class's rows. Throws QueryRefused when nothing gives them. */
  classRows(deployment: LiveDeployment, request: ClassRowsRequest): ClassRows;
  /** Prepares a run of the rows of a spine. Throws QueryRefused with everything that is wrong. */
  runSpine(deployment: LiveDeployment, request: SpineRequest): SpineRun;
  /** The classes that the outputs of a run are of. Throws QueryRefused. */
  rootsOf(deployment: LiveDeployment, request: SpineOutputs): readonly NamespaceInfo[];
  /** The classes of a deployment, by name. */
  classesOf(deployment: LiveDeployment): ReadonlyMap<string, NamespaceInfo>;
  /** The plan of a query, which is not run. Throws QueryRefused when it is wrong as a whole. */
  plan(deployment: LiveDeployment, request: QueryRequest): DescribedPlan;
  /** Builds the tables of a deployment ahead of its first query. */
  load(deployment: LiveDeployment): void;
}

/**
 * Makes an engine. Its tables and plans belong to the `LiveDeployment` object that is handed in:
 * keep one object per deployment.
 */
export function createEngine(options: EngineOptions): OnlineEngine {
  return new Engine(options);
}

class Engine implements OnlineEngine {
  readonly #preparers = new WeakMap<LiveDeployment, Preparer>();
  readonly #meters = new WeakMap<LiveDeployment, DeploymentMeter>();

  constructor(readonly options: EngineOptions) {}

  load(deployment: LiveDeployment): void {
    this.#preparer(deployment);
  }

  plan(deployment: LiveDeployment, request: QueryRequest): DescribedPlan {
    return describePlan(this.#preparer(deployment).prepare(request).plan);
  }

  runResolver(deployment: LiveDeployment, options: ResolverRunOptions): ResolverRun {
    return createResolverRun({
      ...options,
      deployment,
      preparer: this.#preparer(deployment),
      log: this.options.log,
      meter: this.#meter(deployment),
      keep,
    });
  }

  classRows(deployment: LiveDeployment, request: ClassRowsRequest): ClassRows {
    return createClassRows(request, { deployment, index: this.#preparer(deployment).index, log: this.options.log });
  }

  runSpine(deployment: LiveDeployment, request: SpineRequest): SpineRun {
    return createSpineRun(request, {
      deployment,
      index: this.#preparer(deployment).index,
      log: this.options.log,
      meter: this.#meter(deployment),
      keep,
    });
  }

  classesOf(deployment: LiveDeployment): ReadonlyMap<string, NamespaceInfo> {
    return this.#preparer(deployment).index.namespaces;
  }

  rootsOf(deployment: LiveDeployment, request: SpineOutputs): readonly NamespaceInfo[] {
    return rootsOf(this.#preparer(deployment).index, request);
  }

  async answerBulk(
    deployment: LiveDeployment,
    bulk: BulkRequest,
    now = this.options.clock.now(),
    signal?: AbortSignal,
    tracing?: Tracing,
  ): Promise<BulkAnswer> {
    checkNow(bulk.request.now);
    bulk.now?.forEach(checkNow);
    const preparer = this.#preparer(deployment);
    const { log } = this.options;
    const { compile } = preparer.index;
    const meter = this.#meter(deployment);
    const run = new BulkRun(
      bulk,
      preparer,
      (tags) => new QueryContext({ deployment, request: bulk.request, tags, receivedAt: now, log, signal, compile, tracing, meter }),
      (execution, context) => keep(execution, context, now),
      tracing?.spans,
    );
    return run.answer();
  }

  answer(
    deployment: LiveDeployment,
    request: QueryRequest,
    now = this.options.clock.now(),
    signal?: AbortSignal,
    tracing?: Tracing,
  ): Awaitable<Answer> {
    const started = performance.now();
    checkNow(request.now);
    const preparer = this.#preparer(deployment);
    const planning = tracing?.spans?.open("plan", "plan");
    const prepared = preparer.prepare(request);
    tracing?.spans?.end(planning, { [ATTRIBUTE.planRemembered]: !prepared.planned, [ATTRIBUTE.queryHash]: prepared.plan.hash });
    const { log } = this.options;
    const { compile } = preparer.index;
    const meter = this.#meter(deployment);
    const context = new QueryContext({ deployment, request, tags: prepared.tags, receivedAt: now, log, signal, compile, tracing, meter });
    const execution = new Execution(prepared.plan, 1, context);
    return andThen(execution.execute(columnsOf(prepared.values)), () => conclude(execution, prepared, context, now, started));
  }

  #meter(deployment: LiveDeployment): DeploymentMeter | undefined {
    const { metering } = this.options;
    if (!metering?.metrics.isOn) return undefined;
    let meter = this.#meters.get(deployment);
    if (!meter) {
      meter = new DeploymentMeter(metering, deployment);
      this.#meters.set(deployment, meter);
    }
    return meter;
  }

  #preparer(deployment: LiveDeployment): Preparer {
    let preparer = this.#preparers.get(deployment);
    if (!preparer) {
      const { graph, environmentName, featureIds, sources } = deployment;
      preparer = new Preparer(buildGraphIndex(graph, { environmentName, featureIds, sources: sources.list() }));
      this.#preparers.set(deployment, preparer);
    }
    return preparer;
  }
}

function checkNow(now: bigint | undefined): void {
  if (now !== undefined && (now > LAST_MICROS || now < FIRST_MICROS))
    throw new QueryRefused([refusal(ErrorCode.PARSE_FAILED, "now must lie between the years 1 and 9999")]);
}

function columnsOf(values: readonly FeatureValue[]): FeatureValue[][] {
  const columns = new Array<FeatureValue[]>(values.length);
  for (let i = 0; i < values.length; i++) columns[i] = [values[i] as FeatureValue];
  return columns;
}

/** Stores fresh values and assembles the answer. */
function conclude(execution: Execution, prepared: Prepared, context: QueryContext, receivedAt: number, started: number): Awaitable<Answer> {
  return andThen(keep(execution, context, receivedAt), () => assemble(execution, prepared, context, started));
}

/** Stores the fresh values of an execution. */
function keep(execution: Execution, context: QueryContext, receivedAt: number, into?: StoredInto): Awaitable<void> {
  if (execution.covered.length > 0 && context.log.enabled("debug"))
    for (const failure of execution.covered)
      context.log.debug("a default stands in for a failure", { queryId: context.queryId, feature: failure.path, error: failure.message });
  return storeFresh(execution, receivedAt, into);
}

function assemble(execution: Execution, prepared: Prepared, context: QueryContext, started: number): Answer {
  const fields = answerFields(execution, FIRST_ROW);
  context.meter?.answered(execution);
  const durationMs = performance.now() - started;
  return {
    queryId: context.queryId,
    deployment: context.deployment,
    queryHash: prepared.plan.hash,
    nowMicros: context.now.micros,
    durationMs,
    shared: prepared.plan.answerParts,
    fields,
    failures: answerFailures(fields),
    inferred: prepared.inferred,
    plan: prepared.plan,
    named: prepared.named,
    rootKey: rootKeyOf(execution),
    traceId: toldTrace(context.observer?.spans),
    stages: context.observer?.stages?.stages ?? [],
    explanation: context.trace ? explainRun(execution, { queryId: context.queryId, durationMs, planned: prepared.planned }) : "",
  };
}
