/**
 * The pages that the server makes: those of logging in. A request without a page key gets a shell
 * without data; with both halves of a browser session it gets the page. The address of a connection
 * proves nothing: other users of this machine, and all users of a proxy, connect from here too.
 */

import { allows } from "../../domain/permissions.ts";
import { PAGE_KEY_HEADER } from "../access/browser-sessions.ts";
import type { Caller } from "../access/tokens.ts";
import type { CallNote } from "../wire/call-audit.ts";
import { errorAnswer, methodNotAllowed } from "../wire/http/respond.ts";
import type { Platform } from "../wire/platform.ts";
import { assetResponse } from "./assets.ts";
import { messagePage } from "./layout.ts";
import { entrance, shell } from "./shell.ts";

/** Renders the page of an address for a caller with the permission to read. */
type Show = (caller: Caller) => Promise<Response>;

/**
 * Answers a request for a page, an asset or the entrance. Errors are JSON for clients that do not
 * accept HTML.
 */
export async function servePage(platform: Platform, request: Request, url: URL, note: CallNote = {}): Promise<Response> {
  const { headless, oidc } = platform;
  const path = url.pathname;
  const login = /^\/cli\/(login_[0-9a-f]+)$/.exec(path)?.[1];
  const isRead = request.method === "GET" || request.method === "HEAD";
  const refuse = (status: number, title: string, text: string): Response =>
    readsPages(request.headers) ? messagePage(status, title, text, headless) : errorAnswer({ status, message: text });
  const asset = assetResponse(request, path);
  const isEntrance = path === "/enter";
  const show = login === undefined ? undefined : await loginPage(platform, request, login, note);
  if (!show && !asset && !isEntrance)
    return refuse(404, "Nothing here", headless ? "This server has no dashboard: it was started with --headless." : NO_PAGE);
  if (!isRead && login === undefined) return methodNotAllowed("GET, HEAD");
  if (asset) return asset;
  if (!show) return entrance(headless);
  if (isRead && !request.headers.has(PAGE_KEY_HEADER)) return shell(headless, oidc?.host);
  const caller = await platform.callers.ofSession(request.headers);
  if (!caller) return refuse(401, "Not logged in", "This browser is not logged in, or its session is over.");
  if (!allows(caller.permissions, "read"))
    return refuse(403, "Not permitted", "The credentials that this browser is logged in with lack the permission 'read'.");
  const response = await show(caller);
  const client = await platform.clients.find(caller.clientId);
  response.headers.set("svc-client", encodeURIComponent(client?.name ?? ""));
  return response;
}

/**
 * Whether a request comes from a page's script or accepts HTML, so that a person sees the answer.
 */
function readsPages(headers: Headers): boolean {
  return headers.has(PAGE_KEY_HEADER) || /\btext\/html\b/i.test(headers.get("accept") ?? "");
}

const NO_PAGE = "There is no page at this address.";

async function loginPage(platform: Platform, request: Request, id: string, note: CallNote): Promise<Show> {
  const { serveLoginPage } = await import("./login-page.ts");
  return (caller) => serveLoginPage(platform, request, id, caller, note);
}
