/**
 * A browser session without a browser: its cookie and page key, obtained as the entrance page does.
 */

/** A session, and the headers of its calls. */
export interface TestSession {
  /** Name and value of the cookie. */
  readonly cookie: string;
  readonly pageKey: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The cookie as it was set, with its attributes. */
  readonly setCookie: string;
}

/** Calls a method of AuthService as a page does: JSON over POST. */
export function callAuth(url: string, method: string, request: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${url}/svc.v1.AuthService/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(request),
  });
}

/** Exchanges a client's credentials for a token. */
export async function exchange(url: string, clientId: string, clientSecret: string): Promise<string> {
  const response = await fetch(`${url}/v1/oauth/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_id: clientId, client_secret: clientSecret, grant_type: "client_credentials" }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

/** Makes an entry and returns its code. */
export async function makeEntry(
  url: string,
  token: string,
  options: { readonly path?: string; readonly readOnly?: boolean } = {},
): Promise<string> {
  const response = await callAuth(url, "CreateEntry", options, { authorization: `Bearer ${token}` });
  if (!response.ok) throw new Error(`no entry: ${await response.text()}`);
  return ((await response.json()) as { code: string }).code;
}

/** Opens a session with a code. */
export async function redeem(url: string, code: string, headers: Readonly<Record<string, string>> = {}): Promise<TestSession> {
  const response = await callAuth(url, "RedeemEntry", { code }, headers);
  if (!response.ok) throw new Error(`no session: ${await response.text()}`);
  const { pageKey } = (await response.json()) as { pageKey: string };
  const setCookie = response.headers.get("set-cookie") ?? "";
  const cookie = setCookie.split(";")[0] ?? "";
  return { cookie, pageKey, setCookie, headers: { cookie, "svc-page-key": pageKey } };
}

/** Opens a session of the client of a token. */
export async function openSession(url: string, token: string, options: { readonly readOnly?: boolean } = {}): Promise<TestSession> {
  return redeem(url, await makeEntry(url, token, options));
}

/** Presses a button of a login page, as its script does. */
export async function decideLogin(address: string, session: TestSession, decision: "all" | "other" | "read" | "deny"): Promise<Response> {
  const page = await (await fetch(address, { headers: session.headers })).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? "";
  return fetch(address, {
    method: "POST",
    headers: { ...session.headers, origin: new URL(address).origin },
    body: new URLSearchParams({ csrf, decision }),
  });
}
