/**
 * The steps that all endpoints of the query engine share: find the deployment, run the query, log
 * it as it was sent and answered, release the deployment.
 */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { Clock } from "../../../context/clock.ts";
import { errorText } from "../../../domain/error-text.ts";
import { SPAN_ATTRIBUTES as ATTRIBUTE } from "../../../domain/span-attributes.ts";
import { carriedHeaders, parseTraceparent, type TraceParent } from "../../../domain/traceparent.ts";
import { SCOPE_HEADERS, scopeHeader } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import { type Answer, type AnswerHead, answerOrigins } from "../../query/answer/answer.ts";
import { type SpanFacts, SpanRecorder, toldSpan } from "../../query/answer/spans.ts";
import type { BulkAnswer } from "../../query/bulk.ts";
import type { OnlineEngine, Tracing } from "../../query/create-engine.ts";
import type { LiveDeployment } from "../../query/live-deployment.ts";
import { clipped, hinted, QueryRefused } from "../../query/refusal.ts";
import type { BulkRequest, QueryRequest } from "../../query/request/request.ts";
import type { RecordedFailure } from "../../query-log/error-records.ts";
import type { QueryRecord, QueryRecorder } from "../../query-log/recorder.ts";
import type { SpanSampler } from "../../query-log/span-sampler.ts";
import type { QueryKind } from "../../stores/metadata/usage.ts";
import type { Body, BodyEncoding, QueryRunKind } from "../../stores/telemetry/store.ts";
import type { QueryWatch } from "../../webhooks/events.ts";
import type { Mirror } from "./mirror.ts";

/** A deployment that stays up until it is released. */
export interface DeploymentLease {
  readonly deployment: LiveDeployment;
  /**
   * The deployment that replaces it next and its progress, in words; undefined when there is none.
   * Absent when the query named its deployment.
   */
  readonly next?: () => string | undefined;
  /** Deployments that the query is to be copied to; absent = none. */
  readonly mirrors?: readonly (() => DeploymentLease | Promise<DeploymentLease>)[];
  release(): void;
}

/** The deployment that a query names: names or ids, empty = not given. */
export interface QueryScope {
  readonly project: string;
  readonly environment: string;
  readonly branch: string;
  readonly deployment: string;
}

/** A query that has ended, as it is counted. */
export interface CountedQuery {
  readonly kind: QueryKind;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** Rows that were answered; none of a query that was refused or failed. */
  readonly rows: number;
  /** Whether it was answered without errors. */
  readonly isOk: boolean;
  /** Empty = it has none. */
  readonly queryName: string;
  /** Name of the first error's code; empty = there is none. */
  readonly code: string;
  /** Id of its trace; empty = its spans are not kept. */
  readonly traceId: string;
}

/** The services that running queries needs. `Auth` is what an endpoint knows about the caller. */
export interface QueryRunner<Auth> extends QueryRecorder {
  readonly engine: OnlineEngine;
  readonly clock: Clock;
  /** Id of the client that asks; absent = nobody is known. */
  agentOf?(auth: Auth): string;
  /** Counts a query; absent = nobody counts. */
  count?(deployment: LiveDeployment, query: CountedQuery): void;
  /** Who wants to be told of a query on a deployment; undefined or absent = nobody. */
  watch?(deployment: LiveDeployment): QueryWatch | undefined;
  /**
   * A running deployment of a scope, the same for queries of one correlation id (empty = none has).
   * Throws Failure.
   */
  resolveDeployment(scope: QueryScope, auth: Auth, correlationId: string): DeploymentLease | Promise<DeploymentLease>;
  /** Runs copies of queries; absent where none are made. */
  readonly mirror?: Mirror;
  /** Picks queries whose spans are kept although nobody asked; absent = none are. */
  readonly sampler?: SpanSampler;
  /** Whether spans are recorded; false while telemetry is suspended. */
  isTracing(): boolean;
}

/** The services that the endpoints of the query engine need. */
export interface Queries<Auth> extends QueryRunner<Auth> {
  /**
   * The URL of the dashboard's page for a run that is being recorded, as the sender of these
   * headers reaches it; empty when there is no dashboard, or the log is too busy to keep the run.
   */
  pageOf(queryId: string, environmentId: string, headers: Headers): string;
}

/** A query as an endpoint received it; `A` is the type of the request that it is read to. */
export interface IncomingQuery<A = QueryRequest> {
  readonly scope: QueryScope;
  readonly encoding: BodyEncoding;
  /** The request as it was sent; of a bulk query without its values. */
  readonly request: Body;
  readonly queryName: string;
  readonly correlationId: string;
  readonly signal: AbortSignal;
  /** Name of the endpoint, as its trace has it. */
  readonly endpoint: string;
  /** Whether the query asks for its spans to be kept. */
  readonly trace: boolean;
  /** The caller's span; spans are also kept when it is sampled. */
  readonly parent: TraceParent | undefined;
  /** Reads the request. Throws QueryRefused. */
  readonly read: () => A;
}

/**
 * The scope that a query and its headers name; each part may be in the query or in the headers.
 * Throws Failure invalid_argument when the two differ.
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
  return {
    project: scopeHeader(headers, "project"),
    environment: part("environment"),
    branch: part("branch"),
    deployment: part("deployment"),
  };
}

/** The caller's span from a request's headers, and what goes with it; undefined = there is none. */
export function parentOf(headers: Headers): TraceParent | undefined {
  const parent = parseTraceparent(headers.get("traceparent"));
  return parent && { ...parent, carried: carriedHeaders(headers) };
}

/** The part of an answer that the log keeps. */
interface Logged {
  readonly rows: number;
  readonly failures: readonly RecordedFailure[];
  readonly hitShare: number | null;
  readonly response: Body;
  readonly origins: string;
}

/**
 * Runs a query and returns its answer as `write` encodes it. Throws QueryRefused when the query is
 * wrong as a whole, and the errors of `resolveDeployment`.
 * @param write encodes the answer as text or bytes
 */
export function runQuery<Auth, B extends Body>(
  runner: QueryRunner<Auth>,
  incoming: IncomingQuery,
  auth: Auth,
  write: (answer: Answer) => B,
): Promise<B> {
  return run(
    runner,
    "query",
    incoming,
    auth,
    (deployment, startedAt, signal, tracing) => runner.engine.answer(deployment, incoming.read(), startedAt, signal, tracing),
    (answer) => {
      const sent = write(answer);
      const { text: origins, hitShare } = answerOrigins(answer);
      const failures = answer.failures.map(({ path, ...failure }) => ({ ...failure, feature: path }));
      return { sent, logged: { rows: 1, failures, hitShare, response: sent, origins } };
    },
  );
}

/** Runs a bulk query like `runQuery`. The log keeps its errors, but not its values. */
export function runBulkQuery<Auth, Sent>(
  runner: QueryRunner<Auth>,
  incoming: IncomingQuery<BulkRequest>,
  auth: Auth,
  write: (answer: BulkAnswer) => { readonly sent: Sent; readonly summary: Body },
): Promise<Sent> {
  return run(
    runner,
    "bulk_query",
    incoming,
    auth,
    (deployment, startedAt, signal, tracing) => runner.engine.answerBulk(deployment, incoming.read(), startedAt, signal, tracing),
    (answer) => {
      const { sent, summary } = write(answer);
      return {
        sent,
        logged: { rows: answer.rows, failures: answer.failures, hitShare: bulkHitShareOf(answer), response: summary, origins: "" },
      };
    },
  );
}

async function run<Auth, A, R extends AnswerHead, Sent>(
  runner: QueryRunner<Auth>,
  kind: QueryKind,
  incoming: IncomingQuery<A>,
  auth: Auth,
  answerOf: (deployment: LiveDeployment, startedAt: number, signal: AbortSignal, tracing?: Tracing) => R | Promise<R>,
  write: (answer: R) => { readonly sent: Sent; readonly logged: Logged },
): Promise<Sent> {
  const { encoding, request, queryName, correlationId } = incoming;
  const isAsked = (incoming.trace || incoming.parent !== undefined) && runner.isTracing();
  const parent = isAsked ? incoming.parent : undefined;
  const isWanted = isAsked && (incoming.trace || parent?.sampled === true);
  const isSampled = !isAsked && runner.sampler !== undefined && runner.sampler.begins() && runner.isTracing();
  const spans = isWanted || isSampled ? new SpanRecorder(incoming.endpoint, runner.clock.now(), parent, isWanted) : undefined;
  const finding = spans?.open("gateway", "deployment");
  const lease = await runner.resolveDeployment(incoming.scope, auth, correlationId);
  spans?.end(finding);
  const startedAt = runner.clock.now();
  const began = performance.now();
  const { deployment } = lease;
  const agentId = runner.agentOf?.(auth) ?? "";
  const traceId = spans?.traceId ?? "";
  const watch = runner.watch?.(deployment);
  let ended: Pick<CountedQuery, "rows" | "isOk" | "durationMs"> | undefined;
  let code: ErrorCode | undefined;
  try {
    const isObserved = spans || parent || watch?.computed;
    const running = answerOf(
      ...([deployment, startedAt, incoming.signal] as const),
      isObserved ? { parent, spans, computed: watch?.computed } : undefined,
    );
    let answer = running instanceof Promise ? await running : running;
    if (answer.stages.length > 0) {
      const keeping = spans?.open("store", "keep stages", spans.root, { [ATTRIBUTE.stages]: answer.stages.length });
      if (!(await runner.keepStages(answer, startedAt))) answer = { ...answer, stages: [] };
      spans?.end(keeping);
    }
    const { sent, logged } = write(answer);
    const { rows, failures, hitShare, response, origins } = logged;
    const errorCount = failures.length;
    code = failures[0]?.code;
    ended = { rows, isOk: errorCount === 0, durationMs: answer.durationMs };
    const { queryId, durationMs } = answer;
    const record: QueryRecord = {
      kind: RUN_KINDS[kind],
      queryId,
      startedAt,
      durationMs,
      queryName,
      correlationId,
      agentId,
      traceId,
      rows,
      hitShare,
      encoding,
      request,
      response,
      origins,
    };
    runner.recordQuery(deployment, record, { answer, failures });
    watch?.ended({
      queryId: answer.queryId,
      queryName,
      correlationId,
      startedAt,
      durationMs: answer.durationMs,
      errorCount,
      isRefused: false,
      traceparent: toldSpan(spans, parent),
    });
    if (spans)
      keepSpans(
        runner,
        deployment,
        spans,
        spans.finish(
          { queryId: answer.queryId, deploymentId: deployment.id },
          {
            ...factsOf(incoming),
            [ATTRIBUTE.queryHash]: answer.queryHash,
            [ATTRIBUTE.errors]: errorCount || undefined,
            [ATTRIBUTE.errorType]: code === undefined ? undefined : ErrorCode[code],
          },
        ),
      );
    return sent;
  } catch (error) {
    const durationMs = performance.now() - began;
    const queryId = Bun.randomUUIDv7("hex", Math.floor(startedAt));
    const message = errorText(error);
    code = error instanceof QueryRefused ? (error.errors[0]?.code ?? ErrorCode.INVALID_QUERY) : ErrorCode.INTERNAL_SERVER_ERROR;
    const asked = { kind: RUN_KINDS[kind], startedAt, queryName, correlationId, agentId, traceId, encoding, request };
    const record = { ...asked, queryId, durationMs, error: message, rows: 0, hitShare: null, origins: "" };
    runner.recordQuery(deployment, record, { failures: refusalsOf(error, code, message) });
    watch?.ended({
      ...{ queryId, queryName, correlationId, startedAt, durationMs, errorCount: 1 },
      isRefused: error instanceof QueryRefused,
      traceparent: toldSpan(spans, parent),
    });
    if (spans)
      keepSpans(
        runner,
        deployment,
        spans,
        spans.finish({ queryId, deploymentId: deployment.id }, { ...factsOf(incoming), [ATTRIBUTE.errorType]: ErrorCode[code] }, message),
      );
    const next = error instanceof QueryRefused ? lease.next?.() : undefined;
    throw error instanceof QueryRefused && next !== undefined ? hinted(error, `Not live yet: ${next}.`) : error;
  } finally {
    lease.release();
    const { rows, isOk, durationMs } = ended ?? { rows: 0, isOk: false, durationMs: performance.now() - began };
    const codeName = code === undefined ? "" : ErrorCode[code];
    runner.count?.(deployment, { kind, startedAt, queryName, code: codeName, traceId, rows, isOk, durationMs });
    if (lease.mirrors) runner.mirror?.(lease.mirrors, (copy, signal) => answerOf(copy, startedAt, signal));
  }
}

/** Keeps the spans of a query that were asked for, and others while there is room. */
function keepSpans(
  { recordSpans, sampler }: Pick<QueryRunner<never>, "recordSpans" | "sampler">,
  deployment: LiveDeployment,
  { isAsked, durationMs }: SpanRecorder,
  spans: ReturnType<SpanRecorder["finish"]>,
): void {
  if (
    isAsked ||
    sampler?.keeps(
      durationMs,
      spans.some(({ error }) => error !== ""),
    )
  )
    recordSpans(deployment, spans);
}

const RUN_KINDS: Readonly<Record<QueryKind, QueryRunKind>> = { query: "online", bulk_query: "bulk" };

/** The errors of a query that was refused, or that the server failed to answer. */
function refusalsOf(error: unknown, code: ErrorCode, message: string): RecordedFailure[] {
  if (!(error instanceof QueryRefused) || error.errors.length === 0) return [{ code, message, feature: "", resolver: "" }];
  return error.errors.map((one) => ({
    code: one.code ?? code,
    message: one.message ?? "",
    feature: one.feature ?? "",
    resolver: one.resolver ?? "",
  }));
}

function bulkHitShareOf({ columns, rows }: BulkAnswer): number | null {
  let hits = 0;
  for (const column of columns) for (const hit of column.hits) if (hit) hits++;
  return columns.length === 0 || rows === 0 ? null : hits / (columns.length * rows);
}

function factsOf({ queryName, correlationId, encoding }: IncomingQuery<unknown>): SpanFacts {
  return {
    [ATTRIBUTE.encoding]: encoding,
    [ATTRIBUTE.queryName]: queryName || undefined,
    [ATTRIBUTE.correlationId]: correlationId || undefined,
  };
}
