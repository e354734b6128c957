/** QueryService: online queries over Connect. */

import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { ErrorDetailSchema } from "../../../../gen/svc/v1/error_pb.ts";
import {
  type QueryBulkResponse,
  QueryMultiResponseSchema,
  type QueryOutcomeSchema,
  type QueryRequest,
  QueryRequestSchema,
  QueryResponseSchema,
  QueryService,
} from "../../../../gen/svc/v1/query_pb.ts";
import { timestampToMicros } from "../../../domain/proto-time.ts";
import { deadlinePassed, Failure } from "../../failure.ts";
import { answerToBinary } from "../../query/answer/answer-bytes.ts";
import { bulkAnswerToProto, bulkSummary } from "../../query/bulk.ts";
import { QueryRefused } from "../../query/refusal.ts";
import { bulkColumnsFromProto, bulkRequestFromProto, requestFromProto } from "../../query/request/request.ts";
import { callerOf, toConnectError } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import type { BulkMessage } from "../query/bulk-message.ts";
import { parentOf, type Queries, runBulkQuery, runQuery, scopeOf } from "../query/endpoint.ts";
import { queryRunMethods } from "./recorded-query.ts";

/** A call of `Query` whose message was decoded. */
export interface QueryCall<Auth> {
  readonly message: QueryRequest;
  /** The bytes that the message was decoded from. */
  readonly received: Uint8Array;
  readonly headers: Headers;
  readonly auth: Auth;
  readonly signal: AbortSignal;
}

/** A handler of `Query` that returns the bytes of the response. Throws QueryRefused, Failure. */
export type AnswerCall<Auth> = (call: QueryCall<Auth>) => Promise<Uint8Array<ArrayBuffer>>;

/** Makes the handler of `Query`, for the direct and the general path. */
export function createQueryCalls<Auth>(queries: Queries<Auth>): AnswerCall<Auth> {
  return ({ message, received, headers, auth, signal }) =>
    runQuery(
      queries,
      {
        scope: scopeOf(headers, { deployment: message.deploymentId }),
        encoding: "proto",
        request: received,
        queryName: message.queryName,
        correlationId: message.correlationId,
        signal,
        endpoint: "QueryService.Query",
        trace: message.trace,
        parent: parentOf(headers),
        read: () => requestFromProto(message),
      },
      auth,
      (answer) => {
        const url = queries.pageOf(answer.queryId, answer.deployment.environmentId, headers);
        return answerToBinary(answer, message.includeMeta, url);
      },
    );
}

/** Runs a bulk query. Throws QueryRefused, Failure. */
export function answerBulkCall<Auth>(
  queries: Queries<Auth>,
  message: BulkMessage,
  headers: Headers,
  auth: Auth,
  signal: AbortSignal,
): Promise<QueryBulkResponse> {
  const query = message.query ?? create(QueryRequestSchema);
  const incoming = {
    scope: scopeOf(headers, { deployment: query.deploymentId }),
    encoding: "proto",
    request: toBinary(QueryRequestSchema, query),
    queryName: query.queryName,
    correlationId: query.correlationId,
    signal,
    endpoint: "QueryService.QueryBulk",
    trace: query.trace,
    parent: parentOf(headers),
    read: () => bulkRequestFromProto(query, message.columns, message.now),
  } as const;
  return runBulkQuery(queries, incoming, auth, (answer) => {
    const sent = bulkAnswerToProto(answer);
    if (sent.meta) sent.meta.url = queries.pageOf(answer.queryId, answer.deployment.environmentId, headers);
    return { sent, summary: toBinary(QueryResponseSchema, bulkSummary(answer)) };
  });
}

/** Most queries of a call of QueryMulti. */
const MOST_QUERIES = 100;

/** The direct handlers of single and bulk queries. */
export const direct = async () => (await import("./query-direct.ts")).DIRECT_CALLS;

/**
 * Adds the service to a router. Binary messages over Connect are served by `query-direct.ts`; all
 * other calls come here.
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
    async queryMulti({ queries }, context) {
      if (queries.length === 0 || queries.length > MOST_QUERIES)
        throw new Failure("invalid_argument", `A call has 1 to ${MOST_QUERIES} queries, and this one has ${queries.length}.`);
      const answer = createQueryCalls(await platform.queries());
      const { requestHeader: headers } = context;
      const call = { headers, auth: callerOf(context), signal: signalOf(context) };
      const outcome = async (message: QueryRequest): Promise<MessageInitShape<typeof QueryOutcomeSchema>> => {
        try {
          const bytes = await answer({ ...call, message, received: toBinary(QueryRequestSchema, message) });
          return { outcome: { case: "response", value: fromBinary(QueryResponseSchema, bytes) } };
        } catch (error) {
          if (!(error instanceof QueryRefused)) throw error;
          const shown = toConnectError(platform, "svc.v1.QueryService/QueryMulti", error);
          const errors = shown.findDetails(ErrorDetailSchema);
          return { outcome: { case: "failure", value: { code: codeToString(shown.code), message: shown.rawMessage, errors } } };
        }
      };
      return create(QueryMultiResponseSchema, { outcomes: await Promise.all(queries.map(outcome)) });
    },
    ...queryRunMethods(platform),
  });
}

/**
 * The signal of a call for the engine: when the caller's deadline aborts it, its reason is a
 * Failure deadline_exceeded.
 */
function signalOf({ signal }: HandlerContext): AbortSignal {
  const controller = new AbortController();
  const end = (): void =>
    controller.abort(ConnectError.from(signal.reason).code === Code.DeadlineExceeded ? deadlinePassed() : signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return controller.signal;
}
