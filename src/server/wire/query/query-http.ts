/**
 * The JSON query API, `POST /v1/query/online` and others beside it: JSON requests are read for
 * the engine and its answers written as JSON, with no protobuf messages in between.
 */

import type { Clock } from "../../../context/clock.ts";
import { ARROW_STREAM } from "../../../domain/arrow/format.ts";
import type { Caller } from "../../access/tokens.ts";
import { ArrowRefused } from "../../arrow/read-stream.ts";
import { arrowStream } from "../../arrow/write-stream.ts";
import { clipped, QueryRefused } from "../../query/refusal.ts";
import type { QueryRequest } from "../../query/request/request.ts";
import { encodedAnswer, encodedHeaders } from "../http/content-encoding.ts";
import { deadlineOf } from "../http/deadline.ts";
import { JsonRefused } from "../http/json-text.ts";
import { type ErrorAnswer, errorAnswer, errorBody } from "../http/respond.ts";
import { answerToText, besideColumns, bulkAnswerToJson, errorToJson, type JsonError } from "./answer-json.ts";
import { type IncomingQuery, parentOf, type QueryRunner, runBulkQuery, runQuery, scopeOf } from "./endpoint.ts";
import type { Expressions } from "./expressions.ts";
import { BodyInvalid, type QueryBody, readArrowQuery, readBulkQueryBody, readMultiBody, readQueryBody } from "./query-body.ts";

/** Longest body, in bytes. */
export const MAX_QUERY_BYTES = 8 * 1024 * 1024;

/** Longest body of a query of classes that are not deployed, in bytes. */
export const MAX_EXPRESSION_BYTES = 4 * 1024 * 1024;

/**
 * Longest body of a bulk query, in bytes: a hundred thousand rows of many columns. It is parsed in
 * one go, and other requests wait for that.
 */
export const MAX_BULK_QUERY_BYTES = 16 * 1024 * 1024;
/** Most values of a bulk query's body. */
const MAX_BULK_VALUES = 2_000_000;
/** Most errors of a bulk query that the log keeps. */
const MAX_LOGGED_ERRORS = 100;

/**
 * The empty `data` of a refused query, with the type that it has in an answer: a list of results,
 * or columns by name.
 */
export const NO_RESULTS: readonly never[] = [];
export const NO_COLUMNS: Readonly<Record<string, never>> = {};
export const NO_OUTCOMES: readonly never[] = [];

/** What a refused request for a plan answers beside its errors. */
export const NO_PLAN: Readonly<Record<string, never>> = {};

/** A handler of requests whose caller was authorized. `receive` reads the body. */
type Handler<Auth> = (request: Request, auth: Auth, receive: () => Promise<Uint8Array>) => Promise<Response>;

/** Makes the handler of `POST /v1/query/online`. */
export function createQueryHttp<Auth>(runner: QueryRunner<Auth>): Handler<Auth> {
  return createHandler(readQueryBody, { data: NO_RESULTS }, (body, call, text, auth) =>
    runQuery(runner, incomingQuery("POST /v1/query/online", body, body.request, call, text), auth, (answer) => answerToText(answer, body)),
  );
}

/** Makes the handler of `POST /v1/query/bulk`. */
export function createBulkQueryHttp<Auth>(runner: QueryRunner<Auth>): Handler<Auth> {
  return createHandler(
    (body, isArrow) => (isArrow ? readArrowQuery(body, MAX_BULK_VALUES) : readBulkQueryBody(body, MAX_BULK_VALUES)),
    { data: NO_COLUMNS },
    (body, call, _text, auth) => {
      const logged = JSON.stringify({ inputs: {}, outputs: body.request.outputs });
      const incoming = incomingQuery("POST /v1/query/bulk", body, body.bulk, call, logged);
      return runBulkQuery<Auth, string | Uint8Array<ArrayBuffer>>(runner, incoming, auth, (answer) => {
        const { errors, hits, meta } = besideColumns(answer, body);
        const summary = JSON.stringify({ data: [], errors: errors?.slice(0, MAX_LOGGED_ERRORS), meta });
        if (!call.wantsArrow) return { sent: JSON.stringify(bulkAnswerToJson(answer, body)), summary };
        const columns = answer.columns.map(({ path, feature, values }) => ({ name: path, type: feature.dtype, values }));
        const told = Object.entries({ meta, errors, hits }).filter(([, value]) => value !== undefined);
        const texts = Object.fromEntries(told.map(([name, value]) => [`svc.${name}`, JSON.stringify(value)]));
        return { sent: arrowStream(columns, answer.rows, texts), summary };
      });
    },
    true,
  );
}

/**
 * Makes the handler of `POST /v1/query/multi`: several queries at once, each of which comes to what
 * `POST /v1/query/online` would answer. What no query can be run for fails all of them.
 */
export function createMultiQueryHttp<Auth>(runner: QueryRunner<Auth>): Handler<Auth> {
  return createHandler(readMultiBody, { outcomes: NO_OUTCOMES }, async (queries, call, _text, auth) => {
    const outcomes = queries.map(async (read) => {
      try {
        if (read instanceof QueryRefused) throw read;
        const { body, text } = read;
        const incoming = incomingQuery("POST /v1/query/multi", body, body.request, call, text);
        return await runQuery(runner, incoming, auth, (answer) => answerToText(answer, body));
      } catch (error) {
        if (!(error instanceof QueryRefused)) throw error;
        return JSON.stringify(errorBody(refusal(error, { data: NO_RESULTS })));
      }
    });
    return `{"outcomes":[${(await Promise.all(outcomes)).join(",")}]}`;
  });
}

/** Makes the handler of `POST /v1/query/plan`: the plan of a query, which is not run. */
export function createPlanHttp<Auth>(runner: QueryRunner<Auth>): Handler<Auth> {
  return createHandler(
    readQueryBody,
    NO_PLAN,
    async ({ branch, deploymentId: deployment, environment, request }, { headers }, _text, auth) => {
      const scope = scopeOf(headers, { environment, branch, deployment });
      const lease = await runner.resolveDeployment(scope, auth, request.correlationId);
      try {
        return JSON.stringify({ deployment_id: lease.deployment.id, ...runner.engine.plan(lease.deployment, request), errors: [] });
      } finally {
        lease.release();
      }
    },
  );
}

/** Makes the handler of `POST /v1/query/expression`: a query of classes that are not deployed. */
export function createExpressionHttp(expressions: Expressions, clock: Clock): Handler<Caller> {
  return createHandler(
    (bytes) => ({ body: bytes, text: "" }),
    { data: NO_RESULTS },
    (bytes, { signal }) => expressions.evaluate(bytes, clock.now(), signal),
  );
}

/** @param takesArrow whether bodies and answers may be tables of Arrow */
function createHandler<Auth, B>(
  read: (body: Uint8Array, isArrow: boolean) => { readonly body: B; readonly text: string },
  more: Readonly<Record<string, unknown>>,
  answer: (body: B, call: HttpCall, text: string, auth: Auth) => Promise<string | Uint8Array<ArrayBuffer>>,
  takesArrow = false,
): Handler<Auth> {
  const refuse = (status: number, message: string, headers?: Record<string, string>): Response =>
    errorAnswer({ status, message: clipped(message), more }, headers);
  return async (request, auth, receive) => {
    if (request.method !== "POST") return refuse(405, `use POST, not ${request.method}`, { allow: "POST" });
    const type = request.headers.get("content-type");
    const isArrow = takesArrow && type !== null && ARROW_TYPE.test(type);
    if (type !== null && !isArrow && !JSON_TYPE.test(type))
      return refuse(
        415,
        `send JSON with Content-Type: application/json${takesArrow ? `, or a table as ${ARROW_STREAM}` : ""}, not ${type}`,
      );
    const deadline = deadlineOf(request);
    try {
      const { body, text } = read(await receive(), isArrow);
      const accepted = request.headers.get("accept");
      const wantsArrow = takesArrow && (accepted?.includes(ARROW_STREAM) || (isArrow && !accepted?.includes("json")));
      const call = { headers: request.headers, signal: deadline.signal, wantsArrow };
      return await encodedAnswer(request.headers, await answer(body, call, text, auth), wantsArrow ? ARROW_HEADERS : JSON_HEADERS);
    } catch (error) {
      if (error instanceof BodyInvalid || error instanceof JsonRefused || error instanceof ArrowRefused) return refuse(400, error.message);
      if (error instanceof QueryRefused) return errorAnswer(refusal(error, more));
      throw error;
    } finally {
      deadline.clear();
    }
  };
}

function refusal({ errors, message }: QueryRefused, more: Readonly<Record<string, unknown>>): ErrorAnswer {
  return { status: 400, message, errors: errors.map((detail) => errorToJson(detail as JsonError)), more };
}

/** The parts of an HTTP request that a query needs beside the body. */
interface HttpCall {
  readonly headers: Headers;
  readonly signal: AbortSignal;
  /** Whether the answer is to be a table of Arrow. */
  readonly wantsArrow: boolean;
}

/**
 * The content types that are taken. A request without one is read as JSON, because simple clients
 * leave it out.
 */
const ARROW_TYPE = /^application\/vnd\.apache\.arrow\.stream\s*(?:;|$)/i;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

function incomingQuery<A>(endpoint: string, body: QueryBody, request: A, { headers, signal }: HttpCall, sent: string): IncomingQuery<A> {
  const { queryName, correlationId }: QueryRequest = body.request;
  return {
    scope: scopeOf(headers, { environment: body.environment, branch: body.branch, deployment: body.deploymentId }),
    encoding: "json",
    request: sent,
    queryName,
    correlationId,
    signal,
    endpoint,
    trace: body.request.trace,
    parent: parentOf(headers),
    read: () => request,
  };
}

const SAFE = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
const JSON_HEADERS = encodedHeaders({ "content-type": "application/json", ...SAFE });
const ARROW_HEADERS = encodedHeaders({ "content-type": ARROW_STREAM, ...SAFE });
