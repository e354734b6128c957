/** The JSON query API: `POST /v1/query/online`, `bulk`, `multi`, `plan`, `expression`. */

import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { authorize } from "../../access/authorize.ts";
import type { Caller } from "../../access/tokens.ts";
import { Failure } from "../../failure.ts";
import type { SeenCaller } from "../access-record.ts";
import type { Connection } from "../connection.ts";
import { readBody } from "../http/body.ts";
import type { BodyShare } from "../http/body-budget.ts";
import { failureResponse } from "../http/respond.ts";
import type { Platform } from "../platform.ts";
import { Expressions } from "./expressions.ts";
import {
  createBulkQueryHttp,
  createExpressionHttp,
  createMultiQueryHttp,
  createPlanHttp,
  createQueryHttp,
  MAX_BULK_QUERY_BYTES,
  MAX_EXPRESSION_BYTES,
  MAX_QUERY_BYTES,
  NO_COLUMNS,
  NO_OUTCOMES,
  NO_PLAN,
  NO_RESULTS,
} from "./query-http.ts";

type Handler = (request: Request, caller: Caller, receive: () => Promise<Uint8Array>) => Promise<Response>;

/**
 * An endpoint of the JSON query API: its handler, its longest body in bytes, and what a refused
 * query answers beside its errors.
 */
interface JsonEndpoint {
  readonly create: (platform: Platform) => Promise<Handler>;
  readonly maxBytes: number;
  readonly more: Readonly<Record<string, unknown>>;
}

const ONLINE: JsonEndpoint = {
  create: async ({ queries }) => createQueryHttp(await queries()),
  maxBytes: MAX_QUERY_BYTES,
  more: { data: NO_RESULTS },
};
const BULK: JsonEndpoint = {
  create: async ({ queries }) => createBulkQueryHttp(await queries()),
  maxBytes: MAX_BULK_QUERY_BYTES,
  more: { data: NO_COLUMNS },
};
const MULTI: JsonEndpoint = {
  create: async ({ queries }) => createMultiQueryHttp(await queries()),
  maxBytes: MAX_QUERY_BYTES,
  more: { outcomes: NO_OUTCOMES },
};
const PLAN: JsonEndpoint = { create: async ({ queries }) => createPlanHttp(await queries()), maxBytes: MAX_QUERY_BYTES, more: NO_PLAN };
const EXPRESSION: JsonEndpoint = {
  create: async ({ stopping, clock }) => createExpressionHttp(new Expressions(stopping), clock),
  maxBytes: MAX_EXPRESSION_BYTES,
  more: { data: NO_RESULTS },
};

/** A handler of all requests to one path. */
export type Route = (request: Request, connection: Connection, share: BodyShare, seen: SeenCaller) => Promise<Response>;

/**
 * The route of `POST /v1/query/online`. Failures before the query ran have the form of a query's
 * errors.
 */
export function queryRoute(platform: Platform): Route {
  return routeOf(ONLINE, platform);
}

/** The route of `POST /v1/query/bulk`. */
export function bulkQueryRoute(platform: Platform): Route {
  return routeOf(BULK, platform);
}

/** The route of `POST /v1/query/multi`. */
export function multiQueryRoute(platform: Platform): Route {
  return routeOf(MULTI, platform);
}

/** The route of `POST /v1/query/plan`. */
export function planRoute(platform: Platform): Route {
  return routeOf(PLAN, platform);
}

/** The route of `POST /v1/query/expression`. */
export function expressionRoute(platform: Platform): Route {
  return routeOf(EXPRESSION, platform);
}

/** The route of an endpoint; the engine is loaded with the first query. */
function routeOf({ create, maxBytes, more }: JsonEndpoint, platform: Platform): Route {
  let handle: Promise<Handler> | undefined;
  return async (request, connection, share, seen) => {
    try {
      const caller = await authorize(platform.callers, request.headers, Permission.QUERY_ONLINE);
      if (!caller) throw new Error("queries need credentials");
      seen.clientId = caller.clientId;
      handle ??= create(platform);
      return await (await handle)(request, caller, async () => {
        const body = await readBody(request, maxBytes, { share, inflates: true });
        connection.unhurried?.();
        return body;
      });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return failureResponse(error, more);
    }
  };
}
