/**
 * Logging in at the identity provider: `/login/oidc` sends the browser there, and
 * `/login/oidc/callback` is where it comes back to. Between the two a cookie binds the login to the
 * browser; it is Lax because the way back is a navigation from another site.
 */

import { type Html, html } from "../../domain/html.ts";
import { cookieOf } from "../access/browser-sessions.ts";
import { type OidcLogins, PROVIDER_LOGIN_MS } from "../access/oidc/logins.ts";
import { Failure } from "../failure.ts";
import type { CallNote } from "../wire/call-audit.ts";
import { isEncrypted } from "../wire/http/forwarded.ts";
import { FAILURE_STATUS, methodNotAllowed, SAFE_HEADERS } from "../wire/http/respond.ts";
import type { Platform } from "../wire/platform.ts";
import { messagePage, pageResponse } from "./layout.ts";

/** Path that a login begins at; `to` is the page to go to afterwards. */
export const LOGIN_PATH = "/login/oidc";
const CALLBACK_PATH = `${LOGIN_PATH}/callback`;
const MOST_GROUPS_SHOWN = 50;

/** The link to log in at the provider and to come back to a page; empty when there is none. */
export function providerLink({ oidc }: Pick<Platform, "oidc">, to: string): Html | undefined {
  if (!oidc) return undefined;
  return html`<p><a class="button primary" href="${LOGIN_PATH}?${new URLSearchParams({ to }).toString()}">Log in with ${oidc.host}</a></p>`;
}

/** Sends a browser to the provider. */
export async function beginLogin(platform: Platform, request: Request, url: URL, address: string): Promise<Response> {
  const { oidc } = platform;
  if (!oidc) return noProvider(platform);
  if (request.method !== "GET") return methodNotAllowed("GET");
  const to = url.searchParams.get("to") ?? "/";
  const own = platform.addressFor(request.headers);
  if (originOf(request.headers) !== own) return redirect(`${own}${LOGIN_PATH}?${new URLSearchParams({ to }).toString()}`);
  return orFailure(platform, oidc, to, async () => {
    const sent = await oidc.begin({ path: to, address, redirectUri: `${own}${CALLBACK_PATH}` });
    return redirect(sent.url, setCookie(request.headers, sent.state, sent.cookie));
  });
}

/** Finishes the login of a browser that came back, and opens its session. */
export async function finishLogin(platform: Platform, request: Request, url: URL, note: CallNote = {}): Promise<Response> {
  const { oidc } = platform;
  if (!oidc) return noProvider(platform);
  if (request.method !== "GET") return methodNotAllowed("GET");
  const state = url.searchParams.get("state") ?? "";
  const response = await orFailure(platform, oidc, "/", async () => {
    const cookie = cookieOf(request.headers, cookieName(request.headers, state)) ?? "";
    const result = await oidc.finish({ query: url.searchParams, cookie });
    const { id, name, groups } = result.person;
    note.by = { clientId: id, clientName: name };
    if (result.role === undefined) return withoutRole(platform, oidc, name, groups);
    note.about = { role: result.role };
    return redirect(`/enter#code=${result.code}&to=${encodeURIComponent(result.path)}`);
  });
  response.headers.append("set-cookie", setCookie(request.headers, state, undefined));
  return response;
}

async function orFailure(platform: Platform, oidc: OidcLogins, to: string, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    platform.log.warning("a login at the identity provider failed", { kind: error.kind, reason: error.message });
    return card(
      platform,
      FAILURE_STATUS[error.kind],
      "Not logged in",
      html`<p>${error.message}</p>${error.detail.hint && html`<p class="dim">${error.detail.hint}</p>`}${providerLink({ oidc }, to)}`,
    );
  }
}

function withoutRole(platform: Platform, { host }: OidcLogins, name: string, groups: readonly string[]): Response {
  const shown = groups.slice(0, MOST_GROUPS_SHOWN);
  const more = groups.length - shown.length;
  const seen =
    groups.length === 0
      ? html`<p>${host} stated no groups of yours.</p>`
      : html`<p>Groups that ${host} stated: ${shown.map((group, at) => html`${at > 0 && ", "}<code>${group}</code>`)}${more > 0 && ` and ${more} more`}.</p>`;
  return card(
    platform,
    403,
    "No role here",
    html`<p>${host} knows you as ${name}, and none of your groups has a role on this server.</p>${seen}
<p>Ask the administrator of this server to give one of them a role, or that of ${host} to add you to a group that has one.</p>`,
  );
}

function card({ headless }: Platform, status: number, title: string, body: Html): Response {
  return pageResponse({ status, title, bare: headless, body: html`<div class="card"><h1>${title}</h1>${body}</div>` });
}

function noProvider({ headless }: Platform): Response {
  return messagePage(404, "Nothing here", "This server has no identity provider: `login` of its server.yaml names none.", headless);
}

function redirect(location: string, cookie?: string): Response {
  return new Response(null, {
    status: 303,
    headers: { ...SAFE_HEADERS, location, "referrer-policy": "no-referrer", ...(cookie !== undefined && { "set-cookie": cookie }) },
  });
}

/** The origin that a request was sent to. */
function originOf(headers: Headers): string | undefined {
  return URL.parse(`${isEncrypted(headers) ? "https" : "http"}://${headers.get("host") ?? ""}`)?.origin;
}

/**
 * Name of the cookie of a login: each has its own, so that logins of several tabs do not meet. Over
 * TLS no other host can set it.
 */
function cookieName(headers: Headers, state: string): string {
  const id = new Bun.CryptoHasher("sha256").update(state).digest("hex").slice(0, 16);
  return `${isEncrypted(headers) ? "__Host-" : ""}svc_login_${id}`;
}

/** `Set-Cookie` of a login's cookie, or of its removal. */
function setCookie(headers: Headers, state: string, value: string | undefined): string {
  const life = value === undefined ? 0 : PROVIDER_LOGIN_MS / 1000;
  const secure = isEncrypted(headers) ? "; Secure" : "";
  return `${cookieName(headers, state)}=${value ?? ""}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${life}${secure}`;
}
