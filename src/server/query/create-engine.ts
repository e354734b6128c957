/** The engine: prepares, runs and answers online queries. */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import type { QueryBulkRequest, QueryBulkResponse, QueryRequest, QueryResponse } from "../../../gen/svc/v1/query_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { Log } from "../log.ts";
import { type Answer, answerFailures, answerFields, answerToProto } from "./answer.ts";
import { type BulkAnswer, BulkRun, bulkAnswerToProto } from "./bulk.ts";
import type { LiveDeployment, QueryEngine } from "./engine.ts";
import { Execution } from "./executor.ts";
import { explainRun } from "./explain.ts";
import { buildGraphIndex } from "./graph-index.ts";
import { type Prepared, Preparer } from "./prepare.ts";
import { QueryRefused, refusal } from "./refusal.ts";
import { type Ask, askFromProto, type BulkAsk, bulkAskFromProto } from "./request.ts";
import type { RunContext } from "./run-context.ts";
import { storeFresh } from "./store-access.ts";
import { Trace } from "./trace.ts";

/** Latest instant that a datetime can write: the end of the year 9999. */
const LAST_MICROS = 253_402_300_799_999_999n;
const FIRST_MICROS = -62_135_596_800_000_000n;

/** What the engine is made with. */
export interface EngineOptions {
  readonly clock: Clock;
  readonly log: Log;
}

/** The engine with the door that the JSON query API uses. */
export interface OnlineEngine extends QueryEngine {
  /**
   * Runs an online query. Throws QueryRefused when it is wrong as a whole. Answers at once when nothing has to be waited for.
   * @param now epoch milliseconds at arrival; default the clock's
   */
  answer(deployment: LiveDeployment, ask: Ask, now?: number, signal?: AbortSignal): Answer | Promise<Answer>;
  /** Runs a bulk query, in batches. Rejects with QueryRefused when it is wrong whatever its rows. */
  answerBulk(deployment: LiveDeployment, bulk: BulkAsk, now?: number, signal?: AbortSignal): Promise<BulkAnswer>;
  /** Builds the tables of a deployment ahead of its first query. */
  load(deployment: LiveDeployment): void;
}

/** Makes an engine. Its tables and plans belong to the `LiveDeployment` object that is handed in: keep one object per deployment. */
export function createEngine(options: EngineOptions): OnlineEngine {
  return new Engine(options);
}

class Engine implements OnlineEngine {
  readonly #preparers = new WeakMap<LiveDeployment, Preparer>();

  constructor(readonly options: EngineOptions) {}

  load(deployment: LiveDeployment): void {
    this.#preparer(deployment);
  }

  async query(deployment: LiveDeployment, request: QueryRequest, now: number, signal?: AbortSignal): Promise<QueryResponse> {
    return answerToProto(await this.answer(deployment, askFromProto(request), now, signal), request.includeMeta);
  }

  async queryBulk(deployment: LiveDeployment, request: QueryBulkRequest, now: number, signal?: AbortSignal): Promise<QueryBulkResponse> {
    return bulkAnswerToProto(await this.answerBulk(deployment, bulkAskFromProto(request), now, signal));
  }

  async answerBulk(deployment: LiveDeployment, bulk: BulkAsk, now = this.options.clock.now(), signal?: AbortSignal): Promise<BulkAnswer> {
    checkNow(bulk.ask);
    const preparer = this.#preparer(deployment);
    const run = new BulkRun(
      bulk,
      preparer,
      (tags) => new QueryContext(deployment, bulk.ask, tags, now, this.options.log, signal, preparer.index.compile),
      (execution, context) => keep(execution, context as QueryContext, now),
    );
    return run.answer();
  }

  answer(deployment: LiveDeployment, ask: Ask, now = this.options.clock.now(), signal?: AbortSignal): Answer | Promise<Answer> {
    const started = performance.now();
    checkNow(ask);
    const preparer = this.#preparer(deployment);
    const prepared = preparer.prepare(ask);
    const context = new QueryContext(deployment, ask, prepared.tags, now, this.options.log, signal, preparer.index.compile);
    const execution = new Execution(prepared.plan, 1, context);
    const running = execution.run(columnsOf(prepared.values));
    if (running) return running.then(() => conclude(execution, prepared, context, now, started));
    return conclude(execution, prepared, context, now, started);
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

function checkNow(ask: Ask): void {
  if (ask.now !== undefined && (ask.now > LAST_MICROS || ask.now < FIRST_MICROS))
    throw new QueryRefused([refusal(ErrorCode.PARSE_FAILED, "now must lie between the years 1 and 9999")]);
}

/** The world of a query; the time as text is made only when somebody reads it. */
class QueryContext implements RunContext {
  readonly queryId: string;
  readonly nowMicros: bigint;
  readonly nowMs: number;
  readonly queryContext: Ask["queryContext"];
  readonly trace: Trace | undefined;
  #nowText: string | undefined;

  constructor(
    readonly deployment: LiveDeployment,
    ask: Ask,
    readonly tags: readonly string[],
    arrival: number,
    readonly log: Log,
    readonly signal: AbortSignal | undefined,
    readonly compile: RunContext["compile"],
  ) {
    this.queryId = Bun.randomUUIDv7("hex", arrival);
    this.nowMicros = ask.now ?? BigInt(Math.round(arrival * 1000));
    this.nowMs = ask.now === undefined ? arrival : Number(ask.now) / 1000;
    this.queryContext = ask.queryContext;
    this.trace = ask.explain ? new Trace() : undefined;
  }

  get nowText(): string {
    this.#nowText ??= formatMicros(this.nowMicros);
    return this.#nowText;
  }
}

function columnsOf(values: readonly FeatureValue[]): FeatureValue[][] {
  const columns = new Array<FeatureValue[]>(values.length);
  for (let i = 0; i < values.length; i++) columns[i] = [values[i] as FeatureValue];
  return columns;
}

/** Stores what is fresh and puts the answer together. */
function conclude(
  execution: Execution,
  prepared: Prepared,
  context: QueryContext,
  arrival: number,
  started: number,
): Answer | Promise<Answer> {
  const storing = keep(execution, context, arrival);
  return storing ? storing.then(() => assemble(execution, prepared, context, started)) : assemble(execution, prepared, context, started);
}

/** Stores what is fresh. What was computed for a time yet to come is not stored: it would hide the present. */
function keep(execution: Execution, context: QueryContext, arrival: number): undefined | Promise<void> {
  if (execution.covered.length > 0 && context.log.enabled("debug"))
    for (const failure of execution.covered)
      context.log.debug("a default stands in for a failure", { queryId: context.queryId, feature: failure.path, error: failure.message });
  return context.nowMs <= arrival ? storeFresh(execution) : undefined;
}

function assemble(execution: Execution, prepared: Prepared, context: QueryContext, started: number): Answer {
  const fields = answerFields(execution, 0);
  const durationMs = performance.now() - started;
  return {
    queryId: context.queryId,
    deployment: context.deployment,
    queryHash: prepared.plan.hash,
    nowMicros: context.nowMicros,
    durationMs,
    fields,
    failures: answerFailures(fields),
    inferred: prepared.inferred,
    explanation: context.trace ? explainRun(execution, { queryId: context.queryId, durationMs, planned: prepared.planned }) : "",
  };
}
