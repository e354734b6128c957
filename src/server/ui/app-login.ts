/**
 * `POST /v1/oauth/register` and `GET /v1/oauth/authorize`: how an application gets to the login
 * page of this server, where a person lets it in or does not.
 */

import {
  appId,
  appOf,
  CODE_CONTEXT,
  isChallenge,
  isRedirectOf,
  MAX_APP_NAME,
  MAX_REDIRECTS,
  mayRedirectTo,
  type OauthGrant,
} from "../access/oauth-apps.ts";
import { Failure } from "../failure.ts";
import type { CallNote } from "../wire/call-audit.ts";
import { readBody, SHORT_BODY_BYTES } from "../wire/http/body.ts";
import { FAILURE_STATUS, json, jsonError, methodNotAllowed, SAFE_HEADERS } from "../wire/http/respond.ts";
import type { Platform } from "../wire/platform.ts";
import { messagePage } from "./layout.ts";

/** Longest `state` of an application, in characters. */
const MAX_STATE = 1_000;

/** Characters that nobody sees, and halves of characters. */
const UNSEEN = /\p{C}/u;

/** What the login page is told of an application's request; sealed on the way there. */
export interface AppRequest {
  readonly secret: string;
  readonly appId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly state: string;
}

/** The context that a request is sealed for. */
function requestContext(sessionId: string): readonly string[] {
  return ["oauth request", sessionId];
}

/** Registers an application (RFC 7591): its id is made of what it says of itself. */
export async function registerApp({ clock, keys }: Platform, request: Request): Promise<Response> {
  if (request.method !== "POST") return methodNotAllowed("POST");
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? ""))
    return jsonError(415, "invalid_client_metadata", "Send JSON with Content-Type: application/json.");
  let given: unknown;
  try {
    given = JSON.parse(new TextDecoder().decode(await readBody(request, SHORT_BODY_BYTES)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  const { client_name: name = "An application", redirect_uris: addresses } = (given ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof name !== "string" || name.trim() === "" || name.length > MAX_APP_NAME || UNSEEN.test(name))
    return jsonError(400, "invalid_client_metadata", `client_name is a text of at most ${MAX_APP_NAME} characters that are seen.`);
  const isList = Array.isArray(addresses) && addresses.length > 0 && addresses.length <= MAX_REDIRECTS;
  if (!isList || !addresses.every((one) => typeof one === "string" && mayRedirectTo(one)))
    return jsonError(
      400,
      "invalid_redirect_uri",
      `redirect_uris has from 1 to ${MAX_REDIRECTS} addresses of https, or of http on the browser's own machine, without a fragment.`,
    );
  const redirectUris = addresses as readonly string[];
  return json(
    {
      client_id: appId(keys.forms, { name, redirectUris }),
      client_id_issued_at: Math.floor(clock.now() / 1000),
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    201,
  );
}

/** Sends a browser to the login page, or back to an application that asks for what cannot be. */
export async function authorizeApp(
  platform: Platform,
  request: Request,
  url: URL,
  address: string,
  note: CallNote = {},
): Promise<Response> {
  if (request.method !== "GET") return methodNotAllowed("GET");
  const { addressFor, headless, keys, loginSessions, sealer } = platform;
  const given = (name: string): string => url.searchParams.get(name) ?? "";
  const [id, redirectUri, state] = [given("client_id"), given("redirect_uri"), given("state")];
  const app = appOf(keys.forms, id);
  // Nobody is sent to an address that no application of this server has.
  if (!app || !isRedirectOf(app, redirectUri))
    return messagePage(400, "Not let in", "This server does not know the application, or its address to come back to.", headless);
  const own = addressFor(request.headers);
  const back = (error: string, description: string) =>
    redirect(withParameters(redirectUri, { error, error_description: description, state, iss: own }));
  if (state.length > MAX_STATE) return back("invalid_request", `state has more than ${MAX_STATE} characters.`);
  if (given("response_type") !== "code") return back("unsupported_response_type", "response_type is code.");
  if (given("code_challenge_method") !== "S256" || !isChallenge(given("code_challenge")))
    return back("invalid_request", "A code_challenge of the method S256 is needed.");
  if (url.searchParams.getAll("resource").some((one) => one !== own && one !== `${own}/mcp`))
    return back("invalid_target", "The resource is not of this server.");
  try {
    const { id: sessionId, secret } = await loginSessions.open(`${app.name} (${new URL(redirectUri).host})`, address);
    note.about = { login_session_id: sessionId };
    const asked: AppRequest = { secret, appId: id, redirectUri, challenge: given("code_challenge"), state };
    const sealed = await sealer.seal(JSON.stringify(asked), requestContext(sessionId));
    return redirect(`${own}/cli/${sessionId}?${new URLSearchParams({ app: sealed })}`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return messagePage(FAILURE_STATUS[error.kind], "Not let in", error.message, headless);
  }
}

/** The request of an application, of the login page with this id; undefined for another's. */
export async function appRequestOf({ sealer }: Platform, sessionId: string, sealed: string): Promise<AppRequest | undefined> {
  try {
    return JSON.parse(await sealer.open(sealed, requestContext(sessionId))) as AppRequest;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** The address that takes the browser back to the application, with a code or the refusal. */
export async function wayBack(
  { addressFor, sealer }: Platform,
  headers: Headers,
  sessionId: string,
  { appId: id, challenge, redirectUri, secret, state }: AppRequest,
  isLetIn: boolean,
): Promise<string> {
  const grant: OauthGrant = { sessionId, secret, appId: id, redirectUri, challenge };
  const result: Record<string, string> = isLetIn
    ? { code: await sealer.seal(JSON.stringify(grant), CODE_CONTEXT) }
    : { error: "access_denied" };
  return withParameters(redirectUri, { ...result, state, iss: addressFor(headers) });
}

/** An address with parameters beside its own; empty ones are left out. */
function withParameters(address: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(parameters)) if (value !== "") url.searchParams.set(name, value);
  return url.href;
}

function redirect(location: string): Response {
  return new Response(null, { status: 303, headers: { ...SAFE_HEADERS, location, "referrer-policy": "no-referrer" } });
}
