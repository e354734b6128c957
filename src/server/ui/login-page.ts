/**
 * The login page `/cli/<login_session_id>`: a person who is logged in as an administrator, or at
 * the identity provider, confirms or denies that a command line gets credentials, or with `?app=`
 * that an application does. The decision is a
 * POST of this page's script with both halves of the browser session, and its form carries a
 * signature over the login and that session.
 */

import { type Html, html } from "../../domain/html.ts";
import { mayOnlyRead } from "../../domain/permissions.ts";
import { isSignedBy, signWith } from "../access/keys.ts";
import { type LoginView, mayDecide } from "../access/login-sessions.ts";
import { appOf } from "../access/oauth-apps.ts";
import type { Caller } from "../access/tokens.ts";
import type { CallNote } from "../wire/call-audit.ts";
import { readBody } from "../wire/http/body.ts";
import { methodNotAllowed } from "../wire/http/respond.ts";
import type { Platform } from "../wire/platform.ts";
import { type AppRequest, appRequestOf, wayBack } from "./app-login.ts";
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
  const sealed = URL.parse(request.url)?.searchParams.get("app") ?? "";
  const app = sealed === "" ? undefined : await appRequestOf(platform, id, sealed);
  if (sealed !== "" && !app)
    return respond(
      platform,
      "No such login",
      html`<p>The link is of another server, or is not whole. Start again in the application.</p>`,
      404,
    );
  const login: Login = { id, caller, headers: request.headers, ...(app && { app: { asked: app, sealed } }) };
  if (request.method === "GET" || request.method === "HEAD") return show(platform, login);
  if (request.method === "POST") return decide(platform, request, login, note);
  return methodNotAllowed("GET, POST");
}

/** A login, who looks at it, and the application that asks for it; absent for a command line. */
interface Login {
  readonly id: string;
  readonly caller: Caller;
  readonly headers: Headers;
  readonly app?: { readonly asked: AppRequest; readonly sealed: string };
}

function respond({ headless }: Platform, title: string, body: Html, status = 200): Response {
  return pageResponse({ title, status, bare: headless, body: html`<div class="card"><h1>${title}</h1>${body}</div>` });
}

async function show(platform: Platform, login: Login): Promise<Response> {
  const { id, caller, app } = login;
  const session = await platform.loginSessions.view(id);
  if (!session)
    return respond(
      platform,
      "No such login",
      html`<p>The link is of another server, or the login is long over. Start again with <code>svc login</code>.</p>`,
      404,
    );
  if (app) return showApp(platform, login, app.asked, session);
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
${mayDecide(caller) ? question(platform, login) : html`${NOT_ADMIN}${providerLink(platform, `/cli/${id}`)}`}`,
      );
  }
}

/** The page of a login that an application asks for. */
async function showApp(platform: Platform, login: Login, asked: AppRequest, { address, state }: LoginView): Promise<Response> {
  const { id, caller, headers } = login;
  const name = appOf(platform.keys.forms, asked.appId)?.name ?? "";
  const host = new URL(asked.redirectUri).host;
  const back = async (isLetIn: boolean) =>
    html`<p><a class="button primary" href="${await wayBack(platform, headers, id, asked, isLetIn)}">Go back to ${host}</a></p>`;
  switch (state) {
    case "confirmed":
      return respond(platform, "Let in", html`<p class="good">${name} gets access when you go back to it.</p>${await back(true)}`);
    case "denied":
      return respond(platform, "Denied", html`<p>${name} got no access.</p>${await back(false)}`);
    case "taken":
      return respond(platform, "Let in", html`<p class="good">${name} has access. You can close this page.</p>`);
    case "expired":
      return respond(platform, "Too late", html`<p>This was not decided in time. Start again in ${name}.</p>`);
    case "pending":
      return respond(
        platform,
        "Let an application in?",
        html`<p>An application asks for access to this server, and will be told to go on at ${host}. It chose its name itself.</p>
${facts([
  ["Name", name],
  ["Goes on at", html`<strong class="code">${host}</strong>`],
  ["Asked from", address],
])}
${mayDecide(caller) ? question(platform, login) : html`${NOT_ADMIN}${providerLink(platform, pathOf(login))}`}`,
      );
  }
}

/** The path of a login's page. */
function pathOf({ id, app }: Login): string {
  return `/cli/${id}${app ? `?${new URLSearchParams({ app: app.sealed }).toString()}` : ""}`;
}

const NOT_ADMIN = html`<p class="warn">This browser's session lacks the permission 'admin', so it cannot confirm the login. Open the page with credentials that have
it, not read-only.</p>`;

function question({ keys }: Platform, login: Login): Html {
  const { app, caller } = login;
  const { expiresAt, isPerson, permissions } = caller;
  const end = expiresAt === undefined ? "" : `, until ${new Date(expiresAt).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const mayBeOthers = !isPerson && !app;
  const forOthers = html`, or for another person, if that person has`;
  const when = app
    ? html`Confirm only if you have just begun this in an application that goes on there`
    : html`Confirm only if you have just run <code>svc login</code> there${mayBeOthers && forOthers}`;
  return html`<p>Confirmed, it may do what you may${end}: ${permissions.join(", ")}; or let it read only. It acts for you: what it asks for,
you cannot approve. ${when}.</p>
<form method="post" action="${pathOf(login)}">
<input type="hidden" name="csrf" value="${signWith(keys.forms, formParts(login))}">
<button class="primary" name="decision" value="all">Confirm</button>
${mayBeOthers && html`<button name="decision" value="other">Confirm for another person</button>`}
${!mayOnlyRead(permissions) && html`<button name="decision" value="read">Read only</button>`}
<button name="decision" value="deny">Deny</button>
</form>`;
}

async function decide(platform: Platform, request: Request, login: Login, note: CallNote): Promise<Response> {
  const { app, caller, id } = login;
  const { keys, log, loginSessions } = platform;
  const form = new URLSearchParams(new TextDecoder().decode(await readBody(request, MAX_FORM_BYTES)));
  const isFromOwnPage = request.headers.get("origin") !== null && isSignedBy(keys.forms, formParts(login), form.get("csrf") ?? "");
  if (!isFromOwnPage)
    return respond(platform, "Not decided", html`<p>The decision did not come from this server's page. Open the link again.</p>`, 403);
  const answer = ANSWERS.find((one) => one === form.get("decision") && !(app && one === "other"));
  if (!answer) return respond(platform, "Not decided", html`<p>The decision must be one of the page's buttons.</p>`, 400);
  note.about = { login_session_id: id, decision: answer };
  const decided = await loginSessions.decide(id, caller, answer);
  log.info("login session", { session: id, decision: answer, decided, by: caller.clientId });
  return show(platform, login);
}

/** The parts that the signature of a form covers. */
function formParts({ id, app, caller: { sessionId = "" } }: Login): readonly string[] {
  return ["login", id, sessionId, ...(app ? [app.sealed] : [])];
}
