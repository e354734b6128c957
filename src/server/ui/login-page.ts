/**
 * The login page `/cli/<login_session_id>`: a person confirms or denies that a command line gets credentials. The decision is a POST that must come from this page in
 * this browser: its form carries a signature over the session and a cookie that other sites cannot set, send or read.
 */

import { equalInConstantTime, sign } from "../auth/secrets.ts";
import { readBody } from "../http/body.ts";
import { jsonError, methodNotAllowed } from "../http/respond.ts";
import type { Platform } from "../platform.ts";
import { type Html, html } from "./html.ts";
import { pageResponse } from "./layout.ts";

const COOKIE = "svc_login";
const MAX_FORM_BYTES = 4096;

/** Shows a login session (GET) or takes the decision (POST). */
export async function serveLoginPage(platform: Platform, request: Request, id: string): Promise<Response> {
  if (request.method === "GET" || request.method === "HEAD") return show(platform, request, id);
  if (request.method === "POST") return decide(platform, request, id);
  return methodNotAllowed("GET, POST");
}

async function show({ loginSessions, headless, keys }: Platform, request: Request, id: string): Promise<Response> {
  const session = await loginSessions.view(id);
  const respond = (title: string, body: Html, status = 200, headers: Record<string, string> = {}) =>
    pageResponse({ title, status, headers, bare: headless, body: html`<div class="card"><h1>${title}</h1>${body}</div>` });
  if (!session)
    return respond(
      "No such login",
      html`<p>The link is of another server, or the login is long over. Start again with <code>svc login</code>.</p>`,
      404,
    );
  switch (session.state) {
    case "confirmed":
    case "taken":
      return respond("Logged in", html`<p class="good">The command line now has credentials. You can close this page.</p>`);
    case "denied":
      return respond("Denied", html`<p>The command line got no credentials. You can close this page.</p>`);
    case "expired":
      return respond("Too late", html`<p>This login was not confirmed in time. Start again with <code>svc login</code>.</p>`);
    case "pending": {
      const nonce = cookieOf(request) ?? crypto.getRandomValues(new Uint8Array(18)).toBase64({ alphabet: "base64url" });
      return respond(
        "Log in the command line?",
        html`<p>A command line${session.deviceName === "" ? "" : html` on <strong>${session.deviceName}</strong>`} asks for credentials to this server. They let it deploy code and
run queries as you.</p>
<p class="dim">Confirm only if you have just run <code>svc login</code>. The session is <code>${id}</code>.</p>
<form method="post" action="/cli/${id}">
<input type="hidden" name="csrf" value="${formSignature(keys.forms, id, nonce)}">
<button class="primary" name="decision" value="confirm">Confirm</button>
<button name="decision" value="deny">Deny</button>
</form>`,
        200,
        { "set-cookie": `${COOKIE}=${nonce}; Path=/cli/; HttpOnly; SameSite=Strict; Max-Age=900` },
      );
    }
  }
}

async function decide({ keys, log, loginSessions }: Platform, request: Request, id: string): Promise<Response> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers.get("content-type") ?? ""))
    return jsonError(415, "invalid_request", "Send the form of the page.");
  const form = new URLSearchParams(new TextDecoder().decode(await readBody(request, MAX_FORM_BYTES)));
  const nonce = cookieOf(request);
  const isOurs =
    request.headers.get("origin") !== null &&
    nonce !== undefined &&
    equalInConstantTime(form.get("csrf") ?? "", formSignature(keys.forms, id, nonce));
  if (!isOurs) return jsonError(403, "request_refused", "The decision did not come from this server's page. Open the link again.");
  const decision = form.get("decision");
  if (decision !== "confirm" && decision !== "deny") return jsonError(400, "invalid_request", "The decision must be confirm or deny.");
  const decided = await loginSessions.decide(id, decision === "confirm" ? "confirmed" : "denied");
  log.info("login session", { session: id, decision, decided });
  return new Response(null, { status: 303, headers: { location: `/cli/${id}`, "cache-control": "no-store" } });
}

function formSignature(key: Uint8Array, id: string, nonce: string): string {
  return sign(key, ["login", id, nonce]);
}

function cookieOf(request: Request): string | undefined {
  for (const cookie of (request.headers.get("cookie") ?? "").split(";")) {
    const [name, value] = cookie.trim().split("=", 2);
    if (name === COOKIE && value !== undefined && /^[\w-]{24}$/.test(value)) return value;
  }
  return undefined;
}
