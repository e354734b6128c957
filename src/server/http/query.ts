/** `POST /v1/query/online`: the JSON query API for thin clients. */

import { ErrorCategory, ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { Permission } from "../../../gen/svc/v1/options_pb.ts";
import { authorize } from "../access.ts";
import type { Caller } from "../auth/tokens.ts";
import { Failure } from "../failure.ts";
import { FAILURE_CODES } from "../failure-codes.ts";
import type { Platform } from "../platform.ts";
import { queriesOf } from "../queries.ts";
import type { Connection } from "../router.ts";
import { createQueryHttp, MAX_QUERY_BYTES } from "../services/query-http.ts";
import { readBody } from "./body.ts";
import { failureStatus, json } from "./respond.ts";

type Handler = (request: Request, caller: Caller) => Promise<Response>;

const handlers = new WeakMap<Platform, Promise<Handler>>();

/** Answers a query. Failures before it ran have the shape of a query's errors. */
export async function serveQuery(platform: Platform, request: Request, connection: Connection): Promise<Response> {
  const handler = handlers.get(platform) ?? createHandler(platform);
  handlers.set(platform, handler);
  try {
    const caller = await authorize(platform.tokens, request.headers, Permission.QUERY_ONLINE);
    if (!caller) throw new Error("queries need credentials");
    const bounded = await withBoundedBody(request);
    connection.unhurried?.();
    return await (await handler)(bounded, caller);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const [code, category] = FAILURE_CODES[error.kind];
    const message = error.detail.hint ? `${error.message} ${error.detail.hint}` : error.message;
    const named = code === ErrorCode.UNSPECIFIED ? ErrorCode.INVALID_QUERY : code;
    return json({ data: [], errors: [{ code: ErrorCode[named], category: ErrorCategory[category], message }] }, failureStatus(error));
  }
}

async function createHandler(platform: Platform): Promise<Handler> {
  const queries = await queriesOf(platform);
  return createQueryHttp<Caller>({
    engine: queries.engine,
    clock: platform.clock,
    resolveDeployment: (scope, caller) => queries.resolveDeployment(scope, caller),
    recordQuery: (record) => queries.recordQuery(record),
  });
}

/** A request whose body is not longer than a query's may be: as it is when it says so itself, else read up to there. */
async function withBoundedBody(request: Request): Promise<Request> {
  const announced = request.headers.get("content-length");
  if (!request.body || (announced !== null && Number(announced) <= MAX_QUERY_BYTES)) return request;
  const body = (await readBody(request, MAX_QUERY_BYTES)) as Uint8Array<ArrayBuffer>;
  return new Request(request.url, { method: request.method, headers: request.headers, body, signal: request.signal });
}
