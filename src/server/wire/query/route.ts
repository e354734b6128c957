/** `POST /v1/query/online` and `POST /v1/query/bulk`: the JSON query API for thin clients. */

import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { authorize } from "../../access/authorize.ts";
import type { Caller } from "../../access/tokens.ts";
import { Failure } from "../../failure.ts";
import type { Connection } from "../connection.ts";
import { readBody } from "../http/body.ts";
import type { BodyShare } from "../http/body-budget.ts";
import { failureResponse } from "../http/respond.ts";
import type { Platform } from "../platform.ts";
import type { QueryDoorDeps } from "./endpoint.ts";
import { queriesOf } from "./queries.ts";
import { createBulkQueryHttp, createQueryHttp, MAX_BULK_QUERY_BYTES, MAX_QUERY_BYTES, NO_COLUMNS, NO_RESULTS } from "./query-http.ts";

type Handler = (request: Request, caller: Caller, receive: () => Promise<Uint8Array>) => Promise<Response>;

/** A door of the JSON query API: what its handler is, how long a body may be, and `data` of a refused query. */
interface Door {
  readonly create: (deps: QueryDoorDeps<Caller>) => Handler;
  readonly maxBytes: number;
  readonly noData: object;
  readonly handlers: WeakMap<Platform, Promise<Handler>>;
}

const ONLINE: Door = { create: createQueryHttp, maxBytes: MAX_QUERY_BYTES, noData: NO_RESULTS, handlers: new WeakMap() };
const BULK: Door = { create: createBulkQueryHttp, maxBytes: MAX_BULK_QUERY_BYTES, noData: NO_COLUMNS, handlers: new WeakMap() };

/** Answers `POST /v1/query/online`. Failures before the query ran have the shape of a query's errors. */
export function serveQuery(platform: Platform, request: Request, connection: Connection, share: BodyShare): Promise<Response> {
  return serve(ONLINE, platform, request, connection, share);
}

/** Answers `POST /v1/query/bulk`. */
export function serveBulkQuery(platform: Platform, request: Request, connection: Connection, share: BodyShare): Promise<Response> {
  return serve(BULK, platform, request, connection, share);
}

async function serve(door: Door, platform: Platform, request: Request, connection: Connection, share: BodyShare): Promise<Response> {
  try {
    const caller = await authorize(platform.callers, request.headers, Permission.QUERY_ONLINE);
    if (!caller) throw new Error("queries need credentials");
    const handle = await handlerOf(door, platform);
    return await handle(request, caller, async () => {
      const body = await readBody(request, door.maxBytes, { share, inflates: true });
      connection.unhurried?.();
      return body;
    });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return failureResponse(error, { data: door.noData });
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
