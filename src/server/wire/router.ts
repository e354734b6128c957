/**
 * The router of all requests: each passes the guard, then goes by its path to a service, an HTTP
 * endpoint or a page. Handlers that take time to load are loaded on first use.
 */

import type { Caller } from "../access/tokens.ts";
import { Failure, outOfSpace } from "../failure.ts";
import { newId } from "../identifier.ts";
import { accessRecord, type SeenCaller } from "./access-record.ts";
import type { CallNote } from "./call-audit.ts";
import type { Connection, FetchHandler } from "./connection.ts";
import { AUDITED_ENDPOINTS } from "./http/audited-endpoints.ts";
import { BodyRefused, hasUnreadBody } from "./http/body.ts";
import type { BodyShare } from "./http/body-budget.ts";
import { clientAddress, dropForeignClaims } from "./http/forwarded.ts";
import { type Guard, isLoopbackPeer } from "./http/guard.ts";
import { gatewaySuspended, isOpenWhileSuspended, SUSPENDED_RETRY_S } from "./http/ingress.ts";
import { codeOfStatus, errorAnswer, failureResponse, json, jsonError, methodNotAllowed, text } from "./http/respond.ts";
import type { Platform } from "./platform.ts";
import type { ServiceMethods } from "./services/mount.ts";

/** `/<package>.<Service>/<Method>`, of this contract or of another. */
const RPC_PATH = /^\/(?:\w+\.)+\w+\/\w+$/;

/** A request with its parsed URL, its connection and its share of the body budget. */
interface IncomingRequest {
  readonly request: Request;
  readonly url: URL;
  readonly connection: Connection;
  /** The part of the server's room for bodies that the request holds. */
  readonly share: BodyShare;
  /** What the request is counted as. */
  readonly served: { endpoint: string };
  /** Who sent it, once that is known. */
  readonly seen: SeenCaller;
  /** What the audit log will say of the call; absent when it has no row there. */
  readonly note?: CallNote;
  /** Answers another request, which an endpoint makes on behalf of this one. */
  readonly again: FetchHandler;
}

type Endpoint = (incoming: IncomingRequest) => Response | Promise<Response>;

async function serveDocs(): Promise<Endpoint> {
  const docs = await import("../pages/docs.ts");
  return ({ request, url }) => docs.serveDocs(request, url);
}

/**
 * The plain HTTP endpoints by path, loaded on first use. A path that ends with a slash stands for
 * all paths below it.
 */
export const ENDPOINTS: Readonly<Record<string, (platform: Platform) => Promise<Endpoint>>> = {
  "/health": async (platform) => (incoming) => health(platform, incoming),
  "/health/ready": async (platform) => {
    const { serveReadiness } = await import("./http/ready.ts");
    return ({ request }) => serveReadiness(platform, request);
  },
  "/metrics": async (platform) => {
    const { serveMetrics } = await import("./http/metrics.ts");
    return ({ request, connection }) => serveMetrics(platform, request, connection);
  },
  "/v1/query/online": async (platform) => {
    const route = (await import("./query/route.ts")).queryRoute(platform);
    return ({ request, connection, share, seen }) => route(request, connection, share, seen);
  },
  "/v1/query/bulk": async (platform) => {
    const route = (await import("./query/route.ts")).bulkQueryRoute(platform);
    return ({ request, connection, share, seen }) => route(request, connection, share, seen);
  },
  "/v1/query/multi": async (platform) => {
    const route = (await import("./query/route.ts")).multiQueryRoute(platform);
    return ({ request, connection, share, seen }) => route(request, connection, share, seen);
  },
  "/v1/query/plan": async (platform) => {
    const route = (await import("./query/route.ts")).planRoute(platform);
    return ({ request, connection, share, seen }) => route(request, connection, share, seen);
  },
  "/v1/query/expression": async (platform) => {
    const route = (await import("./query/route.ts")).expressionRoute(platform);
    return ({ request, connection, share, seen }) => route(request, connection, share, seen);
  },
  "/v1/features/upload": async (platform) => {
    const { uploadFeatures } = await import("./http/features.ts");
    return ({ request, connection, share, note }) => uploadFeatures(platform, request, connection, share, note);
  },
  "/v1/features/rows": async (platform) => {
    const { deleteRows } = await import("./http/features.ts");
    return ({ request, connection, share, note }) => deleteRows(platform, request, connection, share, note);
  },
  "/v1/features/columns": async (platform) => {
    const { deleteColumns } = await import("./http/features.ts");
    return ({ request, connection, share, note }) => deleteColumns(platform, request, connection, share, note);
  },
  "/v1/branches": async (platform) => {
    const { listBranches } = await import("./http/branches.ts");
    return ({ request }) => listBranches(platform, request);
  },
  "/v1/openapi.json": async ({ version }) => {
    // Anyone gets it: it says nothing that is not published with each release, and is made once.
    const document = JSON.stringify((await import("./openapi/document.ts")).openApi(version));
    return ({ request }) => (isRead(request) ? text(document, "application/json") : methodNotAllowed("GET"));
  },
  "/v1/oauth/token": async (platform) => {
    const { exchangeToken } = await import("./http/token.ts");
    return ({ request, note }) => exchangeToken(platform, request, note);
  },
  "/v1/oauth/register": async (platform) => {
    const { registerApp } = await import("../ui/app-login.ts");
    return ({ request }) => registerApp(platform, request);
  },
  "/v1/oauth/authorize": async (platform) => {
    const { authorizeApp } = await import("../ui/app-login.ts");
    return ({ request, url, connection, note }) =>
      authorizeApp(platform, request, url, clientAddress(request.headers, connection.peer), note);
  },
  "/login/oidc": async (platform) => {
    const { beginLogin } = await import("../ui/provider-login.ts");
    return ({ request, url, connection }) => beginLogin(platform, request, url, clientAddress(request.headers, connection.peer));
  },
  "/login/oidc/callback": async (platform) => {
    const { finishLogin } = await import("../ui/provider-login.ts");
    return ({ request, url, connection, note }) => {
      connection.unhurried?.();
      return finishLogin(platform, request, url, note);
    };
  },
  "/v1/who-am-i": async (platform) => {
    const { whoAmI } = await import("./http/who-am-i.ts");
    return ({ request }) => whoAmI(platform, request);
  },
  "/v1/objects/": async (platform) => {
    const { serveObject } = await import("./http/objects.ts");
    return ({ request, url, note }) => serveObject(platform, request, url, note);
  },
  "/v1/notebook-outputs/": async (platform) => {
    const { serveOutput } = await import("./http/notebook-outputs.ts");
    return ({ request, url }) => serveOutput(platform, request, url);
  },
  "/v1/offline-queries": async (platform) => {
    const { beginQuery } = await import("./http/offline-queries.ts");
    return (incoming) => beginQuery(platform, incoming);
  },
  "/v1/offline-queries/": async (platform) => {
    const { serveQuery } = await import("./http/offline-queries.ts");
    return (incoming) => serveQuery(platform, incoming);
  },
  "/v1/runs": async (platform) => {
    const { triggerResolver } = await import("./http/runs.ts");
    return (incoming) => triggerResolver(platform, incoming);
  },
  "/v1/runs/": async (platform) => {
    const { serveRun } = await import("./http/runs.ts");
    return ({ request, url }) => serveRun(platform, request, url);
  },
  "/v1/datasets/": async (platform) => {
    const { serveDataset } = await import("./http/datasets.ts");
    return ({ request, url }) => serveDataset(platform, request, url);
  },
  "/v1/shells": async (platform) => {
    const { openShell } = await import("./http/shells.ts");
    return ({ request, connection }) => openShell(platform, request, connection);
  },
  "/v1/sandboxes/exec": async (platform) => {
    const { openExec } = await import("./http/shells.ts");
    return ({ request, connection }) => openExec(platform, request, connection);
  },
  "/v1/traces": async (platform) => {
    const { receiveTraces } = await import("./http/otlp.ts");
    return ({ request, connection, share }) => receiveTraces(platform, request, connection, share);
  },
  "/v1/logs": async (platform) => {
    const { receiveLogs } = await import("./http/otlp.ts");
    return ({ request, connection, share }) => receiveLogs(platform, request, connection, share);
  },
  "/v1/metrics": async (platform) => {
    const { receiveMetrics } = await import("./http/otlp.ts");
    return ({ request, connection, share }) => receiveMetrics(platform, request, connection, share);
  },
  "/mcp": async (platform) => {
    const [{ createMcp }, { readGuides }] = await Promise.all([import("./http/mcp.ts"), import("../../docs/guide-texts.ts")]);
    return createMcp(platform, await readGuides());
  },
  "/.well-known/oauth-protected-resource/mcp": async (platform) => {
    const { serveResourceMetadata } = await import("./http/oauth-metadata.ts");
    return ({ request }) => serveResourceMetadata(platform, request);
  },
  "/.well-known/oauth-authorization-server": async (platform) => {
    const { serveExchangeMetadata } = await import("./http/oauth-metadata.ts");
    return ({ request }) => serveExchangeMetadata(platform, request);
  },
  "/docs": serveDocs,
  "/docs/": serveDocs,
  "/v1/":
    async () =>
    ({ url }) =>
      jsonError(404, "not_found", `There is nothing at ${url.pathname}.`),
  "/": async (platform) => {
    const { servePage } = await import("../pages/pages.ts");
    return ({ request, url, note }) => servePage(platform, request, url, note);
  },
};

/**
 * Answers `/health`. Clients on this machine also get the process id, so that `svc server stop`
 * ends the right process.
 */
function health({ version }: Platform, { request, connection }: IncomingRequest): Response {
  if (!isRead(request)) return methodNotAllowed("GET");
  return json({ status: "ok", version, ...(isLoopbackPeer(clientAddress(request.headers, connection.peer)) ? { pid: process.pid } : {}) });
}

const FOLDERS = Object.keys(ENDPOINTS)
  .filter((path) => path.endsWith("/"))
  .sort((a, b) => b.length - a.length);

/** The key in ENDPOINTS for a path: the path itself, else its longest parent folder there. */
function endpointOf(path: string): string {
  return Object.hasOwn(ENDPOINTS, path) ? path : (FOLDERS.find((folder) => path.startsWith(folder)) ?? "/");
}

/** Statuses that say that the caller was refused. */
const REFUSALS: Readonly<Record<number, string>> = { 401: "unauthenticated", 403: "permission_denied" };

/** What requests that were refused, or that nothing serves, are counted as. */
const OTHER_ENDPOINT = "other";
const READINESS_PATH = "/health/ready";
/**
 * Paths requested so often that their successes are logged only at level debug; queries have a log
 * of their own.
 */
const QUIET_PATHS: ReadonlySet<string> = new Set([
  ...["/health", READINESS_PATH, "/v1/query/online", "/svc.v1.QueryService/Query"],
  ...["/v1/traces", "/v1/logs", "/v1/metrics"],
]);

/** Makes the handler of a server. */
export function createRouter(platform: Platform, guard: Guard): FetchHandler {
  const { afterAnswers, clock, components, log, logRecorder, http, metrics, tokens } = platform;
  let services: Promise<ServiceMethods> | undefined;
  const endpoints = new Map<string, Endpoint>();
  const loadServices = (): Promise<ServiceMethods> => {
    services ??= import("./services/mount.ts").then(({ createServiceMethods }) => createServiceMethods(platform));
    return services;
  };

  /** Who sent a request, by a token that was found good. */
  const clientOf = ({ headers }: Request): string | undefined => {
    const header = headers.get("authorization");
    return header?.startsWith("Bearer ") ? tokens.remembered(header.slice("Bearer ".length).trim())?.clientId : undefined;
  };

  const call = async ({ request, connection, share, served, seen }: IncomingRequest, path: string): Promise<Response> => {
    const method = await (await loadServices()).find(path);
    if (!method) return noSuchMethod(request, path);
    served.endpoint = path;
    if (request.method !== "POST") return methodNotAllowed("POST");
    let caller: Caller | undefined;
    try {
      caller = await method.authorize(request.headers);
      if (caller) seen.clientId = caller.clientId;
    } catch (error) {
      if (error instanceof Failure) await refused(request, connection, path.slice(1), error.kind);
      return method.refuse(request, error);
    }
    const body = await method.receive(request, share);
    connection.unhurried?.();
    return method.handle(request, body, caller, () => clientAddress(request.headers, connection.peer));
  };

  const route = async (incoming: IncomingRequest): Promise<Response> => {
    const path = incoming.url.pathname;
    if (RPC_PATH.test(path)) return await call(incoming, path);
    const key = endpointOf(path);
    incoming.served.endpoint = key;
    let endpoint = endpoints.get(key);
    if (!endpoint) {
      endpoint = await (ENDPOINTS[key] as (platform: Platform) => Promise<Endpoint>)(platform);
      endpoints.set(key, endpoint);
    }
    const audited = AUDITED_ENDPOINTS.find((one) => one.path === key && one.method === incoming.request.method);
    if (audited) return await callAudited(endpoint, incoming, audited.name);
    const response = await answerOf(endpoint, incoming);
    const code = REFUSALS[response.status];
    if (code !== undefined) await refused(incoming.request, incoming.connection, key, code);
    return response;
  };

  const answerOf = async (endpoint: Endpoint, incoming: IncomingRequest): Promise<Response> => {
    try {
      return await endpoint(incoming);
    } catch (error) {
      return errorResponse(error, incoming.request, incoming.url);
    }
  };

  /** Calls an endpoint whose calls are answered when the audit log has their row. */
  const callAudited = async (endpoint: Endpoint, incoming: IncomingRequest, name: string): Promise<Response> => {
    const { callerIn, keepRow, rowOf } = await import("./call-audit.ts");
    const { headers } = incoming.request;
    const address = clientAddress(headers, incoming.connection.peer);
    const row = await rowOf(platform, { endpoint: name, headers, caller: await callerIn(platform, headers), address });
    const note: CallNote = {};
    const response = await answerOf(endpoint, { ...incoming, note });
    try {
      await keepRow(platform, row, { ...note, code: response.status < 400 ? "ok" : codeOfStatus(response.status) });
      return response;
    } catch (error) {
      return errorResponse(error, incoming.request, incoming.url);
    }
  };

  /** Tallies a refusal in the audit log; other errors have no row. */
  const refused = async (request: Request, { peer }: Connection, endpoint: string, code: string): Promise<void> => {
    const { isRefusal, tallyRefusal } = await import("./call-audit.ts");
    const { headers } = request;
    if (isRefusal(code)) await tallyRefusal(platform, { endpoint, headers, address: clientAddress(headers, peer) }, code);
  };

  /** The URL of a request that the mirror serves, whoever sends it; undefined for all others. */
  const mirrorUrl = (request: Request): URL | undefined => {
    const url = platform.releases && urlOf(request);
    return url && platform.releases?.has(url.pathname) ? url : undefined;
  };

  /** The last URL that was parsed: most requests have the same as the one before. */
  let read: { readonly text: string; readonly url: URL | null } = { text: "", url: null };
  const urlOf = ({ url: text }: Request): URL | null => {
    if (text !== read.text) read = { text, url: URL.parse(text) };
    return read.url;
  };

  const handle: FetchHandler = async (request, connection = {}) => {
    const began = performance.now();
    http.began();
    const served = { endpoint: OTHER_ENDPOINT };
    dropForeignClaims(request.headers, connection);
    const mirrored = mirrorUrl(request);
    const unguarded = mirrored ? undefined : guard(request.headers, connection.peer);
    const url = mirrored ?? (unguarded === undefined ? urlOf(request) : undefined);
    const seen: SeenCaller = {};
    let response: Response;
    if (!url) {
      response = jsonError(
        unguarded === undefined ? 400 : 403,
        "request_refused",
        unguarded ?? "The address of the request cannot be read.",
      );
      if (unguarded !== undefined) await refused(request, connection, "*", "permission_denied");
    } else if (components.isSuspended("gateway") && !isOpenWhileSuspended(url.pathname)) {
      response = failureResponse(gatewaySuspended());
      response.headers.set("retry-after", String(SUSPENDED_RETRY_S));
    } else {
      const share = platform.bodies.share();
      try {
        const fromMirror = mirrored && platform.releases?.serve(request, url);
        response = await (fromMirror ?? route({ request, url, connection, share, served, seen, again: handle }));
      } catch (error) {
        response = errorResponse(error, request, url);
      } finally {
        share.release();
      }
    }
    if (hasUnreadBody(request)) response.headers.set("connection", "close");
    const ms = performance.now() - began;
    const path = url?.pathname ?? "";
    const now = clock.now();
    afterAnswers.later(() => {
      http.answered(served.endpoint, response.status, ms);
      if (!metrics.isOn) return;
      const known = { now, mayStateLength: !QUIET_PATHS.has(path), clientId: seen.clientId ?? clientOf(request) };
      logRecorder.record(accessRecord({ request, response, path, ms, ...known }));
    });
    const quiet = QUIET_PATHS.has(path) && (response.ok || path === READINESS_PATH);
    const level = quiet ? "debug" : response.status >= 500 ? "warning" : "info";
    if (log.enabled(level)) {
      log[level]("request", { method: request.method, path, status: response.status, ms: Math.round(ms * 100) / 100, refused: unguarded });
    }
    return response;
  };
  return handle;

  function errorResponse(error: unknown, request: Request, url: URL): Response {
    const failure = error instanceof Failure ? error : outOfSpace(error, platform.dataDir);
    if (failure) return failureResponse(failure);
    if (error instanceof BodyRefused) {
      const { status, code, message, headers } = error;
      const connectCode = status === 415 ? { code: "unimplemented" as const } : {};
      return errorAnswer({ status, error: code, message, ...connectCode }, { connection: "close", ...headers });
    }
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

/**
 * The answer to an unknown method, Connect's `unimplemented`: unary calls read it from the body,
 * all others from the status.
 */
function noSuchMethod(request: Request, path: string): Response {
  const isUnary = /^application\/(?:proto|json)\b/i.test(request.headers.get("content-type") ?? "");
  return errorAnswer({ status: isUnary ? 501 : 404, code: "unimplemented", message: `There is no method ${path}.` });
}

function isRead(request: Request): boolean {
  return request.method === "GET" || request.method === "HEAD";
}
