/** The server's one door: every request goes through the guard, then by its path to a service, an HTTP endpoint or a page. What costs time to load is loaded on first use. */

import { Failure } from "./failure.ts";
import { BodyRefused, readBody } from "./http/body.ts";
import type { Guard } from "./http/guard.ts";
import { failureResponse, json, jsonError, methodNotAllowed } from "./http/respond.ts";
import { newId } from "./identifier.ts";
import type { Platform } from "./platform.ts";
import type { ServiceHandlers } from "./services/mount.ts";

/** What the listener knows of a request beside the request. */
export interface Connection {
  /** Address of the other side; undefined when it is this process. */
  readonly peer?: () => string | undefined;
  /** Lets a request take as long as it needs. */
  readonly unhurried?: () => void;
}

/** Answers requests. Never rejects. */
export type FetchHandler = (request: Request, connection?: Connection) => Promise<Response>;

/** Longest body of a call; a graph of some thousand features has about 2 MB. */
const MAX_CALL_BYTES = 32 * 1024 * 1024;
/** Longest body of a bulk query. */
const MAX_BULK_BYTES = 256 * 1024 * 1024;
const BULK_PATH = "/svc.v1.QueryService/QueryBulk";
const RPC_PATH = /^\/svc\.v1\.\w+\/\w+$/;

/** What is asked so often that its successes are worth a line only when debugging; queries have a log of their own. */
const QUIET_PATHS: ReadonlySet<string> = new Set(["/health", "/v1/query/online", "/svc.v1.QueryService/Query"]);

/** Makes the handler of a server. */
export function createRouter(platform: Platform, guard: Guard): FetchHandler {
  const { clock, log } = platform;
  let services: Promise<ServiceHandlers> | undefined;
  let serveQuery: typeof import("./http/query.ts").serveQuery | undefined;
  const loadServices = (): Promise<ServiceHandlers> => {
    services ??= import("./services/mount.ts").then(({ createServiceHandlers }) => createServiceHandlers(platform));
    return services;
  };

  const call = async (request: Request, path: string, connection: Connection): Promise<Response> => {
    const handlers = await loadServices();
    const handle = await handlers.find(path);
    if (!handle) return jsonError(404, "not_found", `There is no method ${path}.`);
    const body = await readBody(request, path === BULK_PATH ? MAX_BULK_BYTES : MAX_CALL_BYTES);
    connection.unhurried?.();
    return handle(request, body);
  };

  const route = async (request: Request, url: URL, connection: Connection): Promise<Response> => {
    const path = url.pathname;
    if (RPC_PATH.test(path)) return call(request, path, connection);
    if (path === "/v1/query/online") {
      serveQuery ??= (await import("./http/query.ts")).serveQuery;
      return serveQuery(platform, request, connection);
    }
    if (path === "/v1/query/bulk") return (await import("./http/query.ts")).serveBulkQuery(platform, request, connection);
    if (path === "/health") return isRead(request) ? json({ status: "ok", version: platform.version }) : methodNotAllowed("GET");
    if (path === "/v1/oauth/token") return (await import("./http/token.ts")).exchangeToken(platform, request);
    if (path === "/v1/who-am-i") return (await import("./http/who-am-i.ts")).whoAmI(platform, request);
    if (path.startsWith("/v1/objects/")) return (await import("./http/objects.ts")).serveObject(platform, request, url);
    if (path.startsWith("/v1/")) return jsonError(404, "not_found", `There is nothing at ${path}.`);
    const peer = connection.peer?.();
    return (await import("./ui/pages.ts")).servePage(platform, request, url, peer);
  };

  /** The address of a request that the mirror answers, whoever sends it; undefined for all others. */
  const mirrorUrl = (request: Request): URL | undefined => {
    const url = platform.releases && URL.parse(request.url);
    return url && platform.releases?.has(url.pathname) ? url : undefined;
  };

  return async (request, connection = {}) => {
    const began = performance.now();
    const mirrored = mirrorUrl(request);
    const refused = mirrored ? undefined : guard(request.headers, connection.peer);
    const url = mirrored ?? (refused === undefined ? URL.parse(request.url) : undefined);
    let response: Response;
    if (!url)
      response = jsonError(refused === undefined ? 400 : 403, "request_refused", refused ?? "The address of the request cannot be read.");
    else {
      try {
        const fromMirror = mirrored && platform.releases?.serve(request, url, connection.peer?.());
        response = await (fromMirror ?? route(request, url, connection));
      } catch (error) {
        response = errorResponse(error, request, url);
      }
    }
    const path = url?.pathname ?? "";
    const quiet = response.ok && QUIET_PATHS.has(path);
    const level = quiet ? "debug" : response.status >= 500 ? "warning" : "info";
    if (log.enabled(level)) {
      const ms = Math.round((performance.now() - began) * 100) / 100;
      log[level]("request", { method: request.method, path, status: response.status, ms, refused });
    }
    return response;
  };

  function errorResponse(error: unknown, request: Request, url: URL): Response {
    if (error instanceof Failure) return failureResponse(error);
    if (error instanceof BodyRefused)
      return jsonError(error.status, error.status === 413 ? "body_too_large" : "body_too_slow", error.message);
    if (request.signal.aborted) return jsonError(499, "client_closed_request", "The client went away.");
    const id = newId("req", clock.now());
    log.error("unexpected error", {
      id,
      method: request.method,
      path: url.pathname,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    return jsonError(500, "internal", `The server failed (${id}). Its log has the details.`);
  }
}

function isRead(request: Request): boolean {
  return request.method === "GET" || request.method === "HEAD";
}
