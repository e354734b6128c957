/** QueryService: online queries over Connect. */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import {
  type QueryBulkResponse,
  type QueryRequest,
  QueryRequestSchema,
  QueryResponseSchema,
  QueryService,
} from "../../../gen/svc/v1/query_pb.ts";
import { timestampToMicros } from "../../domain/proto-time.ts";
import type { Caller } from "../auth/tokens.ts";
import { deadlinePassed } from "../failure.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { queriesOf } from "../queries.ts";
import { answerToBinary } from "../query/answer/answer-bytes.ts";
import { bulkAnswerToProto, bulkSummary } from "../query/bulk.ts";
import { askFromProto, bulkAskFromProto, bulkColumnsFromProto } from "../query/request/request.ts";
import type { BulkMessage } from "./bulk-message.ts";
import { parentOf, type QueryDoorDeps, runBulkQuery, runQuery, scopeOf } from "./query-door.ts";
import { queryRunMethods } from "./query-run.ts";

/** What the service works with. */
export interface QueryServiceDeps<Auth> extends QueryDoorDeps<Auth> {
  /** Page of the dashboard that shows a run that is recorded now, for whoever sent these headers; empty = none. */
  pageOf(queryId: string, environmentId: string, headers: Headers): string;
}

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
export function createQueryCalls<Auth>(deps: QueryServiceDeps<Auth>): AnswerCall<Auth> {
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
        ask: () => askFromProto(message),
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
  deps: QueryServiceDeps<Auth>,
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
    ask: () => bulkAskFromProto(query, message.columns, message.now),
  } as const;
  return runBulkQuery(deps, arrival, auth, (answer) => {
    const sent = bulkAnswerToProto(answer);
    if (sent.meta) sent.meta.url = deps.pageOf(answer.queryId, answer.deployment.environmentId, headers);
    return { sent, summary: toBinary(QueryResponseSchema, bulkSummary(answer)) };
  });
}

interface Loaded {
  readonly deps: QueryServiceDeps<Caller>;
  readonly answer: AnswerCall<Caller>;
}

const loaded = new WeakMap<Platform, Promise<Loaded>>();

/** What answers the calls of a server. The engine is loaded with the first query. */
function load(platform: Platform): Promise<Loaded> {
  const known = loaded.get(platform);
  if (known) return known;
  const loading = queriesOf(platform).then((queries) => {
    const deps = { ...queries, clock: platform.clock };
    return { deps, answer: createQueryCalls(deps) };
  });
  loaded.set(platform, loading);
  loading.catch(() => loaded.delete(platform));
  return loading;
}

/** What answers the single queries of a server. */
export async function queryCallsOf(platform: Platform): Promise<AnswerCall<Caller>> {
  return (await load(platform)).answer;
}

/** What answers the bulk queries of a server. */
export async function bulkCallsOf(platform: Platform): Promise<QueryServiceDeps<Caller>> {
  return (await load(platform)).deps;
}

/** Ways of its own for single and bulk queries. */
export const direct = async () => (await import("./query-direct.ts")).DIRECT_CALLS;

/**
 * Adds the service to a router. Queries that are binary messages over Connect have a door of their own, `query-direct.ts`; the others come here.
 */
export function register(router: ConnectRouter, platform: Platform): void {
  router.service(QueryService, {
    async query(message, context) {
      const answer = await queryCallsOf(platform);
      const received = toBinary(QueryRequestSchema, message);
      const { requestHeader: headers } = context;
      const signal = signalOf(context);
      return fromBinary(QueryResponseSchema, await answer({ message, received, headers, auth: callerOf(context), signal }));
    },
    async queryBulk(message, context) {
      const bulk = { query: message.query, columns: bulkColumnsFromProto(message), now: message.now.map(timestampToMicros) };
      return answerBulkCall(await bulkCallsOf(platform), bulk, context.requestHeader, callerOf(context), signalOf(context));
    },
    ...queryRunMethods(platform),
  });
}

/** The signal of a call as the engine knows it: ended by the caller's deadline, its reason is a Failure that says so. */
function signalOf({ signal }: HandlerContext): AbortSignal {
  const controller = new AbortController();
  const end = (): void =>
    controller.abort(ConnectError.from(signal.reason).code === Code.DeadlineExceeded ? deadlinePassed() : signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return controller.signal;
}
