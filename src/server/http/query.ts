/** `POST /v1/query/online` and `POST /v1/query/bulk`: the JSON query API for thin clients. */

import { ErrorCategory, ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { Permission } from "../../../gen/svc/v1/options_pb.ts";
import { authorize } from "../access.ts";
import type { Caller } from "../auth/tokens.ts";
import { Failure } from "../failure.ts";
import { FAILURE_CODES } from "../failure-codes.ts";
import type { Platform } from "../platform.ts";
import { queriesOf } from "../queries.ts";
import type { Connection } from "../router.ts";
import type { QueryDoorDeps } from "../services/query-door.ts";
import { createBulkQueryHttp, createQueryHttp, MAX_BULK_QUERY_BYTES, MAX_QUERY_BYTES } from "../services/query-http.ts";
import { readBody } from "./body.ts";
import { failureStatus, json } from "./respond.ts";

type Handler = (request: Request, caller: Caller) => Promise<Response>;

/** A door of the JSON query API: what its handler is, and how long a body may be. */
interface Door {
  readonly create: (deps: QueryDoorDeps<Caller>) => Handler;
  readonly maxBytes: number;
  readonly handlers: WeakMap<Platform, Promise<Handler>>;
}

const ONLINE: Door = { create: createQueryHttp, maxBytes: MAX_QUERY_BYTES, handlers: new WeakMap() };
const BULK: Door = { create: createBulkQueryHttp, maxBytes: MAX_BULK_QUERY_BYTES, handlers: new WeakMap() };

/** Answers `POST /v1/query/online`. Failures before the query ran have the shape of a query's errors. */
export function serveQuery(platform: Platform, request: Request, connection: Connection): Promise<Response> {
  return serve(ONLINE, platform, request, connection);
}

/** Answers `POST /v1/query/bulk`. */
export function serveBulkQuery(platform: Platform, request: Request, connection: Connection): Promise<Response> {
  return serve(BULK, platform, request, connection);
}

async function serve(door: Door, platform: Platform, request: Request, connection: Connection): Promise<Response> {
  try {
    const caller = await authorize(platform.tokens, request.headers, Permission.QUERY_ONLINE);
    if (!caller) throw new Error("queries need credentials");
    const bounded = await withBoundedBody(request, door.maxBytes);
    connection.unhurried?.();
    return await (await handlerOf(door, platform))(bounded, caller);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const [code, category] = FAILURE_CODES[error.kind];
    const message = error.detail.hint ? `${error.message} ${error.detail.hint}` : error.message;
    const named = code === ErrorCode.UNSPECIFIED ? ErrorCode.INVALID_QUERY : code;
    return json({ data: [], errors: [{ code: ErrorCode[named], category: ErrorCategory[category], message }] }, failureStatus(error));
  }
}

function handlerOf({ create, handlers }: Door, platform: Platform): Promise<Handler> {
  const known = handlers.get(platform);
  if (known) return known;
  const handler = createHandler(create, platform);
  handlers.set(platform, handler);
  handler.catch(() => handlers.delete(platform));
  return handler;
}

async function createHandler(create: Door["create"], platform: Platform): Promise<Handler> {
  return create({ ...(await queriesOf(platform)), clock: platform.clock });
}

/** A request whose body is not longer than a query's may be: as it is when it says so itself, else read up to there. */
async function withBoundedBody(request: Request, maxBytes: number): Promise<Request> {
  const announced = request.headers.get("content-length");
  if (announced !== null && Number(announced) <= maxBytes) return request;
  if (!request.body) return request;
  const body = (await readBody(request, maxBytes)) as Uint8Array<ArrayBuffer>;
  return new Request(request.url, { method: request.method, headers: request.headers, body, signal: request.signal });
}
