/**
 * The pages. They ask for no login: who can connect from this machine can read what the server's owner keeps on it anyway, and no page changes anything but the
 * login page, which has its own protection. So they are limited to connections from this machine whose Host and Origin are the server's own.
 */

import { isLoopbackPeer } from "../http/guard.ts";
import { jsonError, methodNotAllowed } from "../http/respond.ts";
import type { Platform } from "../platform.ts";
import { messagePage } from "./layout.ts";

/** Answers a request for a page. Requests of this process itself have no peer. */
export async function servePage(platform: Platform, request: Request, url: URL, peer: string | undefined): Promise<Response> {
  const path = url.pathname;
  const isLocal = peer === undefined || isLoopbackPeer(peer);
  const login = /^\/cli\/(login_[0-9a-f]+)$/.exec(path)?.[1];
  if (login !== undefined) {
    if (!isLocal) return messagePage(403, "Not from here", "Confirm a login in a browser on the machine that the server runs on.", true);
    return (await import("./login-page.ts")).serveLoginPage(platform, request, login);
  }
  if (platform.headless) return jsonError(404, "not_found", "This server has no dashboard: it was started with --headless.");
  if (!isLocal)
    return messagePage(403, "Not from here", "The dashboard is open to the machine that the server runs on, and to no other.", true);
  if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed("GET");
  if (path === "/") return (await import("./overview-page.ts")).overviewPage(platform);
  const stage = /^\/environments\/([^/]+)\/query-runs\/([^/]+)\/stages\/(\d{1,4})$/.exec(path);
  const match = stage ?? /^\/environments\/([^/]+)(?:\/(deployments|query-runs)\/([^/]+))?\/?$/.exec(path);
  if (match) {
    const [, environmentId = "", kind, id = ""] = match;
    const environment = (await platform.metadata.environments()).find((one) => one.id === environmentId || one.name === environmentId);
    if (!environment) return messagePage(404, "No such environment", "The link is of another server, or the environment is gone.");
    if (stage) {
      const from = Number(/^\d{1,9}$/.exec(url.searchParams.get("from") ?? "")?.[0] ?? 0);
      return (await import("./stage-page.ts")).stagePage(platform, environment, stage[2] ?? "", Number(stage[3]), from);
    }
    if (kind === "deployments") return (await import("./deployment-page.ts")).deploymentPage(platform, environment, id);
    if (kind === "query-runs") return (await import("./query-run-page.ts")).queryRunPage(platform, environment, id);
    return (await import("./overview-page.ts")).overviewPage(platform, environment);
  }
  return messagePage(404, "Nothing here", "There is no page at this address.");
}
