/**
 * The JSON query API, `POST /v1/query/online` and `POST /v1/query/bulk`: from the request's JSON to
 * the engine to the response's JSON, with no messages in between.
 */

import { clipped, QueryRefused } from "../../query/refusal.ts";
import type { QueryRequest } from "../../query/request/request.ts";
import { encodedAnswer, encodedHeaders } from "../http/content-encoding.ts";
import { deadlineOf } from "../http/deadline.ts";
import { JsonRefused } from "../http/json-text.ts";
import { errorAnswer } from "../http/respond.ts";
import { answerToText, bulkAnswerToJson, errorToJson, type JsonError } from "./answer-json.ts";
import { type IncomingQuery, parentOf, type QueryRunner, runBulkQuery, runQuery, scopeOf } from "./endpoint.ts";
import { BodyInvalid, type QueryBody, readBulkQueryBody, readQueryBody } from "./query-body.ts";

/** Longest body, in bytes. */
export const MAX_QUERY_BYTES = 8 * 1024 * 1024;

/**
 * Longest body of a bulk query, in bytes: a hundred thousand rows of many columns. It is parsed at
 * once, so that others wait as long as that takes.
 */
export const MAX_BULK_QUERY_BYTES = 16 * 1024 * 1024;
/** Values of a bulk query's body, at most. */
const MAX_BULK_VALUES = 2_000_000;
/** Errors of a bulk query that the log keeps. */
const MAX_LOGGED_ERRORS = 100;

/**
 * `data` of a refused query, of the type that it has in an answer: results one by one, or columns
 * by name.
 */
export const NO_RESULTS: readonly never[] = [];
export const NO_COLUMNS: Readonly<Record<string, never>> = {};

/** Answers a request of a caller who may make it. `receive` reads its body. */
type Handler<Auth> = (request: Request, auth: Auth, receive: () => Promise<Uint8Array>) => Promise<Response>;

/** Makes the handler of `POST /v1/query/online`. */
export function createQueryHttp<Auth>(deps: QueryRunner<Auth>): Handler<Auth> {
  return createHandler(readQueryBody, NO_RESULTS, (body, call, text, auth) =>
    runQuery(deps, arrivalOf("POST /v1/query/online", body, body.ask, call, text), auth, (answer) => answerToText(answer, body)),
  );
}

/** Makes the handler of `POST /v1/query/bulk`. */
export function createBulkQueryHttp<Auth>(deps: QueryRunner<Auth>): Handler<Auth> {
  return createHandler(
    (body) => readBulkQueryBody(body, MAX_BULK_VALUES),
    NO_COLUMNS,
    (body, call, _text, auth) => {
      const asked = JSON.stringify({ inputs: {}, outputs: body.ask.outputs });
      return runBulkQuery(deps, arrivalOf("POST /v1/query/bulk", body, body.bulk, call, asked), auth, (answer) => {
        const json = bulkAnswerToJson(answer, body);
        const summary = { data: [], errors: json.errors?.slice(0, MAX_LOGGED_ERRORS), meta: json.meta };
        return { sent: JSON.stringify(json), summary: JSON.stringify(summary) };
      });
    },
  );
}

function createHandler<Auth, B extends QueryBody>(
  read: (body: Uint8Array) => { readonly body: B; readonly text: string },
  noData: object,
  answer: (body: B, call: HttpCall, text: string, auth: Auth) => Promise<string>,
): Handler<Auth> {
  const more = { data: noData };
  const refuse = (status: number, message: string, headers?: Record<string, string>): Response =>
    errorAnswer({ status, message: clipped(message), more }, headers);
  return async (request, auth, receive) => {
    if (request.method !== "POST") return refuse(405, `use POST, not ${request.method}`, { allow: "POST" });
    const type = request.headers.get("content-type");
    if (type !== null && !JSON_TYPE.test(type)) return refuse(415, `send JSON with Content-Type: application/json, not ${type}`);
    const deadline = deadlineOf(request);
    try {
      const { body, text } = read(await receive());
      const call = { headers: request.headers, signal: deadline.signal };
      return await encodedAnswer(request.headers, await answer(body, call, text, auth), JSON_HEADERS);
    } catch (error) {
      if (error instanceof BodyInvalid || error instanceof JsonRefused) return refuse(400, error.message);
      if (error instanceof QueryRefused) {
        const errors = error.errors.map((detail) => errorToJson(detail as JsonError));
        return errorAnswer({ status: 400, message: error.message, errors, more });
      }
      throw error;
    } finally {
      deadline.clear();
    }
  };
}

/** What a query is told of its request. */
interface HttpCall {
  readonly headers: Headers;
  readonly signal: AbortSignal;
}

/**
 * What a body may be said to be; one that is said to be nothing is read as JSON, because simple
 * clients leave it out.
 */
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

function arrivalOf<A>(door: string, body: QueryBody, ask: A, { headers, signal }: HttpCall, sent: string): IncomingQuery<A> {
  const { queryName, correlationId }: QueryRequest = body.ask;
  return {
    scope: scopeOf(headers, { environment: body.environment, branch: body.branch, deployment: body.deploymentId }),
    encoding: "json",
    request: sent,
    queryName,
    correlationId,
    signal,
    door,
    trace: body.ask.trace,
    parent: parentOf(headers),
    ask: () => ask,
  };
}

const JSON_HEADERS = encodedHeaders({
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
});
