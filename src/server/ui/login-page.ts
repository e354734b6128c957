/**
 * The login page `/cli/<login_session_id>`: a person who is logged in as an administrator, or at
 * the identity provider, confirms or denies that a command line gets credentials. The decision is a
 * POST of this page's script with both halves of the browser session, and its form carries a
 * signature over the login and that session.
 */

import { type Html, html } from "../../domain/html.ts";
import { mayOnlyRead } from "../../domain/permissions.ts";
import { isSignedBy, signWith } from "../access/keys.ts";
import { mayDecide } from "../access/login-sessions.ts";
import type { Caller } from "../access/tokens.ts";
import type { CallNote } from "../wire/call-audit.ts";
import { readBody } from "../wire/http/body.ts";
import { methodNotAllowed } from "../wire/http/respond.ts";
import type { Platform } from "../wire/platform.ts";
import { facts } from "./fragments.ts";
import { pageResponse } from "./layout.ts";
import { providerLink } from "./provider-login.ts";

const MAX_FORM_BYTES = 4096;
const ANSWERS = ["all", "other", "read", "deny"] as const;

/**
 * Answers with the page of a login session (GET), or stores the decision and answers with the
 * result (POST).
 */
export async function serveLoginPage(
  platform: Platform,
  request: Request,
  id: string,
  caller: Caller,
  note: CallNote = {},
): Promise<Response> {
  if (request.method === "GET" || request.method === "HEAD") return show(platform, id, caller);
  if (request.method === "POST") return decide(platform, request, id, caller, note);
  return methodNotAllowed("GET, POST");
}

function respond({ headless }: Platform, title: string, body: Html, status = 200): Response {
  return pageResponse({ title, status, bare: headless, body: html`<div class="card"><h1>${title}</h1>${body}</div>` });
}

async function show(platform: Platform, id: string, caller: Caller): Promise<Response> {
  const session = await platform.loginSessions.view(id);
  if (!session)
    return respond(
      platform,
      "No such login",
      html`<p>The link is of another server, or the login is long over. Start again with <code>svc login</code>.</p>`,
      404,
    );
  switch (session.state) {
    case "confirmed":
    case "taken":
      return respond(platform, "Logged in", html`<p class="good">The command line now has credentials. You can close this page.</p>`);
    case "denied":
      return respond(platform, "Denied", html`<p>The command line got no credentials. You can close this page.</p>`);
    case "expired":
      return respond(platform, "Too late", html`<p>This login was not confirmed in time. Start again with <code>svc login</code>.</p>`);
    case "pending":
      return respond(
        platform,
        "Log in the command line?",
        html`<p>A command line asks for credentials to this server. Compare the code with the one that <code>svc login</code> shows.</p>
${facts([
  ["Code", html`<strong class="code">${session.userCode}</strong>`],
  ["Device", session.deviceName],
  ["Address", session.address],
])}
${mayDecide(caller) ? question(platform, id, caller) : html`${NOT_ADMIN}${providerLink(platform, `/cli/${id}`)}`}`,
      );
  }
}

const NOT_ADMIN = html`<p class="warn">This browser's session lacks the permission 'admin', so it cannot confirm the login. Open the page with credentials that have
it, not read-only.</p>`;

function question({ keys }: Platform, id: string, caller: Caller): Html {
  const { expiresAt, isPerson, permissions } = caller;
  const end = expiresAt === undefined ? "" : `, until ${new Date(expiresAt).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const forOthers = html`, or for another person, if that person has`;
  return html`<p>Confirmed, it may do what you may${end}: ${permissions.join(", ")}; or let it read only. It acts for you: what it asks for,
you cannot approve. Confirm only if you have just run <code>svc login</code> there${!isPerson && forOthers}.</p>
<form method="post" action="/cli/${id}">
<input type="hidden" name="csrf" value="${signWith(keys.forms, formParts(id, caller))}">
<button class="primary" name="decision" value="all">Confirm</button>
${!isPerson && html`<button name="decision" value="other">Confirm for another person</button>`}
${!mayOnlyRead(permissions) && html`<button name="decision" value="read">Read only</button>`}
<button name="decision" value="deny">Deny</button>
</form>`;
}

async function decide(platform: Platform, request: Request, id: string, caller: Caller, note: CallNote): Promise<Response> {
  const { keys, log, loginSessions } = platform;
  const form = new URLSearchParams(new TextDecoder().decode(await readBody(request, MAX_FORM_BYTES)));
  const isFromOwnPage = request.headers.get("origin") !== null && isSignedBy(keys.forms, formParts(id, caller), form.get("csrf") ?? "");
  if (!isFromOwnPage)
    return respond(platform, "Not decided", html`<p>The decision did not come from this server's page. Open the link again.</p>`, 403);
  const answer = ANSWERS.find((one) => one === form.get("decision"));
  if (!answer) return respond(platform, "Not decided", html`<p>The decision must be one of the page's buttons.</p>`, 400);
  note.about = { login_session_id: id, decision: answer };
  const decided = await loginSessions.decide(id, caller, answer);
  log.info("login session", { session: id, decision: answer, decided, by: caller.clientId });
  return show(platform, id, caller);
}

/** The parts that the signature of a form covers. */
function formParts(id: string, { sessionId = "" }: Caller): readonly string[] {
  return ["login", id, sessionId];
}
