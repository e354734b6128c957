/** QueryService: online queries over Connect. */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import {
  type QueryBulkResponse,
  type QueryRequest,
  QueryRequestSchema,
  QueryResponseSchema,
  QueryService,
} from "../../../../gen/svc/v1/query_pb.ts";
import { timestampToMicros } from "../../../domain/proto-time.ts";
import { deadlinePassed } from "../../failure.ts";
import { answerToBinary } from "../../query/answer/answer-bytes.ts";
import { bulkAnswerToProto, bulkSummary } from "../../query/bulk.ts";
import { bulkColumnsFromProto, bulkRequestFromProto, requestFromProto } from "../../query/request/request.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import type { BulkMessage } from "../query/bulk-message.ts";
import { parentOf, type Queries, runBulkQuery, runQuery, scopeOf } from "../query/endpoint.ts";
import { queryRunMethods } from "./query-run.ts";

/** A call of `Query` whose message was read. */
export interface QueryCall<Auth> {
  readonly message: QueryRequest;
  /** The bytes that it was read from. */
  readonly received: Uint8Array;
  readonly headers: Headers;
  readonly auth: Auth;
  readonly signal: AbortSignal;
}

/** Answers a call with the bytes of its response. Throws QueryRefused, Failure. */
export type AnswerCall<Auth> = (call: QueryCall<Auth>) => Promise<Uint8Array<ArrayBuffer>>;

/** Makes what answers calls, for both ways of serving them. */
export function createQueryCalls<Auth>(deps: Queries<Auth>): AnswerCall<Auth> {
  return ({ message, received, headers, auth, signal }) =>
    runQuery(
      deps,
      {
        scope: scopeOf(headers, { deployment: message.deploymentId }),
        encoding: "proto",
        request: received,
        queryName: message.queryName,
        correlationId: message.correlationId,
        signal,
        door: "QueryService.Query",
        trace: message.trace,
        parent: parentOf(headers),
        ask: () => requestFromProto(message),
      },
      auth,
      (answer) => {
        const url = deps.pageOf(answer.queryId, answer.deployment.environmentId, headers);
        return answerToBinary(answer, message.includeMeta, url);
      },
    );
}

/** Runs a bulk query. Throws QueryRefused, Failure. */
export function answerBulkCall<Auth>(
  deps: Queries<Auth>,
  message: BulkMessage,
  headers: Headers,
  auth: Auth,
  signal: AbortSignal,
): Promise<QueryBulkResponse> {
  const query = message.query ?? create(QueryRequestSchema);
  const arrival = {
    scope: scopeOf(headers, { deployment: query.deploymentId }),
    encoding: "proto",
    request: toBinary(QueryRequestSchema, query),
    queryName: query.queryName,
    correlationId: query.correlationId,
    signal,
    door: "QueryService.QueryBulk",
    trace: query.trace,
    parent: parentOf(headers),
    ask: () => bulkRequestFromProto(query, message.columns, message.now),
  } as const;
  return runBulkQuery(deps, arrival, auth, (answer) => {
    const sent = bulkAnswerToProto(answer);
    if (sent.meta) sent.meta.url = deps.pageOf(answer.queryId, answer.deployment.environmentId, headers);
    return { sent, summary: toBinary(QueryResponseSchema, bulkSummary(answer)) };
  });
}

/** Ways of its own for single and bulk queries. */
export const direct = async () => (await import("./query-direct.ts")).DIRECT_CALLS;

/**
 * Adds the service to a router. Queries that are binary messages over Connect have a door of their
 * own, `query-direct.ts`; the others come here.
 */
export function register(router: ConnectRouter, platform: Platform): void {
  router.service(QueryService, {
    async query(message, context) {
      const answer = createQueryCalls(await platform.queries());
      const received = toBinary(QueryRequestSchema, message);
      const { requestHeader: headers } = context;
      const signal = signalOf(context);
      return fromBinary(QueryResponseSchema, await answer({ message, received, headers, auth: callerOf(context), signal }));
    },
    async queryBulk(message, context) {
      const bulk = { query: message.query, columns: bulkColumnsFromProto(message), now: message.now.map(timestampToMicros) };
      return answerBulkCall(await platform.queries(), bulk, context.requestHeader, callerOf(context), signalOf(context));
    },
    ...queryRunMethods(platform),
  });
}

/**
 * The signal of a call as the engine knows it: ended by the caller's deadline, its reason is a
 * Failure that says so.
 */
function signalOf({ signal }: HandlerContext): AbortSignal {
  const controller = new AbortController();
  const end = (): void =>
    controller.abort(ConnectError.from(signal.reason).code === Code.DeadlineExceeded ? deadlinePassed() : signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return controller.signal;
}
