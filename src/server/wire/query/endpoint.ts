/**
 * What the doors of the query engine do alike: find the deployment, run the query, log it as it was
 * sent and answered, let the deployment go.
 */

import type { Clock } from "../../../context/clock.ts";
import { errorText } from "../../../domain/error-text.ts";
import { parseTraceparent, type TraceParent } from "../../../domain/traceparent.ts";
import { SCOPE_HEADERS, scopeHeader } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import { type Answer, type AnswerHead, answerOrigins } from "../../query/answer/answer.ts";
import { type SpanFacts, SpanRecorder } from "../../query/answer/spans.ts";
import type { BulkAnswer } from "../../query/bulk.ts";
import type { OnlineEngine, Tracing } from "../../query/create-engine.ts";
import type { LiveDeployment } from "../../query/live-deployment.ts";
import { clipped, hinted, QueryRefused } from "../../query/refusal.ts";
import type { BulkRequest, QueryRequest } from "../../query/request/request.ts";
import type { QueryRecorder } from "../../query-log/recorder.ts";
import type { Body, BodyEncoding } from "../../stores/telemetry/store.ts";

/** A deployment that stays up until it is released. */
export interface DeploymentLease {
  readonly deployment: LiveDeployment;
  /**
   * The deployment that takes its place next, and how far it is, in words; undefined when there is
   * none. Left out where a query named its deployment.
   */
  readonly next?: () => string | undefined;
  release(): void;
}

/** Which deployment a query asks: names or ids, empty = not said. */
export interface QueryScope {
  readonly environment: string;
  readonly branch: string;
  readonly deployment: string;
}

/** What queries are run with. `Auth` is whatever an endpoint knows of the caller. */
export interface QueryRunner<Auth> extends QueryRecorder {
  readonly engine: OnlineEngine;
  readonly clock: Clock;
  /** A running deployment of a scope. Throws Failure. */
  resolveDeployment(scope: QueryScope, auth: Auth): DeploymentLease | Promise<DeploymentLease>;
}

/** What the endpoints of the query engine work with. */
export interface Queries<Auth> extends QueryRunner<Auth> {
  /**
   * Page of the dashboard that shows a run that is recorded now, for whoever sent these headers;
   * empty when there is no dashboard, or the log is too busy to keep the run.
   */
  pageOf(queryId: string, environmentId: string, headers: Headers): string;
}

/** A query as it came through a door; `A` is what it is read to. */
export interface IncomingQuery<A = QueryRequest> {
  readonly scope: QueryScope;
  readonly encoding: BodyEncoding;
  /** As it was sent; of a bulk query without its values. */
  readonly request: Body;
  readonly queryName: string;
  readonly correlationId: string;
  readonly signal: AbortSignal;
  /** How its trace is told of it: the door. */
  readonly door: string;
  /** Whether it asks for its spans to be kept. */
  readonly trace: boolean;
  /** The caller's span. One that is sampled is reason enough to keep spans. */
  readonly parent: TraceParent | undefined;
  /** Reads it. Throws QueryRefused. */
  readonly ask: () => A;
}

/**
 * The scope that a query and its headers name, each part in either place. Throws Failure
 * invalid_argument when they name different ones.
 */
export function scopeOf(headers: Headers, named: Partial<QueryScope>): QueryScope {
  const part = (name: keyof QueryScope): string => {
    const inQuery = named[name] ?? "";
    const inHeader = scopeHeader(headers, name);
    if (inQuery !== "" && inHeader !== "" && inQuery !== inHeader)
      throw new Failure(
        "invalid_argument",
        `The query names the ${name} '${clipped(inQuery, 200)}', its header ${SCOPE_HEADERS[name]} '${clipped(inHeader, 200)}'. Name one.`,
      );
    return inQuery || inHeader;
  };
  return { environment: part("environment"), branch: part("branch"), deployment: part("deployment") };
}

/** The caller's span, from a request's headers. */
export function parentOf(headers: Headers): TraceParent | undefined {
  return parseTraceparent(headers.get("traceparent"));
}

/** What the log keeps of an answer. */
interface Logged {
  readonly errorCount: number;
  readonly response: Body;
  readonly origins: string;
}

/**
 * Runs a query and gives its answer as `write` has it sent. Throws QueryRefused when it is wrong as
 * a whole, and what `resolveDeployment` throws.
 * @param write the answer's text or bytes
 */
export function runQuery<Auth, B extends Body>(
  deps: QueryRunner<Auth>,
  arrival: IncomingQuery,
  auth: Auth,
  write: (answer: Answer) => B,
): Promise<B> {
  return run(
    deps,
    arrival,
    auth,
    (deployment, startedAt, tracing) => deps.engine.answer(deployment, arrival.ask(), startedAt, arrival.signal, tracing),
    (answer) => {
      const sent = write(answer);
      return { sent, logged: { errorCount: answer.failures.length, response: sent, origins: answerOrigins(answer) } };
    },
  );
}

/** The same for a bulk query. The log keeps what went wrong, not the values. */
export function runBulkQuery<Auth, Sent>(
  deps: QueryRunner<Auth>,
  arrival: IncomingQuery<BulkRequest>,
  auth: Auth,
  write: (answer: BulkAnswer) => { readonly sent: Sent; readonly summary: Body },
): Promise<Sent> {
  return run(
    deps,
    arrival,
    auth,
    (deployment, startedAt, tracing) => deps.engine.answerBulk(deployment, arrival.ask(), startedAt, arrival.signal, tracing),
    (answer) => {
      const { sent, summary } = write(answer);
      return { sent, logged: { errorCount: answer.failures.length, response: summary, origins: "" } };
    },
  );
}

async function run<Auth, A, R extends AnswerHead, Sent>(
  deps: QueryRunner<Auth>,
  arrival: IncomingQuery<A>,
  auth: Auth,
  answerOf: (deployment: LiveDeployment, startedAt: number, tracing: Tracing | undefined) => R | Promise<R>,
  write: (answer: R) => { readonly sent: Sent; readonly logged: Logged },
): Promise<Sent> {
  const { encoding, request, queryName, correlationId, parent } = arrival;
  const spans = arrival.trace || parent?.sampled ? new SpanRecorder(arrival.door, deps.clock.now(), parent) : undefined;
  const finding = spans?.open("gateway", "deployment");
  const lease = await deps.resolveDeployment(arrival.scope, auth);
  spans?.end(finding);
  const startedAt = deps.clock.now();
  const began = performance.now();
  const { deployment } = lease;
  const base = { startedAt, queryName, correlationId, encoding, request };
  try {
    const running = answerOf(deployment, startedAt, spans || parent ? { parent, spans } : undefined);
    let answer = running instanceof Promise ? await running : running;
    if (answer.stages.length > 0) {
      const keeping = spans?.open("store", "keep stages", spans.root, { stages: answer.stages.length });
      if (!(await deps.keepStages(answer, startedAt))) answer = { ...answer, stages: [] };
      spans?.end(keeping);
    }
    const { sent, logged } = write(answer);
    const { errorCount, response, origins } = logged;
    deps.recordQuery(deployment, { ...base, errorCount, response, origins, queryId: answer.queryId, durationMs: answer.durationMs });
    if (spans)
      deps.recordSpans(
        deployment,
        spans.finish(
          { queryId: answer.queryId, deploymentId: deployment.id },
          { ...factsOf(arrival), plan: answer.queryHash, errors: errorCount || undefined },
        ),
      );
    return sent;
  } catch (error) {
    const durationMs = performance.now() - began;
    const queryId = Bun.randomUUIDv7("hex", Math.floor(startedAt));
    const message = errorText(error);
    deps.recordQuery(deployment, { ...base, queryId, durationMs, errorCount: 1, error: message, origins: "" });
    if (spans) deps.recordSpans(deployment, spans.finish({ queryId, deploymentId: deployment.id }, factsOf(arrival), message));
    const next = error instanceof QueryRefused ? lease.next?.() : undefined;
    throw error instanceof QueryRefused && next !== undefined ? hinted(error, `Not live yet: ${next}.`) : error;
  } finally {
    lease.release();
  }
}

function factsOf({ queryName, correlationId, encoding }: IncomingQuery<unknown>): SpanFacts {
  return { encoding, query_name: queryName || undefined, correlation_id: correlationId || undefined };
}
